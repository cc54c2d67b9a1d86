/*
 * The circuit breaker of one store, or of one shard of a store. After five failed requests in a row, no call is sent to the store until
 * a probe (a test request) succeeds. A call on keys of several shards is sent if the breakers of all these shards are closed.
 *
 *             5 failures in a row               a call 500 ms later sends a probe
 *     closed ---------------------> open <-------------------------------------------> half-open
 *        ^                                          the probe fails                        |
 *        +---------------------------------------------------------------------------------+
 *                                          the probe succeeds
 *
 * Requests that wait for an answer at the same time often fail for the same reason, such as one broken connection. So such failures
 * count once: a failure counts only if its request was sent after the last failure that counted.
 *
 * A probe is a separate request, and no caller waits for it. While the breaker is not closed, every call is decided without the store.
 * There is no timer: calls start the probes.
 */
import { channel, emitWarning, isolatesRequests } from '#platform'
import { type Clock, getOrInsert, monotonicClock, reason } from '../common/index.ts'
import type { BreakerState, BreakerTerms, OnStoreError, Store, StoreErrorAction } from '../stores/contract/index.ts'

/** The event that the channel `headgate:store-state` gets when a circuit breaker changes its state. */
export interface StoreStateEvent {
  readonly store: Store
  /** The name of the limiter whose request changed the state. All limiters on the store share the breaker. */
  readonly limiter: string
  /** The prefix of the store's keys; undefined if the store has no prefix. */
  readonly prefix: string | undefined
  /** The shard, such as a node of Redis Cluster; undefined if the store has no shards. */
  readonly shard: string | undefined
  readonly from: BreakerState
  readonly to: BreakerState
  /** The error of the last request that failed. */
  readonly error: unknown
}

const states = channel('headgate:store-state')

/** The settings of the breaker for a store whose `traits` do not set them. Durations are in milliseconds. */
const defaultTerms: BreakerTerms = { failures: 5, openFor: 500, probeEvery: 500 }

/** After a warning that a breaker has opened, new openings of this breaker give no warning for this time, in microseconds. */
const quietTime = 60_000_000

const code = 'HEADGATE_STORE_STATE'

const actions: Readonly<Record<StoreErrorAction, string>> = {
  local: 'decided in this process',
  open: 'let through uncounted',
  closed: 'refused',
  throw: "rejected with the store's error",
}

export class Breaker {
  readonly #clock: Clock
  readonly store: Store
  readonly shard: string | undefined
  /** True if only calls on which no caller waits use this breaker. Nobody is then told about the state of the breaker. */
  readonly apart: boolean
  readonly #terms: BreakerTerms
  state: BreakerState = 'closed'
  /** When the present state of the breaker began, in microseconds. */
  since: number
  /** When the breaker opened, in microseconds; undefined while the breaker is closed. */
  openedAt: number | undefined
  /** How long the breaker stays `'open'` before the next probe (test request) may start, in microseconds. */
  #pause = 0
  #failures = 0
  /**
   * How many failures the breakers of all stores have counted. Each request notes this number when it is sent, so that `failed`
   * can count requests that fail together only once.
   */
  static counted = 0
  /** The value of `Breaker.counted` after the last failure that this breaker counted. */
  #countedAt = 0
  /** The error of the last request or probe (test request) that failed. */
  lastError: unknown
  readonly #listeners = new Set<() => void>()
  /** When the breaker opened, for the last opening that `warnIfOpened` has handled, with or without a warning. In microseconds. */
  #seen: number | undefined
  /** When the breaker opened, for the last opening with a warning. In microseconds. */
  #toldAt = -Infinity
  /** True if a warning has told of the present opening, so that a warning also tells when the breaker closes. */
  #told = false

  constructor(store: Store, clock: Clock, shard?: string, apart = false) {
    this.store = store
    this.#clock = clock
    this.shard = shard
    this.apart = apart
    this.#terms = { ...defaultTerms, ...store.traits?.breaker }
    this.since = clock()
  }

  /** True if calls may be sent to the store. */
  get closed(): boolean {
    return this.state === 'closed'
  }

  /** Milliseconds until the next probe (test request) can start, at least 1. If the breaker is not open, the time between two probes. */
  get retryAfter(): number {
    const left = this.state === 'open' ? this.since + this.#pause - this.#clock() : this.#terms.probeEvery * 1000
    return Math.max(1, Math.ceil(left / 1000))
  }

