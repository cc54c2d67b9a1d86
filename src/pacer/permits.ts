import type { Policy } from '../algorithms/algorithm.ts'
import { withLimit } from '../algorithms/define-policy.ts'
import { type Costs, type Tickets, unitsBack } from '../algorithms/evaluation.ts'
import { Smooth } from '../algorithms/smooth.ts'
import type { Decision } from '../decision.ts'
import { longestWindow } from '../duration.ts'
import { HeadgateError } from '../errors.ts'
import { openLedger } from '../failure/failover-ledger.ts'
import type { FailoverOptions } from '../failure/on-store-error.ts'
import type { RateLimiter } from '../limiter.ts'
import { isPromise, type MaybePromise } from '../maybe-promise.ts'
import { Reservation } from '../reservation.ts'
import type { Booking, Ledger, LedgerTerms } from '../stores/store.ts'
import { type Cost, costsIn } from './cost.ts'

/** The longest wait that is booked, in microseconds. */
const longestWait = longestWindow * 1000

/**
 * Takes permits from the store and gives them back, at a rate that can be set. The ledger handles timeouts and a store
 * that fails: see src/failure.
 */
export class Permits {
  readonly #limiter: RateLimiter
  readonly #failure: FailoverOptions
  policies: readonly Policy[]
  #ledger: Ledger

  constructor(limiter: RateLimiter, failure: FailoverOptions) {
    this.#limiter = limiter
    this.#failure = failure
    this.policies = limiter.policies
    this.#ledger = this.#open()
  }

  #open(): Ledger {
    return openLedger(this.#limiter.store, this.#terms, this.#failure)
  }

  get #terms(): LedgerTerms {
    const { name, scopes } = this.#limiter
    return { name, policies: this.policies, scopes, onChange: 'retune' }
  }

  /** True if a future time can be promised: at most one policy is enforced, its algorithm can, and none counts what is in flight. */
  get reservable(): boolean {
    const [policy, ...others] = this.policies.filter(({ shadow }) => !shadow)
    if (this.lease < Infinity) return false
    return policy === undefined || (others.length === 0 && policy.algorithm.promises)
  }

  /** The shortest lease of a unit in flight, in microseconds. Infinity if no policy counts what is in flight. */
  get lease(): number {
    return Math.min(...this.policies.filter(({ algorithm }) => algorithm.leases).map(({ algorithm }) => algorithm.span))
  }

  get synchronous(): boolean {
    return this.#limiter.store.synchronous
  }

  /** True if no other process can take permits. */
  get exclusive(): boolean {
    return this.#ledger.retune !== undefined
  }

  /** A key for each scope: the same one. */
  keys(key: string): readonly string[] {
    return this.#limiter.scopes.map(() => key)
  }

  /** Starts Guava's limiters when they are made, so that idle time counts from now on. Other states start with a call. */
  begin(keys: readonly string[]): void {
    if (!this.synchronous) return
    if (this.policies.some(({ algorithm }) => algorithm instanceof Smooth)) void this.#ledger.decide('charge', keys, 0)
  }

  /** @param maxWait microseconds */
  reserve(keys: readonly string[], cost: Cost, maxWait: number): MaybePromise<Booking> {
    return this.#ledger.reserve(keys, costsIn(cost), Math.min(longestWait, maxWait))
  }

  /** Gives all units of a booking back. They stay spent if the store fails or does not respond, which errs on the strict side. */
  giveBack(keys: readonly string[], tickets: Tickets | undefined): MaybePromise<unknown> {
    return tickets && this.#settling.decide('settle', keys, unitsBack(tickets), { tickets })
  }

  /** Forgets what was taken. */
  reset(keys: readonly string[]): MaybePromise<void> {
    return this.#ledger.reset(keys)
  }

  /** A booking that is settled, released or renewed later. */
  reservation(keys: readonly string[], cost: Cost, booking: Booking): Reservation {
    const { policies } = this
    return new Reservation({ ledger: this.#settling, policies, keys, costs: costsIn(cost), extras: undefined }, booking)
  }

  /** Units that cannot be given back stay spent without an error. A charge that may be lost is one. */
  readonly #settling: Pick<Ledger, 'decide' | 'reserve'> = {
    decide: (verb, keys, costs, options) => {
      const decision = this.#ledger.decide(verb, keys, costs, options)
      return charges(costs) ? decision : (quietly(decision) as MaybePromise<Decision>)
    },
    reserve: (...call) => this.#ledger.reserve(...call),
  }

  /** Permits in the policy's window. */
  get rate(): number {
    const { algorithm, window, limit } = this.#tunable()
    return algorithm instanceof Smooth ? (window * 1000) / algorithm.stable : limit
  }

  /**
   * Goes on at another rate. States keep the times that were promised. In a store that processes share, a state changes
   * to the new rate with the next call that takes permits.
   * @throws HeadgateError `HEADGATE_RATE`, or what the policy's constructor throws
   */
  setRate(rate: number): void {
    const policy = this.#tunable()
    const next = withLimit(policy, rate)
    this.policies = this.policies.map((each) => (each === policy ? next : each))
    if (this.#ledger.retune !== undefined) this.#ledger.retune(this.policies)
    else this.#ledger = this.#ledger.vary?.(this.#terms) ?? this.#open()
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

/** Ignores an error of the store. */
function quietly(outcome: MaybePromise<unknown>): MaybePromise<unknown> {
  return isPromise(outcome) ? outcome.catch(() => undefined) : outcome
}
