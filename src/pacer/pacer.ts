import type { Policy } from '../algorithms/algorithm.ts'
import type { PolicyLike } from '../algorithms/shorthand.ts'
import { HeadgateError, shown } from '../errors.ts'
import { positiveInteger } from '../options.ts'
import type { Store } from '../stores/store.ts'
import type { PacerContext } from './context.ts'
import { Events, oncePerTick, type Progress } from './events.ts'
import type { Renewals } from './held-units.ts'
import { type PacerConfig, type PacerOptions, type PacerSettings, readOptions } from './options.ts'
import { Pace } from './pace.ts'
import { Permits } from './permits.ts'
import { PollingQueue } from './polling-queue.ts'
import type { Queue } from './queue.ts'
import { ReservingQueue } from './reserving-queue.ts'
import { runsOf } from './run-spacing.ts'
import { Scheduler } from './scheduler.ts'

/** The key of the pacer itself in the store, and the prefix of its other keys. */
const rootKey = 'all'
const keyPrefix = 'key:'
/** How many keys are checked for each new one. */
const checksPerKey = 2

/**
 * A limiter that waits instead of refusing. Callers wait for a slot: by priority, then in the order they came.
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
  readonly #permits: Permits
  readonly #events: Events
  readonly #context: PacerContext
  readonly #queues = new Map<string, Queue>()
  readonly #root: Queue
  /** The promises of `drain` and `waitingBelow`. */
  #promises: { readonly kept: () => boolean; readonly resolve: () => void }[] = []

  /**
   * Examples: `new Pacer('10/1s')`, `new Pacer(slidingLog({ limit: 50, window: '1s' }), { maxQueue: 1000 })`,
   * `new Pacer({ policies: ['10/1s', '1000/1h'], store })`.
   * @param policy a policy, its text, or an object with `policies` and options
   * @throws HeadgateError `HEADGATE_OPTION`, `HEADGATE_CLOCK` or `HEADGATE_NAME` for an invalid option,
   * `HEADGATE_DUPLICATE_LIMITER` if the store has a limiter of that name, or what the policy's constructor throws
   */
  constructor(policy: PolicyLike | PacerConfig, options: PacerOptions = {}) {
    super()
    const settings = readOptions(policy, options)
    const { limiter, clock, sleeper, failure, onProgress, maxQueue, order, concurrency, polling } = settings
    this.name = limiter.name
    this.#permits = new Permits(limiter, failure)
    this.store = limiter.store
    this.#events = new Events(this, onProgress && oncePerTick(() => onProgress(this.progress)))
    this.#context = {
      scheduler: new Scheduler(clock, sleeper),
      permits: this.#permits,
      renewals: this.#renewals(settings),
      polling,
      runs: settings.spacing === 'actual' ? runsOf(limiter, clock) : undefined,
      events: this.#events,
      clock,
      maxQueue,
      horizon: this.#permits.synchronous ? Infinity : settings.horizon,
      order,
      concurrency,
      reservable: this.#permits.reservable,
      paused: false,
      closed: false,
      calls: 0,
      settled: (queue) => this.#settled(queue),
    }
    this.#root = queueOf(this.#context, rootKey)
    this.#queues.set(rootKey, this.#root)
    this.#permits.begin(this.#root.keys)
    if (this.#context.runs?.single) this.#context.runs.count(this.#root.keys, 0)
  }

  #renewals({ quietSleeper, clock }: PacerSettings): Renewals | undefined {
    const { lease } = this.#permits
    return lease === Infinity ? undefined : { scheduler: new Scheduler(clock, quietSleeper), clock, lease }
  }

  protected queue(): Queue {
    return this.#root
  }

  /**
   * A queue of its own under the same policies. It takes no memory once no call waits or runs and no slot is booked.
   *
   * Example: `await pacer.key('api.example.com').acquire()`.
   * @throws HeadgateError `HEADGATE_KEY` unless the key is a string
   */
  key(key: string): Pace {
    if (typeof key !== 'string') {
      throw new HeadgateError('HEADGATE_KEY', `A key must be a string, got ${shown(key)}. Write pacer.key('host').`)
    }
    return new KeyPace(this, () => this.#queue(keyPrefix + key))
  }

  #queue(key: string): Queue {
    let queue = this.#queues.get(key)
    if (queue === undefined) {
      this.#forgetIdle()
      queue = queueOf(this.#context, key)
      this.#queues.set(key, queue)
    }
    return queue
  }

  /**
   * Checks a few keys and forgets those that are idle. Most keys are forgotten when their last call ends; this finds those
   * that had a hold or a reservation then.
   */
  #forgetIdle(): void {
    let checked = 0
    for (const [key, queue] of this.#queues) {
      if (checked++ === checksPerKey) return
      this.#queues.delete(key)
      if (queue === this.#root || !queue.idle) this.#queues.set(key, queue)
    }
  }

  #settled(queue: { readonly key: string; readonly idle: boolean }): void {
    if (queue.key !== rootKey && queue.idle) this.#queues.delete(queue.key)
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

  #free(): boolean {
    for (const queue of this.#queues.values()) if (!queue.free) return false
    return true
  }

  get policies(): readonly Policy[] {
    return this.#permits.policies
  }

  /**
   * The rate: permits in the policy's window (`per`). With `'10/1s'` it is 10.
   * @throws HeadgateError `HEADGATE_RATE` for a pacer with several policies
   */
  getRate(): number {
    return this.#permits.rate
  }

  /**
   * Sets the rate, in permits in the policy's window (`per`). Slots that are booked keep their time. On a store that several
   * processes share, set it in each of them.
   *
   * Example: `pacer.setRate(20)`.
   * @throws HeadgateError `HEADGATE_RATE` for a pacer with several policies, or what the policy's constructor throws for
   * such a limit or rate
   */
  setRate(rate: number): void {
    const queues = [...this.#queues.values()]
    this.#permits.setRate(rate)
    this.#context.runs?.setPolicies(this.#permits.policies)
    this.#events.rate(rate)
    for (const queue of queues) queue.rateChanged()
  }

  /** Admits no call until `resume`. Booked slots are given back. The queues and their order stay, and timeouts run on. */
  pause(): void {
    if (this.#context.paused) return
    const going = [...this.#queues.values()].filter(({ stopped }) => !stopped)
    this.#context.paused = true
    for (const queue of going) queue.stop()
  }

  /** Ends a pause: books slots for all waiting calls, in order. */
  resume(): void {
    if (!this.#context.paused) return
    this.#context.paused = false
    for (const queue of [...this.#queues.values()]) {
      if (!queue.stopped) queue.restart()
      this.#settled(queue)
    }
  }

  /** Resolves when no call waits or runs. It never rejects. */
  drain(): Promise<void> {
    return this.#when(() => this.#free())
  }

  /**
   * Resolves when fewer than `count` calls wait, over all keys: for a producer that would be faster than the pace.
   *
   * Example: `for (const job of jobs) { await pacer.waitingBelow(100); void pacer.throttle(job) }`.
   * @throws HeadgateError `HEADGATE_OPTION` unless `count` is a whole number from 1
   */
  waitingBelow(count: number): Promise<void> {
    positiveInteger(count, 'waitingBelow', 'HEADGATE_OPTION')
    return this.#when(() => this.waiting < count)
  }

  /** Rejects all waiting and all later calls with `HEADGATE_CLOSED`. Functions that run already go on. */
  close(): void {
    this.#context.closed = true
    for (const queue of [...this.#queues.values()]) queue.close()
  }

  /** How many calls wait, over all keys. */
  get waiting(): number {
    let waiting = 0
    for (const queue of this.#queues.values()) waiting += queue.waiting
    return waiting
  }

  /** How many functions run or wait for a slot, over all keys. Those that `concurrency` keeps back do not count. */
  get running(): number {
    let running = 0
    for (const queue of this.#queues.values()) running += queue.running
    return running
  }

  /** How many keys have a call that waits or runs, or a slot that is booked. */
  get keys(): number {
    return this.#queues.size - 1
  }

  /** The counts of the pacer: since it was made, and now. */
  get progress(): Progress {
    const { admittedCalls, permits, refusedCalls, waited, longestWait } = this.#events
    const { waiting, running } = this
    return { waiting, running, admitted: admittedCalls, permits, refused: refusedCalls, waited, longestWait }
  }
}

function queueOf(context: PacerContext, key: string): Queue {
  return context.reservable ? new ReservingQueue(context, key) : new PollingQueue(context, key)
}

/** One key of a pacer. Its queue is looked up at each call: it may have been forgotten in between. */
class KeyPace extends Pace {
  protected readonly queue: () => Queue
  readonly #pacer: Pace

  constructor(pacer: Pace, queue: () => Queue) {
    super()
    this.#pacer = pacer
    this.queue = queue
  }

  get policies(): readonly Policy[] {
    return this.#pacer.policies
  }
}