  /** True if a request to the store has failed, and no request has succeeded since. */
  get doubtful(): boolean {
    return this.#failures > 0
  }

  succeeded(): void {
    if (this.state === 'closed' && (this.#failures > 0 || this.#listeners.size > 0)) this.#responded()
  }

  /**
   * Counts a failed request. Failures of requests that were waiting at the same time count once.
   * @param sentAt the value of `Breaker.counted` when the request was sent
   */
  failed(error: unknown, limiter = '', sentAt: number = Breaker.counted): void {
    this.lastError = error
    if (sentAt < this.#countedAt) return
    this.#countedAt = ++Breaker.counted
    this.#failures++
    if (this.state !== 'closed' || this.#failures < this.#terms.failures) return
    this.openedAt = this.#clock()
    this.#pause = this.#terms.openFor * 1000
    this.#become('open', limiter)
  }

  /**
   * True if the caller must now send a probe (a test request), and report its result by `endProbe`. Only one probe is sent at a time. A
   * runtime that stops all work for an HTTP request when its client disconnects may send more probes, because a probe may end there without
   * a result.
   */
  startProbe(limiter = ''): boolean {
    const due = this.state === 'open' || (this.state === 'half-open' && isolatesRequests)
    if (!due || this.#clock() - this.since < this.#pause) return false
    this.#become('half-open', limiter)
    return true
  }

  endProbe(succeeded: boolean, error?: unknown, limiter = ''): void {
    if (!succeeded) this.lastError = error
    this.#pause = this.#terms.probeEvery * 1000
    this.#become(succeeded ? 'closed' : 'open', limiter)
    if (!succeeded) return
    if (this.#told && this.openedAt !== undefined) {
      const seconds = ((this.#clock() - this.openedAt) / 1_000_000).toFixed(1)
      emitWarning(`${this.#name(limiter)} answers again, after ${seconds} s.`, code)
    }
    this.#told = false
    this.openedAt = undefined
    this.#responded()
  }

  #responded(): void {
    this.#failures = 0
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const run of listeners) run()
  }

  /** Calls `run` once, when the next request or probe to the store succeeds. Does nothing if `run` is already waiting for this. */
  onNextResponse(run: () => void): void {
    this.#listeners.add(run)
  }

  /** Warns that the breaker has opened and how calls are decided, at most once a minute. Warns again when this breaker has closed. */
  warnIfOpened(limiter: string, option: OnStoreError | undefined, taken: StoreErrorAction): void {
    const { openedAt } = this
    if (this.apart || openedAt === undefined || this.#seen === openedAt) return
    this.#seen = openedAt
    if (openedAt - this.#toldAt < quietTime) return
    this.#toldAt = openedAt
    this.#told = true
    const by = typeof option === 'function' ? 'by the function onStoreError' : `onStoreError: '${taken}'`
    const calls = `Until it answers, calls are ${actions[taken]} (${by}).`
    emitWarning(`${this.#name(limiter)} fails. ${calls} ${reason(this.lastError)}`, code)
  }

  #name(limiter: string): string {
    const { store, shard } = this
    const parts = [`limiter ${JSON.stringify(limiter)}`]
    if (store.traits?.prefix !== undefined) parts.push(`prefix ${JSON.stringify(store.traits.prefix)}`)
    if (shard !== undefined) parts.push(`shard ${shard}`)
    return `The store of ${parts.join(', ')}`
  }

  #become(to: BreakerState, limiter: string): void {
    const from = this.state
    this.state = to
    this.since = this.#clock()
    if (this.apart || !states.hasSubscribers) return
    const { store, shard, lastError: error } = this
    states.publish({ store, limiter, prefix: store.traits?.prefix, shard, from, to, error } satisfies StoreStateEvent)
  }
}

const breakers = new WeakMap<Store, Map<string | undefined, Breaker>>()

/**
 * The breakers of a store, by shard. The shard is undefined if the store has no shards. The map is empty for a store that no limiter has
 * used.
 */
export function breakersOf(store: Store): ReadonlyMap<string | undefined, Breaker> {
  return breakers.get(store) ?? new Map()
}

/** The breaker of a store, or of one of its shards. All limiters on the store share this breaker. */
export function breakerOf(store: Store, clock: Clock = monotonicClock, shard?: string): Breaker {
  const ofStore = getOrInsert(breakers, store, () => new Map<string | undefined, Breaker>())
  return getOrInsert(ofStore, shard, () => new Breaker(store, clock, shard))
}
