/*
 * What a pacer asks of its store, and what may be given back. How long an answer may take, and what happens when there is
 * none, is the matter of the ledger: see src/failure.
 */
import type { Policy } from '../algorithms/algorithm.ts'
import { withLimit } from '../algorithms/define-policy.ts'
import type { Tickets } from '../algorithms/evaluation.ts'
import { Smooth } from '../algorithms/smooth.ts'
import type { Clock } from '../clock.ts'
import type { Decision } from '../decision.ts'
import { longestWindow } from '../duration.ts'
import { HeadgateError } from '../errors.ts'
import { openLedger } from '../failure/failover-ledger.ts'
import type { FailoverOptions } from '../failure/shared.ts'
import type { RateLimiter } from '../limiter.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { Booking, Ledger, LedgerTerms } from '../stores/store.ts'

/** The longest wait that is booked, in microseconds. */
const longestWait = longestWindow * 1000

export class Permits {
  readonly #limiter: RateLimiter
  readonly #clock: Clock
  readonly #failure: FailoverOptions
  policies: readonly Policy[]
  #ledger: Ledger
  /** How often the rate was set: what was booked at another rate is not given back at this one. */
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

  /** Whether a time to come can be promised: by one enforced policy alone, whose algorithm can (see step.ts). */
  get promises(): boolean {
    const enforced = this.policies.filter(({ shadow }) => !shadow)
    return enforced.length === 0 || (enforced.length === 1 && (enforced[0] as Policy).algorithm.promises)
  }

  get synchronous(): boolean {
    return this.#limiter.store.synchronous
  }

  /** Whether nobody else can have booked anything. */
  get exclusive(): boolean {
    return this.#ledger.retune !== undefined
  }

  /** The keys of a call: the same for every scope. */
  keys(key: string): readonly string[] {
    return this.#limiter.scopes.map(() => key)
  }

  /** Guava's limiters begin when they are made: from now on idle time counts. Elsewhere a key begins with its first call. */
  begin(keys: readonly string[]): void {
    if (!this.synchronous) return
    if (this.policies.some(({ algorithm }) => algorithm instanceof Smooth)) void this.#ledger.decide('charge', keys, 0)
  }

  /** @param maxWait microseconds */
  reserve(keys: readonly string[], cost: number, maxWait: number): MaybePromise<Booking> {
    return this.#ledger.reserve(keys, cost, Math.min(longestWait, maxWait))
  }

  /**
   * Gives units back; a store that fails or does not answer keeps them, which errs to the strict side. So does what was
   * taken at another rate.
   * @param generation that in which they were asked for
   */
  refund(
    keys: readonly string[],
    cost: number,
    tickets: Tickets | undefined,
    generation: number,
  ): MaybePromise<unknown> {
    if (generation !== this.generation) return undefined
    return quietly(this.#ledger.decide('refund', keys, cost, tickets && { tickets }))
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
   * States go on under the new rate, with the times that were promised. In a store that processes share a state does so
   * when it is next written to.
   * @param inUse the keys that are to do so now
   * @throws HeadgateError `HEADGATE_RATE` or what the policy's constructor says
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
   * Sees to it that no turn comes before `until`, after the rate was raised: what part of a reservation was given back
   * at the old rate counts for less time at the new one. Where others book as well, none at that time either.
   */
  cover(keys: readonly string[], until: number): void {
    const { generation } = this
    const seen = this.#ledger.decide('peek', keys, 1)
    const fill = ({ retryAfter, remaining }: Decision): MaybePromise<unknown> => {
      const short = until - this.#clock() - retryAfter * 1000
      if (short <= 0 || generation !== this.generation) return undefined
      const { limit, window } = this.#tunable()
      const last = this.exclusive ? 0 : 1
      return this.charge(keys, remaining + Math.ceil((short * limit) / (window * 1000)) + last)
    }
    if (seen instanceof Promise) void quietly(seen.then(fill))
    else void fill(seen)
  }

  #tunable(): Policy {
    const enforced = this.policies.filter(({ shadow }) => !shadow)
    if (enforced.length === 1) return enforced[0] as Policy
    throw new HeadgateError(
      'HEADGATE_RATE',
      `A rate is that of one policy, and this pacer has ${enforced.length}. Make a pacer with one policy.`,
    )
  }
}

function quietly(answer: MaybePromise<unknown>): MaybePromise<unknown> {
  return answer instanceof Promise ? answer.catch(() => undefined) : answer
}
