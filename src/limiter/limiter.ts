import type { PenaltyOptions } from '../algorithms/bans/index.ts'
import type { Details } from '../algorithms/evaluation/index.ts'
import type { Policy } from '../algorithms/index.ts'
import { callOptions, type Duration, HeadgateError, type MaybePromise, milliseconds } from '../common/index.ts'
import type { Decision } from '../policy/index.ts'
import type { CheckedLedger, OnFailure } from '../stores/contract/index.ts'
import { type CostOptions, costOf, costsOf, type Key, keysOf, type Units } from './call-arguments.ts'
import type { HeavyKeys, SpaceSaving } from './heaviest/index.ts'
import { calls, type Load, watch } from './limiter-events.ts'
import { type PlanLike, PlanOptions, policiesOf, type RateLimiterOptions, readPlans } from './limiter-options.ts'
import type { ShownLimiter } from './list-keys.ts'
import { Operations } from './operator-verbs.ts'
import type { Plans } from './plans.ts'
import { Reservation, type ReservedCall } from './reservation.ts'

export type { CostOptions, Key, Units } from './call-arguments.ts'
export type { HeavyKey, TopOptions } from './heaviest/index.ts'
export { calls } from './limiter-events.ts'
export type { BanOptions } from './operator-verbs.ts'

/** Options that only an adapter passes to a call. */
export interface CallExtras {
  readonly details?: Details | undefined
  readonly onFailure?: OnFailure | undefined
  /** False if the adapter does not enforce a refusal of this call. Only events show this. Default true. */
  readonly enforced?: boolean
}

/** The options of `reserve`. */
export interface ReserveOptions extends CostOptions {
  /** The longest wait before the reserved time: milliseconds, or a text such as `'2s'`. Default 0. */
  maxWait?: Duration
}

// The class assigns these: only the class reaches its private methods.
let decideBy: typeof decide
let bookBy: typeof book

/**
 * Decides about calls by its policies and the states in its store.
 *
 * Every call rejects with a HeadgateError `HEADGATE_KEY`, `HEADGATE_COST` or `HEADGATE_OPTION` for an invalid argument;
 * then nothing is changed. If the store fails, `onStoreError` decides what happens. With `'closed'` the call rejects with
 * `HEADGATE_STORE_UNAVAILABLE`; its `cause` is the store's error, such as `HEADGATE_STORE_TIMEOUT` or `HEADGATE_STORE`.
 */
export class RateLimiter extends Operations<RateLimiter> {
  readonly policies: readonly Policy[]
  /** The scopes of the policies, each once. A record of keys needs a key for each of them. */
  readonly scopes: readonly string[]
  /** The options of the penalty; undefined if there is none. */
  readonly penalty: PenaltyOptions | undefined
  /** Calls that hold units in flight or wait in this process now, under every plan: `{ inFlight: 3, waiting: 0 }`. */
  readonly load: Readonly<Load>
  readonly #ledger: CheckedLedger
  /** The counters of the heaviest keys, one for each scope. */
  readonly #counts: readonly SpaceSaving[] | undefined

  /**
   * @throws HeadgateError for an invalid policy, two policies of one name, an unknown or invalid option, or a name that
   *   another limiter has on this store (`HEADGATE_DUPLICATE_LIMITER`)
   */
  constructor(options: RateLimiterOptions) {
    const plans = readPlans<RateLimiter>(options)
    super(plans)
    this.penalty = options.penalty
    this.load = plans.load
    this.policies = policiesOf(options.policies, options.penalty)
    plans.registerName(this.policies)
    this.scopes = Object.freeze([...new Set(this.policies.map((policy) => policy.scope))])
    this.#counts = plans.options.heavyKeys?.of(this.scopes)
    this.#ledger = plans.open(this.policies, this.scopes)
  }

