import type { PenaltyOptions } from '../algorithms/bans/index.ts'
import type { Policy } from '../algorithms/index.ts'
import { type MaybePromise, needsPromise } from '../common/index.ts'
import type { Match, TargetLimiter } from '../overrides/index.ts'
import { type CallerCalendars, type Decision, noteUse, underEarlier, underPlan } from '../policy/index.ts'
import type { CheckedLedger } from '../stores/contract/index.ts'
import type { AnyCost, CallExtras, CostOptions, Key } from './call-arguments.ts'
import { askedBy, costOf, costsOf, keysOf } from './call-arguments.ts'
import { bookBoth, candidateExtras } from './candidate/index.ts'
import { DerivedLimiters } from './derived-limiters.ts'
import { type SpaceSaving, weightOf } from './heaviest/index.ts'
import { calls, watch } from './limiter-events.ts'
import {
  type PlanLike,
  PlanOptions,
  policiesOf,
  type RateLimiterOptions,
  readCandidate,
  readPlans,
} from './limiter-options.ts'
import type { ShownLimiter } from './list-keys.ts'
import type { Plans } from './plans.ts'
import { Reservation, type ReservedCall } from './reservation.ts'
import { type ReserveOptions, readReserve } from './reserve-options.ts'
import { UnitVerbs } from './unit-verbs.ts'

// The class below assigns these functions, because only code in the class can call its private methods.
let decideBy: typeof decide
let bookBy: typeof book

/**
 * Decides whether calls are allowed, by its policies and the states of keys in its store.
 *
 * Every call rejects with a HeadgateError `HEADGATE_KEY`, `HEADGATE_COST` or `HEADGATE_OPTION` if an argument is invalid, and
 * then changes nothing. If the store fails, `onStoreError` determines the result. With `'closed'`, the call rejects with
 * `HEADGATE_STORE_UNAVAILABLE`. The `cause` of this error is the store's error, such as `HEADGATE_STORE_TIMEOUT` or
 * `HEADGATE_STORE`.
 */
export class RateLimiter extends UnitVerbs<RateLimiter> {
  readonly policies: readonly Policy[]
  /** The scopes (kinds of keys) of the policies, without repetition. With several scopes, a key is a record with a text for each scope. */
  readonly scopes: readonly string[]
  /** The options of the penalty (automatic bans). Undefined if the limiter has no penalty. */
  readonly penalty: PenaltyOptions | undefined
  /** The limiter that tries the option `candidate`, named `name~candidate`. Undefined without this option. */
  readonly candidate: RateLimiter | undefined
  readonly #ledger: CheckedLedger
  /** The counters of the keys with the most calls, for each scope (such as `user`). Undefined if the option `top` is not set. */
  readonly #counts: readonly SpaceSaving[] | undefined
  /** Set for the limiter of a plan (policies of one caller). With `override`, the policies come from an override: no other then applies. */
  readonly #given: PlanOptions<RateLimiter> | undefined
  #derived: DerivedLimiters<RateLimiter> | undefined

  /**
   * @throws HeadgateError if a policy is invalid, if two policies have the same name, if an option is unknown or invalid, or if
   *   another limiter on this store has the same name (`HEADGATE_DUPLICATE_LIMITER`)
   */
  constructor(options: RateLimiterOptions) {
    const plans = readPlans<RateLimiter>(options)
    super(plans, options instanceof PlanOptions)
    this.policies = policiesOf(options.policies, options.penalty)
    this.penalty = this.policies.length === 0 ? undefined : options.penalty
    const { candidate } = options
    const tried = candidate === undefined ? undefined : readCandidate(candidate, this.policies, this.penalty)
    plans.registerName(this.policies)
    this.scopes = Object.freeze([...new Set(this.policies.map((policy) => policy.scope))])
    this.#counts = plans.options.heavyKeys?.of(this.scopes)
    this.#given = options instanceof PlanOptions ? options : undefined
    this.#ledger = plans.open(this.policies, this.scopes, this.#given?.override)
    this.candidate = tried && new RateLimiter(new PlanOptions(tried, plans.candidates))
  }

  protected open(scopes: readonly string[]): ShownLimiter {
    const whole = scopes.length === this.scopes.length
    const policies = whole ? this.policies : this.policies.filter(({ scope }) => scopes.includes(scope))
    const ledger = whole ? this.#ledger : this.plans.open(policies, scopes, this.#given?.override)
    return { ledger, policies, scopes, onChange: this.plans.options.onChange }
  }

  protected known(): readonly Policy[] {
    return this.penalty === undefined ? this.policies : this.policies.slice(0, -1)
  }

  protected override overridden(): TargetLimiter {
    return { ...super.overridden(), check: (policies) => policiesOf(policies, this.penalty) }
  }

