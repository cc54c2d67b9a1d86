import { type Costs, type Tickets, unitsBack } from '../algorithms/evaluation/index.ts'
import { type Policy, withLimit } from '../algorithms/index.ts'
import { HeadgateError, isPromise, longestWindow, type MaybePromise } from '../common/index.ts'
import { type RateLimiter, Reservation, type ReservedCall } from '../limiter/index.ts'
import {
  type Booking,
  type CheckedLedger,
  type FailureTerms,
  isLocal,
  type LedgerTerms,
  openLedger,
} from '../stores/contract/index.ts'
import { type CallCost, costsIn } from './pacer-cost.ts'

/** The longest wait that is booked, in microseconds. */
const longestWait = longestWindow * 1000

/**
 * Takes units from the store and gives them back, at a rate that can be set. The ledger handles timeouts and a store
 * that fails: see src/failure.
 */
export class PacerLedger {
  readonly #limiter: RateLimiter
  readonly #failure: FailureTerms
  policies: readonly Policy[]
  #ledger: CheckedLedger
  /** Found once: each call asks for it. */
  #lease: number | undefined

  constructor(limiter: RateLimiter, failure: FailureTerms) {
    this.#limiter = limiter
    this.#failure = failure
    this.policies = limiter.policies
    this.#ledger = this.#open()
  }

  /** @param joins the ledger of the former rate, whose states the new ledger keeps */
  #open(joins?: CheckedLedger): CheckedLedger {
    const { name, scopes, store } = this.#limiter
    const terms: LedgerTerms = { name, policies: this.policies, scopes, onChange: 'retune', failure: this.#failure }
    return openLedger(store, { ...terms, replaces: this.exclusive }, joins)
  }

  /**
   * True if future times can be promised: one enforced policy at most, which can promise them, and no units in flight.
   */
  get reservable(): boolean {
    const [policy, ...others] = this.policies.filter(({ shadow }) => !shadow)
    if (this.lease < Infinity) return false
    return policy === undefined || (others.length === 0 && policy.algorithm.promises)
  }

  /** The shortest lease of a unit in flight, in microseconds. Infinity if no policy counts units in flight. */
  get lease(): number {
    this.#lease ??= Math.min(
      ...this.policies.filter((each) => each.algorithm.leases).map((each) => each.algorithm.span),
    )
    return this.#lease
  }

  get synchronous(): boolean {
    return this.#limiter.store.synchronous
  }

  /** True if no other process can take units. */
  get exclusive(): boolean {
    return this.#limiter.store.traits?.exclusive === true
  }

  /** The same key, once for each scope. */
  keys(key: string): readonly string[] {
    return this.#limiter.scopes.map(() => key)
  }

  /** Starts Guava's limiters when they are made, so that idle time counts from now on. Other states start with a call. */
  begin(keys: readonly string[]): void {
    if (!isLocal(this.#limiter.store)) return
    if (!this.policies.some(({ algorithm }) => algorithm.paysLater)) return
    void this.#ledger.run({ verb: 'charge', keys, costs: 0 })
  }

  /** @param maxWait microseconds */
  reserve(keys: readonly string[], cost: CallCost, maxWait: number): MaybePromise<Booking> {
    return this.#ledger.run({ verb: 'reserve', keys, costs: costsIn(cost), maxWait: Math.min(longestWait, maxWait) })
  }

  /** Gives all units of a booking back. If the store fails or hangs, they stay spent: too strict, never too lax. */
  giveBack(keys: readonly string[], tickets: Tickets | undefined): MaybePromise<unknown> {
    return tickets && this.#settling({ verb: 'settle', keys, costs: unitsBack(tickets), tickets })
  }

  reset(keys: readonly string[]): MaybePromise<void> {
    return this.#ledger.run({ verb: 'reset', keys })
  }

  /** A booking that is settled, released or renewed later. */
  reservation(keys: readonly string[], cost: CallCost, booking: Booking): Reservation {
    const { policies } = this
    return new Reservation({ run: this.#settling, policies, keys, costs: costsIn(cost) }, booking)
  }

  /** Settles a reservation. If the store fails, a charge rejects; units to give back stay spent without an error. */
  readonly #settling: ReservedCall['run'] = (command) => {
    const outcome = this.#ledger.run(command)
    const quiet = command.verb === 'settle' && !charges(command.costs ?? 1)
    return quiet ? (quietly(outcome) as typeof outcome) : outcome
  }

  /** Units in the policy's window. */
  get rate(): number {
    return this.#tunable().limit
  }

  /**
   * Changes the rate. States keep the times that were promised. In a store that processes share, a state changes to the
   * new rate with the next call that takes units.
   * @throws HeadgateError `HEADGATE_RATE`, or what the policy's constructor throws
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

/** How long the caller of a booking waits, in microseconds. */
export function delayOf({ wait, delay = wait * 1000 }: Booking): number {
  return delay
}

function charges(costs: Costs): boolean {
  return typeof costs === 'number' || costs.some((units) => units > 0)
}

function quietly(outcome: MaybePromise<unknown>): MaybePromise<unknown> {
  return isPromise(outcome) ? outcome.catch(() => undefined) : outcome
}
