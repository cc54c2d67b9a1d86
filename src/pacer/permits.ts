import type { Policy } from '../algorithms/algorithm.ts'
import { withLimit } from '../algorithms/define-policy.ts'
import type { Tickets } from '../algorithms/evaluation.ts'
import { Smooth } from '../algorithms/smooth.ts'
import type { Clock } from '../clock.ts'
import type { Decision } from '../decision.ts'
import { longestWindow } from '../duration.ts'
import { HeadgateError } from '../errors.ts'
import { openLedger } from '../failure/failover-ledger.ts'
import type { FailoverOptions } from '../failure/on-store-error.ts'
import type { RateLimiter } from '../limiter.ts'
import { isPromise, type MaybePromise } from '../maybe-promise.ts'
import type { Booking, Ledger, LedgerTerms } from '../stores/store.ts'

/** How much later than the store the pacer may read the clock, in microseconds. */
const clockTolerance = 1000
/** The longest wait that is booked, in microseconds. */
const longestWait = longestWindow * 1000

/**
 * Takes permits from the store and gives them back, at a rate that can be set. The ledger handles timeouts and a store
 * that fails: see src/failure.
 */
export class Permits {
  readonly #limiter: RateLimiter
  readonly #clock: Clock
  readonly #failure: FailoverOptions
  policies: readonly Policy[]
  #ledger: Ledger
  /** How often the rate was set. Permits taken at one rate are not given back at another. */
  generation = 0

  constructor(limiter: RateLimiter, clock: Clock, failure: FailoverOptions) {
    this.#limiter = limiter
    this.#clock = clock
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

  /** True if a future time can be promised: at most one policy is enforced, and its algorithm can. */
  get reservable(): boolean {
    const [policy, ...others] = this.#enforced
    return policy === undefined || (others.length === 0 && policy.algorithm.promises)
  }

  get synchronous(): boolean {
    return this.#limiter.store.synchronous
  }

  /** True if no other process can book. */
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
    if (this.policies.some(({ algorithm }) => algorithm instanceof Smooth)) void this.charge(keys, 0)
  }

  /** @param maxWait microseconds */
  reserve(keys: readonly string[], cost: number, maxWait: number): MaybePromise<Booking> {
    return this.#ledger.reserve(keys, cost, Math.min(longestWait, maxWait))
  }

  /**
   * Gives units back. They stay spent if the store fails or does not respond, or if the rate was set since: both err on
   * the strict side.
   * @param generation that of when they were taken
   */
  refund(
    keys: readonly string[],
    cost: number,
    tickets: Tickets | undefined,
    generation: number,
  ): MaybePromise<unknown> {
    if (generation !== this.generation) return undefined
    const request =
      tickets === undefined
        ? this.#ledger.decide('refund', keys, cost)
        : this.#ledger.decide(
            'settle',
            keys,
            tickets.map(() => -cost),
            { tickets },
          )
    return quietly(request)
  }

  charge(keys: readonly string[], cost: number): MaybePromise<Decision> {
    return this.#ledger.decide('charge', keys, cost)
  }

  /** Permits in the policy's window. */
  get rate(): number {
    const { algorithm, window, limit } = this.#tunable()
    return algorithm instanceof Smooth ? (window * 1000) / algorithm.stable : limit
  }

  /**
   * Goes on at another rate. States keep the times that were promised. In a store that processes share, a state changes
   * to the new rate when it is next written.
   * @param inUse keys whose states change now
   * @throws HeadgateError `HEADGATE_RATE`, or what the policy's constructor throws
   */
  setRate(rate: number, inUse: readonly string[]): void {
    const policy = this.#tunable()
    const next = withLimit(policy, rate)
    this.policies = this.policies.map((each) => (each === policy ? next : each))
    this.generation++
    if (this.#ledger.retune !== undefined) {
      this.#ledger.retune(this.policies)
      return
    }
    this.#ledger = this.#ledger.vary?.(this.#terms) ?? this.#open()
    for (const key of inUse) void quietly(this.charge(this.keys(key), 0))
  }

  /**
   * Takes the units that could be booked before `until`, after the rate was set. Units that were given back at the old rate
   * count for less time at a higher one, so slots may be free there. On a shared store no slot is booked at `until` either.
   * @param until microseconds
   */
  block(keys: readonly string[], until: number): void {
    if (this.exclusive) this.#fill(keys, until)
    else void quietly(this.#fillShared(keys, until))
  }

  /**
   * Takes no other units than these: twice as many each time, then half as many. The store has read its clock a little
   * before the pacer did, so units that come at the time of a slot are left, and so are those of the last millisecond.
   */
  #fill(keys: readonly string[], until: number): void {
    const { burst } = this.#tunable()
    let grows = true
    for (let cost = 1; cost >= 1; ) {
      const before = until - this.#clock() - clockTolerance
      if (before < 0) return
      const { decision } = this.reserve(keys, cost, before) as Booking
      if (!decision.allowed) {
        grows = false
        cost = Math.floor(cost / 2)
      } else if (grows) cost = Math.min(2 * cost, burst)
    }
  }

  async #fillShared(keys: readonly string[], until: number): Promise<void> {
    const { generation } = this
    const { retryAfter, remaining } = await this.#ledger.decide('peek', keys, 1)
    const missing = until - this.#clock() - retryAfter * 1000
    if (missing <= 0 || generation !== this.generation) return
    const { limit, window } = this.#tunable()
    await this.charge(keys, remaining + Math.ceil((missing * limit) / (window * 1000)) + 1)
  }

  #tunable(): Policy {
    const [policy, ...others] = this.#enforced
    if (policy !== undefined && others.length === 0) return policy
    throw new HeadgateError(
      'HEADGATE_RATE',
      `Only a pacer with one policy has a rate, and this one has ${this.#enforced.length}. Make a pacer with one policy.`,
    )
  }

  get #enforced(): readonly Policy[] {
    return this.policies.filter(({ shadow }) => !shadow)
  }
}

/** How long the caller of a booking waits, in microseconds. */
export function delayOf({ wait, delay = wait * 1000 }: Booking): number {
  return delay
}

/** Ignores an error of the store. */
function quietly(outcome: MaybePromise<unknown>): MaybePromise<unknown> {
  return isPromise(outcome) ? outcome.catch(() => undefined) : outcome
}