  protected override match(keys: readonly (string | undefined)[]): Match<RateLimiter> | undefined {
    const { table } = this.plans.overrides
    if (table === undefined || this.#given?.override !== undefined) return undefined
    this.#derived ??= new DerivedLimiters<RateLimiter>(
      this.scopes,
      this.known(),
      (cost) => this.later(cost),
      (policies, extent) => {
        const penalty = this.penalty ?? false
        const limiter = new RateLimiter(new PlanOptions({ policies, penalty }, this.plans, extent))
        return { limiter, ledger: limiter.#ledger }
      },
    )
    return this.#derived.under(table).find(keys)
  }

  /**
   * Returns a limiter with other policies, and with the same name, store and keys. A plan can replace the penalty with `{ policies,
   * penalty }`, and `penalty: false` removes it. If policies of two plans have the same name, these policies share the states of
   * keys. If the numbers of the two policies differ, the option `onChange` determines how the used units change. Equal plans give
   * the same limiter. The look-up is fastest if each call passes the same objects: policies that constructors returned, or the same
   * array of such policies. The plan `'unlimited'` admits every call, counts nothing and asks no store, so bans do not apply.
   * @throws HeadgateError if a policy is invalid, or if two policies have the same name
   */
  withPlan(plan: PlanLike): RateLimiter {
    return limiterUnder(this.plans, plan)
  }

  /**
   * Takes `cost` units from every policy if all policies admit the cost. Otherwise takes no units from any policy. With a list of
   * costs, takes the first cost that all policies admit. If no cost is admitted, the call is one refusal, with the shortest wait.
   *
   * Rejects with HeadgateError `HEADGATE_KEY`, `HEADGATE_COST` or `HEADGATE_OPTION` if an argument is invalid, and with
   * `HEADGATE_STORE_UNAVAILABLE` if the store fails and `onStoreError` is `'closed'`.
   */
  consume(key: Key, options?: CostOptions): Promise<Decision> {
    // The method is not `async`, because `async` would wrap the promise of the store in another promise.
    try {
      const cost = costOf(options)
      const decision = noteUse(this.#given?.plan, this.#decide(key, cost, this.dated(options)))
      return Promise.resolve(this.#compared(decision, key, cost, options?.calendar))
    } catch (error) {
      return this.#underEarlier(error, (limiter) => limiter.consume(key, options))
    }
  }

  /** Makes a call again that failed because it does not fit a new plan (policies of one caller), under the plan before, if there is one. */
  async #underEarlier<Result>(error: unknown, call: (limiter: RateLimiter) => MaybePromise<Result>): Promise<Result> {
    return underEarlier(this.#given?.plan, error, (plan) => call(this.withPlan(plan as PlanLike)))
  }

  /**
   * Does the same as `consume`, but returns the decision without a promise. Requires a synchronous store, such as a memory store.
   * @throws HeadgateError `HEADGATE_ASYNC_STORE` if the store is asynchronous
   * @throws HeadgateError `HEADGATE_KEY`, `HEADGATE_COST` or `HEADGATE_OPTION` if an argument is invalid
   */
  consumeSync(key: Key, options?: CostOptions): Decision {
    if (!this.store.synchronous) throw needsPromise()
    const cost = costOf(options)
    const decision = this.#decide(key, cost, this.dated(options))
    return this.#compared(decision, key, cost, options?.calendar) as Decision
  }

  /**
   * Takes `cost` units now, and lets you correct the cost later with `settle(actual)`, or give the units back with `cancel()`. With
   * `maxWait`, units that are not available now are reserved for a later time: `wait` is how long to wait before you use the units. Some
   * policies cannot promise a future time: sliding and segmented windows, and several policies together. A cost that such policies do not
   * admit now is refused, and `retryAfter` says when to try again.
   *
   * With `expires` and `onExpiry: 'give-back'`, a reservation that is not settled gives its units back when it expires, for example after
   * its process was killed. A later `settle` takes the whole actual cost again.
   *
   * Rejects for the same reasons as `consume`, with `HEADGATE_MAX_WAIT` if `maxWait` is invalid, and with `HEADGATE_RESERVATIONS` if
   * 100 reservations with `onExpiry: 'give-back'` are open for a key.
   */
  async reserve(key: Key, options?: ReserveOptions): Promise<Reservation> {
    try {
      const { cost = 1, maxWait, expires, calendar } = readReserve(options, this.policies)
      return noteUse(this.#given?.plan, this.#book(key, cost, maxWait, this.dated({ calendar }), expires))
    } catch (error) {
      return this.#underEarlier(error, (limiter) => limiter.reserve(key, options))
    }
  }

  /** Asks the candidate, if there is one, about a call that was just decided. Returns the decision. */
  #compared(decision: MaybePromise<Decision>, key: Key, cost: AnyCost, calendar?: CallerCalendars): typeof decision {
    if (this.candidate !== undefined) this.#compare(decision, key, cost, calendar)
    return decision
  }

  #compare(decision: MaybePromise<Decision>, key: Key, cost: AnyCost, calendar: CallerCalendars | undefined): void {
    const candidate = this.candidate as RateLimiter
    const tried = candidateExtras(candidate.policies, this.policies, calendar)
    const ask = () => candidate.#decide(key, this.renamed(cost, candidate.policies), tried)
    this.plans.comparison?.add({ instance: this, key, cost }, decision, ask)
  }

  /** @param overridden the ledger that adds the overrides to its decisions, if this limiter has the policies of an override */
  #decide(key: Key, cost: AnyCost, extras?: CallExtras, overridden?: CheckedLedger): MaybePromise<Decision> {
    const keys = keysOf(key, this.scopes)
    if (this.plans.overrides.table !== undefined) {
      const match = this.match(keys)
      if (match !== undefined) return this.#decideUnder(match, key, cost, extras)
    }
    const asked = typeof cost === 'number' ? undefined : askedBy(cost, this.policies, this.store)
    const costs = asked === undefined ? costsOf(cost, this.policies) : asked.costs
    const ledger = overridden ?? this.#ledger
    const weight = weightOf(this.plans.options.heavyKeys)
    const alternatives = asked?.alternatives
    const details = extras?.details
    const calendar = extras?.calendar
    const command = { verb: 'consume', keys, costs, alternatives, details, calendar, windows: undefined } as const
    if (weight > 0 || calls.hasSubscribers) {
      const call = { limiter: this, key, cost, keys, enforced: extras?.enforced, counts: this.#counts, weight }
      return watch(call, () => ledger.run(command, extras?.onFailure))
    }
    return ledger.run(command, extras?.onFailure)
  }

  #decideUnder(match: Match<RateLimiter>, key: Key, cost: AnyCost, extras?: CallExtras): MaybePromise<Decision> {
    const { limiter, renamed } = match
    const ledger = this.#ledgerUnder(match, cost)
    return limiter.#decide(key, renamed ? this.renamed(cost, limiter.policies) : cost, extras, ledger)
  }

  #ledgerUnder(match: Match<RateLimiter>, cost: AnyCost): CheckedLedger {
    return typeof cost === 'number' ? match.ledger : match.naming(match.limiter.#ledger, this.later(cost))
  }

  #book(key: Key, cost: AnyCost, maxWait: number, extras?: CallExtras, expires?: number): MaybePromise<Reservation> {
    const reservation = this.#take(key, cost, maxWait, extras, expires)
    const { candidate, plans } = this
    if (candidate === undefined || plans.comparison === undefined) return reservation
    const tried = candidateExtras(candidate.policies, this.policies, extras?.calendar)
    const book = () => candidate.#take(key, this.renamed(cost, candidate.policies), maxWait, tried)
    return bookBoth(plans.comparison, { instance: this, key, cost }, reservation, book)
  }

