import type { Policy } from '../algorithms/index.ts'
import { type Clock, callHook, HeadgateError, shown, whole } from '../common/index.ts'
import type { PolicyLikes } from '../limiter/index.ts'
import type { Store } from '../stores/contract/index.ts'
import { KeyMap } from './key-map.ts'
import type { PacerContext } from './pacer-context.ts'
import { oncePerTick, PacerEvents, type Progress } from './pacer-events.ts'
import { PacerLedger } from './pacer-ledger.ts'
import { Pace } from './pacer-methods.ts'
import { type PacerConfig, type PacerOptions, readPacerOptions } from './pacer-options.ts'
import { PollingQueue, type Queue, ReservingQueue } from './queue/index.ts'
import { runsOf, shareOfRuns } from './run-spacing.ts'
import { Scheduler } from './timers/index.ts'

/** The key in the store of calls without a key. The other keys of the pacer begin with this text. */
const rootKey = 'all'
const keyPrefix = 'key:'

/**
 * A limiter that waits instead of refusing. Calls get slots (start times) by priority, then in the order in which they came.
 *
 * ```js
 * const pacer = new Pacer(smoothBursty({ rate: 50 }), { concurrency: 10 })
 * await pacer.acquire()
 * const response = await pacer.throttle(() => fetch(url))
 * ```
 */
export class Pacer extends Pace {
  readonly name: string
  readonly store: Store
  readonly #context: PacerContext
  readonly #root: Queue
  /** The queue of each key. The queue of calls without a key is not in this map. */
  readonly #byKey = new KeyMap<Queue>()
  /**
   * The promises of `drain` and `waitingBelow` that are not resolved yet. `kept` returns true as soon as the promise can be
   * resolved.
   */
  #promises: { readonly kept: () => boolean; readonly resolve: () => void }[] = []

