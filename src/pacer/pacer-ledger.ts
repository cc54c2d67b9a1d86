import { type Costs, type Details, type Tickets, unitsBack } from '../algorithms/evaluation/index.ts'
import { type Policy, withLimit } from '../algorithms/index.ts'
import { HeadgateError, isPromise, longestWindow, type MaybePromise } from '../common/index.ts'
import { type RateLimiter, Reservation, type ReservedCall } from '../limiter/index.ts'
import type { Decision } from '../policy/index.ts'
import {
  type Booking,
  type CheckedLedger,
  type Command,
  type FailureTerms,
  isLocal,
  type LedgerTerms,
  type OutcomeOf,
  openLedger,
  type Verb,
} from '../stores/contract/index.ts'
import { type CallCost, costsIn, sum } from './pacer-cost.ts'

/** The longest wait for which a slot (start time of a call) is booked, in microseconds. */
const longestWait = longestWindow * 1000

/** Asks the store for its time in each decision: the end of a hold (a ban of the key in the store) is counted from that time. */
const withTime = { at: true }

/**
 * Takes the units of a pacer from the store and gives units back. The rate of the policy can be changed. The ledger `#ledger` sends the
 * calls to the store, and handles timeouts and failures (see src/failure).
 */
export class PacerLedger {
  readonly #limiter: RateLimiter
  readonly #failure: FailureTerms
  policies: readonly Policy[]
  /** True if no other process can take units from the store. */
  readonly exclusive: boolean
  #ledger: CheckedLedger
  /** The lease (time until a running call's unit is freed), in microseconds. The lease is computed once, because each call reads it. */
  #lease: number | undefined

  readonly #details: Details | undefined

  constructor(limiter: RateLimiter, failure: FailureTerms) {
    this.#limiter = limiter
    this.exclusive = limiter.store.traits?.exclusive === true
    this.#details = this.exclusive ? undefined : withTime
    this.#failure = failure
    this.policies = limiter.policies
    this.#ledger = this.#open()
  }

  /** @param joins the ledger that was used at the previous rate. The new ledger continues the states of that ledger */
  #open(joins?: CheckedLedger): CheckedLedger {
    const { name, scopes, store } = this.#limiter
    const terms: LedgerTerms = { name, policies: this.policies, scopes, onChange: 'retune', failure: this.#failure }
    return openLedger(store, { ...terms, replaces: this.exclusive }, joins)
  }

