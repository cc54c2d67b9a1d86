/*
 * The circuit breaker of one store. After five failures in a row no call is sent to the store, until a probe succeeds.
 *
 *             5 failures in a row               a call 500 ms later sends a probe
 *     closed ---------------------> open <-------------------------------------------> half-open
 *        ^                                          the probe fails                        |
 *        +---------------------------------------------------------------------------------+
 *                                          the probe succeeds
 *
 * A probe is a request of its own, and no caller waits for it. While the breaker is not closed, every call is decided
 * at once. There is no timer: calls send the probes.
 */
import { channel } from '#platform'
import { type Clock, monotonicClock } from '../clock.ts'
import type { Store } from '../stores/store.ts'

export type BreakerState = 'closed' | 'open' | 'half-open'

/** The event of the channel `headgate:store-state`. */
export interface StoreStateEvent {
  readonly store: Store
  readonly from: BreakerState
  readonly to: BreakerState
  /** The last failure. */
  readonly error: unknown
}

const states = channel('headgate:store-state')

const failuresToOpen = 5
/** The time from opening, or from the end of a probe, to the next probe, in microseconds. */
const probeInterval = 500_000

export class Breaker {
  readonly #clock: Clock
  readonly #store: Store
  state: BreakerState = 'closed'
  /** When the state began, in microseconds. */
  since: number
  #failures = 0
  /** The error of the last request, or probe, that failed. */
  lastError: unknown
  #listeners: (() => void)[] = []

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.since = clock()
  }

  /** True if calls may be sent to the store. */
  get closed(): boolean {
    return this.state === 'closed'
  }

  /** Milliseconds until the next probe is due, at least 1. */
  get retryAfter(): number {
    const left = this.state === 'open' ? this.since + probeInterval - this.#clock() : probeInterval
    return Math.max(1, Math.ceil(left / 1000))
  }

  /** True if the store has failed since its last response. */
  get doubtful(): boolean {
    return this.#failures > 0
  }

  succeeded(): void {
    if (this.state === 'closed' && (this.#failures > 0 || this.#listeners.length > 0)) this.#responded()
  }

  failed(error: unknown): void {
    this.lastError = error
    this.#failures++
    if (this.state === 'closed' && this.#failures >= failuresToOpen) this.#become('open')
  }

  /** True if the caller has to probe the store now and report with `endProbe`. There is one probe at a time. */
  startProbe(): boolean {
    if (this.state !== 'open' || this.#clock() - this.since < probeInterval) return false
    this.#become('half-open')
    return true
  }

  endProbe(succeeded: boolean, error?: unknown): void {
    if (!succeeded) this.lastError = error
    this.#become(succeeded ? 'closed' : 'open')
    if (succeeded) this.#responded()
  }

  #responded(): void {
    this.#failures = 0
    for (const run of this.#listeners.splice(0)) run()
  }

  /** Calls back once, at the store's next response. */
  onNextResponse(run: () => void): void {
    this.#listeners.push(run)
  }

  #become(to: BreakerState): void {
    const from = this.state
    this.state = to
    this.since = this.#clock()
    if (states.hasSubscribers) states.publish({ store: this.#store, from, to, error: this.lastError })
  }
}

const breakers = new WeakMap<Store, Breaker>()

/** The breaker of a store, shared by all limiters on it. */
export function breakerOf(store: Store, clock: Clock = monotonicClock): Breaker {
  const breaker = breakers.get(store) ?? new Breaker(store, clock)
  breakers.set(store, breaker)
  return breaker
}
