/*
 * The circuit breaker of one store: after a few failures in a row nobody asks it any more, until a probe has an answer.
 *
 *             5 failures in a row              500 ms later, a call comes: one probe
 *     closed ---------------------> open <-------------------------------------------> half-open
 *        ^                                          the probe fails                        |
 *        +---------------------------------------------------------------------------------+
 *                                          the probe is answered
 *
 * A probe is a call of its own that nobody waits for: while the breaker is not closed, every call is answered at once.
 * There is no timer: it is the calls that come that send the probes.
 */
import { channel } from '#platform'
import { type Clock, monotonicClock } from '../clock.ts'
import type { Store } from '../stores/store.ts'

export type BreakerState = 'closed' | 'open' | 'half-open'

/** What the channel `headgate:store-state` tells. */
export interface StoreStateEvent {
  readonly store: Store
  readonly from: BreakerState
  readonly to: BreakerState
  /** What failed last. */
  readonly error: unknown
}

const states = channel('headgate:store-state')

const failuresToOpen = 5
/** From opening, or from the end of a probe, to the next probe, in microseconds. */
const untilProbe = 500_000

export class Breaker {
  readonly #clock: Clock
  readonly #store: Store
  #state: BreakerState = 'closed'
  #since: number
  #failures = 0
  /** What the store, or a probe of it, failed with last. */
  lastError: unknown
  #waiting: (() => void)[] = []

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#since = clock()
  }

  get state(): BreakerState {
    return this.#state
  }

  /** Whether calls may ask the store. */
  get closed(): boolean {
    return this.#state === 'closed'
  }

  /** When the state began, in microseconds. */
  get since(): number {
    return this.#since
  }

  /** In how many milliseconds it is worth asking again: when the next probe is due, at least 1. */
  get retryAfter(): number {
    const left = this.#state === 'open' ? this.#since + untilProbe - this.#clock() : untilProbe
    return Math.max(1, Math.ceil(left / 1000))
  }

  /** Whether it failed what it was asked last. */
  get doubtful(): boolean {
    return this.#failures > 0
  }

  succeeded(): void {
    if (this.#state === 'closed') this.#answers()
  }

  failed(error: unknown): void {
    this.lastError = error
    this.#failures++
    if (this.#state === 'closed' && this.#failures >= failuresToOpen) this.#become('open')
  }

  /** Whether the caller is to probe the store now, and to tell how it went: one at a time. */
  probes(): boolean {
    if (this.#state !== 'open' || this.#clock() - this.#since < untilProbe) return false
    this.#become('half-open')
    return true
  }

  probed(answered: boolean, error?: unknown): void {
    if (!answered) this.lastError = error
    this.#become(answered ? 'closed' : 'open')
    if (answered) this.#answers()
  }

  #answers(): void {
    this.#failures = 0
    if (this.#waiting.length > 0) for (const run of this.#waiting.splice(0)) run()
  }

  /** Calls back once, when the store answers the next time. */
  whenAnswering(run: () => void): void {
    this.#waiting.push(run)
  }

  #become(to: BreakerState): void {
    const from = this.#state
    this.#state = to
    this.#since = this.#clock()
    if (states.hasSubscribers) states.publish({ store: this.#store, from, to, error: this.lastError })
  }
}

const breakers = new WeakMap<Store, Breaker>()

/** The breaker of a store, one for all limiters on it. */
export function breakerOf(store: Store, clock: Clock = monotonicClock): Breaker {
  const breaker = breakers.get(store) ?? new Breaker(store, clock)
  breakers.set(store, breaker)
  return breaker
}