  protected get opened(): ShownLimiter {
    return { ledger: this.#ledger, policies: this.policies, scopes: this.scopes, onChange: this.plans.options.onChange }
  }

  /**
   * The limiter of another plan: other policies, with the same name, store and keys. A plan may have a penalty of its
   * own: `{ policies, penalty }`, or `penalty: false` for none. Policies of two plans with the same name share states.
   * If their numbers differ, the units that a key has used are carried over by the rule `onChange`. Equal plans give
   * the same limiter. The look-up is fastest if each call passes the same objects: policies that constructors return,
   * or one array of these policies.
   * @throws HeadgateError for an invalid policy, or two policies of one name
   */
  withPlan(plan: PlanLike): RateLimiter {
    return limiterUnder(this.plans, plan)
  }

  /**
   * Takes `cost` units from every policy if all of them admit it, else from none.
   *
   * Rejects with HeadgateError `HEADGATE_KEY`, `HEADGATE_COST` or `HEADGATE_OPTION` for an invalid argument, and with
   * `HEADGATE_STORE_UNAVAILABLE` if the store fails and `onStoreError` is `'closed'`.
   */
  consume(key: Key, options?: CostOptions): Promise<Decision> {
    // Not async: that would wrap the promise of the store in another one.
    try {
      return Promise.resolve(this.#decide(key, costOf(options)))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * `consume` without a promise. It needs a synchronous store, such as a memory store.
   * @throws HeadgateError `HEADGATE_ASYNC_STORE` for another store; `HEADGATE_KEY`, `HEADGATE_COST` or `HEADGATE_OPTION`
   *   for an invalid argument
   */
  consumeSync(key: Key, options?: CostOptions): Decision {
    if (!this.store.synchronous) throw needsPromise()
    return this.#decide(key, costOf(options)) as Decision
  }

  /**
   * The decision that `consume` would give now. Takes and writes nothing.
   *
   * Rejects as `consume` does.
   */
  async peek(key: Key, options?: CostOptions): Promise<Decision> {
    return this.#run('peek', key, options)
  }

  /**
   * Gives `cost` units back to every policy, but never more than the key has used. The decision shows what is left
   * afterwards.
   *
   * Rejects as `consume` does.
   */
  async refund(key: Key, options?: CostOptions): Promise<Decision> {
    return this.#run('refund', key, options)
  }

  /**
   * Takes `cost` units even if fewer are left, which leaves a debt: for a cost that is only known afterwards. A charge
   * is refused only if the debt would be too large for integers below 2^53. Then nothing changes, and `retryAfter` is
   * Infinity.
   *
   * Rejects as `consume` does.
   */
  async charge(key: Key, options?: CostOptions): Promise<Decision> {
    return this.#run('charge', key, options)
  }

  /**
   * Takes `cost` units now, to be corrected later by `settle(actual)` or `cancel()`. With `maxWait`, a cost that is not
   * admitted now is reserved ahead, and `wait` says how long to wait before acting. Sliding and segmented windows, and
   * several policies together, cannot promise a future time. They refuse instead, and `retryAfter` says when to try
   * again.
   *
   * Rejects as `consume` does, and with `HEADGATE_MAX_WAIT` for an invalid `maxWait`.
   */
  async reserve(key: Key, options?: ReserveOptions): Promise<Reservation> {
    if (options !== undefined) callOptions('reserve', options, ['cost', 'maxWait'])
    const { cost = 1, maxWait = 0 } = options ?? {}
    return this.#book(key, cost, milliseconds(maxWait, 'reserve: maxWait', 'HEADGATE_MAX_WAIT', 0))
  }

  /**
   * Ends what the store of this limiter began itself: its subscription to resets, the messages of `node:cluster`, the reports of shares.
   * Call it after the last call, when the server has closed. Then close the client, pool or database that you gave to the store.
   * Limiters on one store share it: one `close()` is enough, and a second one does nothing.
   */
  close(): void {
    this.store.close?.()
  }

  async #run(verb: 'peek' | 'refund' | 'charge', key: Key, options: CostOptions | undefined): Promise<Decision> {
    const costs = costsOf(costOf(options), this.policies)
    return this.#ledger.run({ verb, keys: keysOf(key, this.scopes), costs })
  }

  #decide(key: Key, cost: Units, extras?: CallExtras): MaybePromise<Decision> {
    const keys = keysOf(key, this.scopes)
    const costs = costsOf(cost, this.policies)
    const ledger = this.#ledger
    const weight = weightOf(this.plans.options.heavyKeys)
    const command = { verb: 'consume', keys, costs, details: extras?.details } as const
    if (weight > 0 || calls.hasSubscribers) {
      const call = { limiter: this, key, cost, keys, enforced: extras?.enforced, counts: this.#counts, weight }
      return watch(call, () => ledger.run(command, extras?.onFailure))
    }
    return ledger.run(command, extras?.onFailure)
  }

  #book(key: Key, cost: Units, maxWait: number, extras?: CallExtras): MaybePromise<Reservation> {
    const { policies } = this
    const ledger = this.#ledger
    const keys = keysOf(key, this.scopes)
    const costs = costsOf(cost, policies)
    const { details, onFailure, enforced } = extras ?? {}
    const run: ReservedCall['run'] = (command) => ledger.run(command, onFailure)
    const call = { run, policies, keys, costs, load: this.plans.load }
    const weight = weightOf(this.plans.options.heavyKeys)
    const watched = { limiter: this, key, cost, keys, enforced, counts: this.#counts, weight }
    const booking = watch(watched, () => run({ verb: 'reserve', keys, costs, maxWait: maxWait * 1000, details }))
    if ('then' in booking) return booking.then((booked) => new Reservation(call, booked))
    return new Reservation(call, booking)
  }

  static {
    decideBy = (limiter, key, cost, extras) => limiter.#decide(key, cost, extras)
    bookBy = (limiter, key, cost, maxWait, extras) => limiter.#book(key, cost, maxWait, extras)
  }
}

/** `consume` for adapters: it returns a promise only if the store does, takes details, and throws on misuse. */
export function decide(limiter: RateLimiter, key: Key, cost: Units, extras?: CallExtras): MaybePromise<Decision> {
  return decideBy(limiter, key, cost, extras)
}

/** `reserve` for adapters, as `decide` is `consume`. `maxWait` is in whole milliseconds. */
export function book(
  limiter: RateLimiter,
  key: Key,
  cost: Units,
  maxWait: number,
  extras?: CallExtras,
): MaybePromise<Reservation> {
  return bookBy(limiter, key, cost, maxWait, extras)
}

function weightOf(heavyKeys: HeavyKeys | undefined): number {
  return heavyKeys === undefined ? 0 : heavyKeys.weigh()
}

function needsPromise(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_ASYNC_STORE',
    'consumeSync needs a synchronous store, such as memoryStore(). Use await limiter.consume(key).',
  )
}

/** The limiter of a plan. Makes a new one if none is kept. */
export function limiterUnder(plans: Plans<RateLimiter>, plan: PlanLike): RateLimiter {
  return plans.find(plan) ?? plans.keep(plan, new RateLimiter(new PlanOptions(plan, plans)))
}