  #take(key: Key, given: AnyCost, maxWait: number, extras?: CallExtras, expires?: number): MaybePromise<Reservation> {
    const keys = keysOf(key, this.scopes)
    const match = this.match(keys)
    const { policies } = match?.limiter ?? this
    const ledger = match === undefined ? this.#ledger : this.#ledgerUnder(match, given)
    const cost = match?.renamed ? this.renamed(given, policies) : given
    const plan = extras?.plan ?? (match?.renamed ? this.policies : undefined)
    const asked = askedBy(cost, policies, this.store)
    const { details, onFailure, enforced, calendar } = extras ?? {}
    const run: ReservedCall['run'] = (command) => ledger.run({ ...command, calendar }, onFailure)
    const call = { run, policies, plan, keys, ...asked, load: this.plans.load }
    const weight = weightOf(this.plans.options.heavyKeys)
    const watched = { limiter: match?.limiter ?? this, key, cost, keys, enforced, counts: this.#counts, weight }
    const booking = watch(watched, () =>
      run({ verb: 'reserve', keys, ...asked, maxWait: maxWait * 1000, expires, details }),
    )
    if ('then' in booking) return booking.then((booked) => new Reservation(call, booked))
    return new Reservation(call, booking)
  }

  static {
    decideBy = (limiter, key, cost, extras) => {
      return limiter.#compared(limiter.#decide(key, cost, extras), key, cost, extras?.calendar)
    }
    bookBy = (limiter, key, cost, maxWait, extras) => limiter.#book(key, cost, maxWait, extras)
  }
}

/**
 * `consume` for the adapters of frameworks. Returns a promise only if the store does, and throws on an invalid argument. `extras` can ask
 * for more fields in the decision.
 */
export function decide(limiter: RateLimiter, key: Key, cost: AnyCost, extras?: CallExtras): MaybePromise<Decision> {
  return decideBy(limiter, key, cost, extras)
}

/** `reserve` for the adapters of frameworks. Returns a promise only if the store does. @param maxWait in whole milliseconds */
export function book(
  limiter: RateLimiter,
  key: Key,
  cost: AnyCost,
  maxWait: number,
  extras?: CallExtras,
): MaybePromise<Reservation> {
  return bookBy(limiter, key, cost, maxWait, extras)
}

/** The limiter of a plan (the policies of one caller). If `plans` has no limiter for the plan, a new limiter is made. */
export function limiterUnder(plans: Plans<RateLimiter>, plan: PlanLike): RateLimiter {
  const make = (each: PlanLike) => plans.find(each) ?? plans.keep(each, new RateLimiter(new PlanOptions(each, plans)))
  return plans.find(plan) ?? (underPlan(plan, make, false) as RateLimiter)
}
