import type { Policy } from '../algorithms/index.ts'
import { attempt, callOptions, type MaybePromise } from '../common/index.ts'
import type { AskLater } from '../overrides/index.ts'
import type { CallerCalendars, Decision } from '../policy/index.ts'
import { checkNoCalendars, type OnFailure } from '../stores/contract/index.ts'
import {
  type AnyCost,
  askedBy,
  type CostOptions,
  costOf,
  costsOf,
  costUnderOverride,
  type Key,
  keysOf,
} from './call-arguments.ts'
import { candidateExtras } from './candidate/index.ts'
import { Operations } from './operator-verbs.ts'
import type { Plans } from './plans.ts'
import { type Usage, type UsageOptions, usageOf } from './usage.ts'

let isPlanBy: typeof isOfPlan

/** True for the limiter of a plan: its calls may be written for other plans, with keys and calendars that only other plans have. */
export function isOfPlan<Limiter extends object>(limiter: UnitVerbs<Limiter>): boolean {
  return isPlanBy(limiter)
}

/** The methods that read or change how many units of a key are used, and admit no call. */
export abstract class UnitVerbs<Limiter extends object> extends Operations<Limiter> {
  abstract readonly policies: readonly Policy[]
  /** The limiter that tries the option `candidate`. Undefined without this option. */
  abstract readonly candidate: UnitVerbs<Limiter> | undefined
  readonly #isPlan: boolean

  /** @param isPlan true for the limiter of a plan */
  constructor(plans: Plans<Limiter>, isPlan: boolean) {
    super(plans)
    this.#isPlan = isPlan
  }

  static {
    isPlanBy = (limiter) => limiter.#isPlan
  }

  /**
   * The options of a call that gives a calendar. Undefined for any other call.
   * @throws HeadgateError `HEADGATE_CALENDAR` if no policy has a calendar, and no other plan may have one
   */
  protected dated<Options extends UsageOptions>(options: Options | undefined): Options | undefined {
    if (options?.calendar === undefined) return undefined
    if (!this.#isPlan && this.policies.length > 0) checkNoCalendars(options.calendar, this.policies)
    return options
  }

  /**
   * Returns the decision that `consume` would return now, without a ban that `consume` would begin. Changes no state. With several scopes,
   * `key` may name only some of the scopes: only the policies of these scopes then decide.
   *
   * Rejects for the same reasons as `consume`.
   */
  async peek(key: Key, options?: CostOptions): Promise<Decision> {
    const given = costOf(options)
    const {
      ledger,
      keys,
      policies = this.policies,
      scopes,
      match,
    } = this.under(key, (asked) => this.later(given, asked))
    const cost = match?.renamed ? this.renamed(given, policies, scopes) : given
    const asked = askedBy(cost, policies, this.store)
    return ledger.run({ verb: 'peek', keys, ...asked, calendar: this.dated(options)?.calendar })
  }

  /**
   * The units that the key has used under each policy, and the running window of each policy whose windows have a fixed start and end.
   * Takes no units and changes no state. The numbers come from one request to the store. With several scopes, `key` may name only some of
   * the scopes: the result then has only the policies of these scopes. A penalty is not listed.
   *
   *     const { policies: [month] } = await limiter.usage('ann')
   *     // { name: 'month', scope: 'default', limit: 1000, used: 340, remaining: 660, start: 1793491200000, end: 1796083200000 }
   *
   * Rejects for the same reasons as `peek`.
   */
  async usage(key: Key, options?: UsageOptions): Promise<Usage> {
    if (options !== undefined) callOptions('usage', options, ['calendar'])
    const calendar = this.dated(options)?.calendar
    const { ledger, keys, policies = this.policies } = this.under(key)
    const decision = await ledger.run({ verb: 'peek', keys, details: { at: true }, calendar })
    return usageOf(policies, decision, calendar)
  }

  /**
   * Gives `cost` units back to every policy, but not more units than the key has used. The decision shows the remaining units
   * after the refund.
   *
   * Rejects for the same reasons as `consume`.
   */
  async refund(key: Key, options?: CostOptions): Promise<Decision> {
    return this.#change('refund', key, options)
  }

  /**
   * Takes `cost` units even if fewer units remain. Use `charge` for a cost that is known only afterwards. The missing units become
   * a debt, which becomes smaller with time. A charge is refused only if the debt would exceed the integers below 2^53. Then
   * nothing changes, and `retryAfter` is Infinity.
   *
   * Rejects for the same reasons as `consume`.
   */
  async charge(key: Key, options?: CostOptions): Promise<Decision> {
    return this.#change('charge', key, options)
  }

  async #change(verb: 'refund' | 'charge', key: Key, options: CostOptions | undefined): Promise<Decision> {
    const cost = costOf(options)
    const decision = this.#changeAlone(verb, key, cost, this.dated(options)?.calendar)
    const { candidate } = this
    if (candidate !== undefined) {
      const { calendar, onFailure } = candidateExtras(candidate.policies, this.policies, options?.calendar)
      const tried = () => this.renamed(cost, candidate.policies)
      attempt(() => candidate.#changeAlone(verb, key, tried(), calendar, onFailure))
    }
    return decision
  }

  #changeAlone(
    verb: 'refund' | 'charge',
    key: Key,
    cost: AnyCost,
    calendar: CallerCalendars | undefined,
    onFailure?: OnFailure,
  ): MaybePromise<Decision> {
    const keys = keysOf(key, this.scopes)
    const match = this.match(keys)
    const { policies } = (match?.limiter as UnitVerbs<Limiter> | undefined) ?? this
    const costs = costsOf(match?.renamed ? this.renamed(cost, policies) : cost, policies)
    return (match?.ledger ?? this.opened().ledger).run({ verb, keys, costs, calendar }, onFailure)
  }

  /**
   * Asks about a call again, under the policies that apply when an override ends. Rejects if the store fails.
   * @param cost the cost as the caller gave it
   */
  protected later(cost: AnyCost, scopes: readonly string[] = this.scopes): AskLater<UnitVerbs<Limiter>> {
    const ask: AskLater<UnitVerbs<Limiter>> = (next, { keys, calendar }) => {
      const { ledger, policies = this.policies } = (next?.limiter ?? this).opened(scopes)
      const named = next === undefined ? ledger : next.naming(ledger, ask)
      const asked = askedBy(next?.renamed ? this.renamed(cost, policies, scopes) : cost, policies, this.store)
      return named.run({ verb: 'peek', keys, ...asked, calendar }, () => 'throw')
    }
    return ask
  }

  /**
   * The cost of a call under the policies of an override or of a candidate, which may have other names than the policies of this limiter.
   * @param scopes the scopes of the call
   */
  protected renamed(cost: AnyCost, policies: readonly Policy[], scopes: readonly string[] = this.scopes): AnyCost {
    const plan = this.policies.filter(({ scope }) => scopes.includes(scope))
    return costUnderOverride(cost, plan, policies, this.store)
  }
}