  /**
   * Runs a command of a call. If a synchronous store throws, the result is a rejected promise, because a timer may have run the command.
   */
  #run<V extends Verb>(command: Command<V>): MaybePromise<OutcomeOf<V>> {
    try {
      return this.#ledger.run(command)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * True if the store can promise a waiting call the time of its admission. This needs that the store promises future times, that at most
   * one policy is enforced, that this policy can promise future times too, and that no policy counts units in flight.
   */
  get reservable(): boolean {
    const [policy, ...others] = this.policies.filter(({ shadow }) => !shadow)
    if (this.lease < Infinity || this.#limiter.store.traits?.promises === false) return false
    return policy === undefined || (others.length === 0 && policy.algorithm.promises)
  }

  /** The shortest lease (time until a unit in flight is freed), in microseconds. Infinity if no policy counts units in flight. */
  get lease(): number {
    this.#lease ??= Math.min(
      ...this.policies.filter((each) => each.algorithm.leases).map((each) => each.algorithm.span),
    )
    return this.#lease
  }

  get synchronous(): boolean {
    return this.#limiter.store.synchronous
  }

  /**
   * Stores a hold (a stop of the key) for all processes that share the store. If the store fails, the hold applies in this process only.
   */
  hold(keys: readonly string[], duration: number): void {
    if (this.exclusive) return
    const ban = { duration: Math.ceil(duration), reason: 'hold', extends: true }
    const told = this.#run({ verb: 'ban', keys, ban })
    void quietly(told)
  }

  /** Asks the store about the key: its ban, if a process holds the key. */
  look(keys: readonly string[]): MaybePromise<Decision> {
    return this.#run({ verb: 'peek', keys, details: withTime })
  }

  /** The key of a queue as a list, with one entry for each scope (kind of key) of the policies. */
  keys(key: string): readonly string[] {
    return this.#limiter.scopes.map(() => key)
  }

  /**
   * Makes the state of Guava's limiters when the pacer is made, because these limiters collect permits from that time on. The states of
   * other algorithms begin with the first call.
   */
  begin(keys: readonly string[]): void {
    if (!isLocal(this.#limiter.store)) return
    if (!this.policies.some(({ algorithm }) => algorithm.paysLater)) return
    void this.#ledger.run({ verb: 'charge', keys, costs: 0 })
  }

  /** @param maxWait the longest wait, in microseconds */
  reserve(keys: readonly string[], cost: CallCost, maxWait: number): MaybePromise<Booking> {
    const terms = { costs: costsIn(cost), maxWait: Math.min(longestWait, maxWait), details: this.#details }
    return this.#run({ verb: 'reserve', keys, ...terms })
  }

  /**
   * Gives booked units back. If the store fails, the units stay used, so the pacer admits less than the policy, never more.
   * @param users the calls that use some of these units
   */
  giveBack(
    keys: readonly string[],
    tickets: Tickets | undefined,
    users: readonly { readonly cost: CallCost }[] = [],
  ): MaybePromise<unknown> {
    if (tickets === undefined) return undefined
    const used = users.reduce<Costs>((units, { cost }) => sum(units, 1, costsIn(cost)), 0)
    const usedOf = (n: number) => (typeof used === 'number' ? used : (used[n] as number))
    const costs = unitsBack(tickets).map((units, n) => Math.min(0, units + usedOf(n)))
    return costs.some((units) => units < 0) ? this.#settling({ verb: 'settle', keys, costs, tickets }) : undefined
  }

  reset(keys: readonly string[]): MaybePromise<void> {
    return this.#ledger.run({ verb: 'reset', keys })
  }

  /** The reservation of booked units, which can be settled (corrected), released or renewed later. */
  reservation(keys: readonly string[], cost: CallCost, booking: Booking): Reservation {
    const { policies } = this
    return new Reservation({ run: this.#settling, policies, keys, costs: costsIn(cost) }, booking)
  }

  /**
   * Settles a reservation (corrects its cost). If the store fails, a settlement that takes more units rejects. A settlement that gives
   * units back resolves, and the units stay used.
   */
  readonly #settling: ReservedCall['run'] = (command) => {
    const outcome = this.#run(command)
    const quiet = command.verb === 'settle' && !charges(command.costs ?? 1)
    return quiet ? (quietly(outcome) as typeof outcome) : outcome
  }

  /** How many units the policy admits in its window. */
  get rate(): number {
    return this.#tunable().limit
  }

  /**
   * Changes the rate. Start times that were promised to calls already stay valid. In a store that several processes share, the state of a
   * key changes to the new rate with the next call that takes units under this key.
   * @throws HeadgateError `HEADGATE_RATE`, or the error of the policy's function, such as `tokenBucket`, for an invalid limit
   */
  setRate(rate: number): void {
    const policy = this.#tunable()
    const next = withLimit(policy, rate)
    this.policies = this.policies.map((each) => (each === policy ? next : each))
    this.#ledger = this.#open(this.#ledger)
  }

  #tunable(): Policy {
    const rates = this.policies.filter(({ shadow, algorithm }) => !shadow && !algorithm.leases)
    const [policy, ...others] = rates
    if (policy !== undefined && others.length === 0) return policy
    throw new HeadgateError(
      'HEADGATE_RATE',
      `Only a pacer with one policy has a rate, and this one has ${rates.length}. Make a pacer with one policy.`,
    )
  }
}

/** How long the caller of a booking (reserved units) has to wait, in microseconds. */
export function delayOf({ wait, delay = wait * 1000 }: Booking): number {
  return delay
}

/** For how many more microseconds a hold in the store stops all calls of the key. 0 without a hold. */
export function holdIn({ ban, at = 0 }: Decision): number {
  return ban === undefined ? 0 : Math.max(1, ban.until - at) * 1000
}

function charges(costs: Costs): boolean {
  return typeof costs === 'number' || costs.some((units) => units > 0)
}

function quietly(outcome: MaybePromise<unknown>): MaybePromise<unknown> {
  return isPromise(outcome) ? outcome.catch(() => undefined) : outcome
}