  /**
   * Examples: `new Pacer('10/1s')`, `new Pacer(slidingLog({ limit: 50, window: '1s' }), { maxQueue: 1000 })`,
   * `new Pacer({ policies: ['10/1s', '1000/1h'], store })`.
   * @param policy a policy, its text, a list of policies, or an object with `policies` and options
   * @throws HeadgateError `HEADGATE_OPTION`, `HEADGATE_CLOCK` or `HEADGATE_NAME` for an invalid option,
   * `HEADGATE_DUPLICATE_LIMITER` if the store has another limiter with this name, or the error of the policy
   */
  constructor(policy: PolicyLikes | PacerConfig, options: PacerOptions = {}) {
    super()
    const settings = readPacerOptions(policy, options)
    const { limiter, clock, sleeper, quietSleeper, failure, spacing, onProgress } = settings
    const { polling, maxQueue, horizon, order, concurrency } = settings
    const units = new PacerLedger(limiter, failure)
    const runs = spacing === 'actual' ? runsOf(limiter, clock) : undefined
    this.name = limiter.name
    this.store = limiter.store
    // Copy each field of the settings: an object that is made by spreading the settings is slow to read, and doubled the time
    // of a call.
    this.#context = {
      clock,
      polling,
      maxQueue,
      horizon,
      order,
      concurrency,
      scheduler: new Scheduler(clock, sleeper),
      units,
      renewals: units.lease === Infinity ? undefined : new Scheduler(clock, quietSleeper),
      runs,
      share: units.reservable ? shareOfRuns(limiter, clock, failure, runs) : undefined,
      events: new PacerEvents(
        this,
        onProgress && oncePerTick(() => callHook('onProgress', onProgress, this.progress, 'calls')),
      ),
      reservable: units.reservable,
      paused: false,
      closed: false,
      calls: 0,
      settled: (queue) => this.#settled(queue),
    }
    this.#root = this.#create(rootKey)
    units.begin(this.#root.keys)
    for (const each of [runs, this.#context.share]) if (each?.single) each.count(this.#root.keys, 0)
  }

  #create(key: string): Queue {
    return this.#context.reservable ? new ReservingQueue(this.#context, key) : new PollingQueue(this.#context, key)
  }

  protected queue(): Queue {
    return this.#root
  }

  /** @internal */
  get place(): { pacer: Pace; key: undefined; clock: Clock } {
    return { pacer: this, key: undefined, clock: this.#context.clock }
  }

  /**
   * Returns a separate queue for a key, under the same policies. When no call waits or runs and no slot (start time) is booked, the queue
   * is removed from memory. Example: `await pacer.key('api.example.com').acquire()`.
   * @throws HeadgateError `HEADGATE_KEY` unless the key is a string
   */
  key(key: string): Pace {
    if (typeof key !== 'string') {
      throw new HeadgateError('HEADGATE_KEY', `A key must be a string, got ${shown(key)}. Write pacer.key('host').`)
    }
    const name = keyPrefix + key
    return new KeyPace(this, name, () => this.#byKey.of(name, (own) => this.#create(own as string)))
  }

  get #queues(): readonly Queue[] {
    return [this.#root, ...this.#byKey.values()]
  }

  /**
   * Removes the queue of a key when the last call of the key has ended. A queue with a booked slot (start time), or one that `hold` has
   * stopped, is removed later.
   */
  #settled(queue: { readonly key: string; readonly idle: boolean }): void {
    if (queue !== this.#root && queue.idle) this.#byKey.delete(queue.key)
    if (this.#promises.length > 0) this.#keepPromises()
  }

  #keepPromises(): void {
    const kept = this.#promises.filter((promise) => promise.kept())
    if (kept.length === 0) return
    this.#promises = this.#promises.filter((promise) => !kept.includes(promise))
    for (const { resolve } of kept) resolve()
  }

  #when(kept: () => boolean): Promise<void> {
    if (kept()) return Promise.resolve()
    return new Promise((resolve) => this.#promises.push({ kept, resolve }))
  }

  get policies(): readonly Policy[] {
    return this.#context.units.policies
  }

  /**
   * The rate: how many units the policy admits in its window (`per`). With `'10/1s'` the rate is 10.
   * @throws HeadgateError `HEADGATE_RATE` for a pacer with several policies
   */
  getRate(): number {
    return this.#context.units.rate
  }

  /**
   * Sets the rate: how many units the policy admits in its window (`per`). The start times that were promised to calls do not change. If
   * several processes share a store, set the rate in each process.
   *
   * Example: `pacer.setRate(20)`.
   * @throws HeadgateError `HEADGATE_RATE` for a pacer with several policies, or the policy's error for an invalid rate
   */
  setRate(rate: number): void {
    this.#context.units.setRate(rate)
    const { runs, share, units } = this.#context
    for (const each of new Set([runs, share])) each?.setPolicies(units.policies)
    this.#context.events.rate(rate)
    for (const queue of this.#queues) queue.rateChanged()
  }

  /** Admits no call until `resume`. Booked slots (start times) are given back. Waiting calls keep their order and their timeouts. */
  pause(): void {
    if (this.#context.paused) return
    const going = this.#queues.filter(({ stopped }) => !stopped)
    this.#context.paused = true
    for (const queue of going) queue.stop()
  }

  /** Ends a pause: books slots (start times) for all waiting calls, one queue after another. */
  resume(): void {
    if (!this.#context.paused) return
    this.#context.paused = false
    for (const queue of this.#queues) {
      if (!queue.stopped) queue.restart()
      this.#settled(queue)
    }
  }

  /** Returns a promise that resolves when no call waits or runs. The promise never rejects. */
  drain(): Promise<void> {
    return this.#when(() => this.#queues.every(({ free }) => free))
  }

  /**
   * Returns a promise that resolves when fewer than `count` calls wait, or wait for an answer of the store, over all keys. Use `waitingBelow` in code that creates
   * calls faster than the pacer admits calls. Example: `for (const job of jobs) { await pacer.waitingBelow(100); void
   * pacer.throttle(job) }`.
   * @throws HeadgateError `HEADGATE_OPTION` unless `count` is a whole number from 1
   */
  waitingBelow(count: number): Promise<void> {
    whole()(count, 'waitingBelow')
    return this.#when(() => this.#queues.reduce((sum, { calls }) => sum + calls.pending, 0) < count)
  }

  /** Rejects all waiting and later calls with `HEADGATE_CLOSED`. Functions that already run are not stopped. */
  close(): void {
    this.#context.closed = true
    for (const queue of this.#queues) {
      queue.stop()
      queue.close()
      queue.settled()
    }
  }

  /** How many calls wait, over all keys. */
  get waiting(): number {
    return this.#queues.reduce((sum, { waiting }) => sum + waiting, 0)
  }

  /** How many functions run, over all keys. Functions that wait count in `waiting`. */
  get running(): number {
    return this.#context.events.running
  }

  /** How many keys have a call that waits or runs, or a booked slot (start time). */
  get keys(): number {
    return this.#byKey.size
  }

  /** The counts of the pacer: totals since the pacer was made, and the calls that wait or run now. */
  get progress(): Progress {
    const { admittedCalls, cost, refusedCalls, waited, longestWait } = this.#context.events
    const { waiting, running } = this
    return { waiting, running, admitted: admittedCalls, cost, refused: refusedCalls, waited, longestWait }
  }
}

/** One key of a pacer. The queue of the key is looked up at each call, because idle queues are removed from the pacer. */
class KeyPace extends Pace {
  protected readonly queue: () => Queue
  /** @internal */
  readonly place: { readonly pacer: Pace; readonly key: string; readonly clock: Clock }

  constructor(pacer: Pace, key: string, queue: () => Queue) {
    super()
    this.place = { ...pacer.place, key }
    this.queue = queue
  }

  get policies(): readonly Policy[] {
    return this.place.pacer.policies
  }
}
