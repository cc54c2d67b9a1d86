import type { Policy } from '../algorithms/index.ts'
import { callOptions, type Duration, HeadgateError, hook, invalidOption, milliseconds } from '../common/index.ts'
import type { Units } from '../limiter/index.ts'
import type { PacerContext } from './context.ts'
import { callCost } from './pacer-cost.ts'
import { needsFunction } from './pacer-errors.ts'
import { type PacerReservation, reserve } from './pacer-reservation.ts'
import { type Queue, start } from './queue/index.ts'
import { withRunTimeout } from './runs/index.ts'

/** The options of `acquire` and `tryAcquire`. */
export interface AcquireOptions {
  /**
   * An aborted signal ends the wait: the promise rejects with the signal's reason, and no units are taken. Example:
   * `AbortSignal.timeout(5000)`.
   */
  signal?: AbortSignal | undefined
  /** The longest wait, in milliseconds or as text. Default: no end. Example: `'2s'`. */
  timeout?: Duration | undefined
  /** Calls with a higher number go first. Any number. Default 0. Example: `5`. */
  priority?: number | undefined
  /**
   * Called once if the call has to wait, when the wait begins. If it throws, the call rejects with that error.
   * Example: `() => log('delayed')`.
   */
  onDelay?: (() => void) | undefined
}

/** The options of `throttle`. */
export interface ThrottleOptions extends AcquireOptions {
  /**
   * How many units a run takes: a whole number from 1, or a record by the names of the policies. Default 1.
   * Example: `{ requests: 1, tokens: 2000 }`.
   */
  cost?: Units
  /**
   * The longest run, in milliseconds or as text, from the moment at which the function starts. After that, the promise
   * rejects with `HEADGATE_RUN_TIMEOUT`, the function's signal is aborted, and the next function may run. Default: no
   * end. Example: `'10s'`.
   */
  runTimeout?: Duration | undefined
}

/** Options that limit the run. The function gets a signal. */
export interface LimitedRun extends ThrottleOptions {
  runTimeout: Duration
}

const onDelayOf = hook('() => ...')
const none: ThrottleOptions = {}
const acquireNames = ['signal', 'timeout', 'priority', 'onDelay']
const throttleNames = [...acquireNames, 'cost', 'runTimeout']

/** One queue with one pace: a pacer, or one key of a pacer. */
export abstract class Pace {
  protected abstract queue(): Queue

  /** The policies that every call waits for. */
  abstract get policies(): readonly Policy[]

  /**
   * Waits for a slot and takes units: the same number from every policy, or a number for each policy by its name.
   * Resolves with the whole milliseconds waited.
   *
   * Rejects with the signal's reason if the signal is aborted, or with a HeadgateError:
   * - `HEADGATE_TIMEOUT`: there is no slot within `timeout`. Where future times can be promised, it rejects at once.
   * - `HEADGATE_QUEUE_FULL`: `maxQueue` calls wait already, or with `order: 'oldest'` newer calls took its place.
   * - `HEADGATE_CLOSED`: the pacer is closed.
   * - `HEADGATE_COST`: `cost` is no whole number from 1 and no record of all policies, or more than the policy can ever
   *   give at once.
   * - `HEADGATE_POLICY`: a policy counts units in flight (`concurrency`). Use `throttle`.
   * - `HEADGATE_MAX_WAIT`: `timeout` is invalid, or the slot would come in more than 366 days.
   * - `HEADGATE_OPTION`: `priority` is no number, or an option is unknown.
   * - `HEADGATE_STORE_UNAVAILABLE`: the store failed, and `onStoreError` says `'closed'`.
   *
   * Example: `const waited = await pacer.acquire(3, { timeout: '2s' })`.
   */
  acquire(cost: Units = 1, options: AcquireOptions = none): Promise<number> {
    return this.#enter(cost, options, undefined) as Promise<number>
  }

  /**
   * `acquire` with a boolean result. Resolves to true when the units are taken. Resolves to false if the queue is
   * full, or as soon as it is known, mostly at once, that no slot comes within `timeout` (default 0). Rejects with all
   * other errors of `acquire`.
   *
   * Example: `if (await pacer.tryAcquire(1, { timeout: 500 })) await send()`.
   */
  async tryAcquire(cost: Units = 1, options: AcquireOptions = {}): Promise<boolean> {
    try {
      await this.acquire(cost, { ...options, timeout: options.timeout ?? 0 })
      return true
    } catch (error) {
      const code = error instanceof HeadgateError ? error.code : undefined
      if (code === 'HEADGATE_TIMEOUT' || code === 'HEADGATE_QUEUE_FULL') return false
      throw error
    }
  }

  /**
   * Waits for a slot, runs a function and resolves with its result. The function runs with the values that
   * `AsyncLocalStorage` has at this call. Rejects with the error that the function throws. Rejects as `acquire` does if
   * there is no slot; then the function has not run. Units in flight (`concurrency`) are held until the result's
   * promise settles.
   *
   * With `runTimeout`, the function gets an `AbortSignal`, which is aborted when the time is up, or when the `signal`
   * of the options is aborted. The promise rejects with `HEADGATE_RUN_TIMEOUT`, or with `HEADGATE_OPTION` for an
   * invalid time.
   *
   * Examples: `await pacer.throttle(() => fetch(url))`,
   * `await pacer.throttle((signal) => fetch(url, { signal }), { runTimeout: '10s' })`.
   */
  throttle<T>(run: (signal: AbortSignal) => T, options: LimitedRun): Promise<Awaited<T>>
  throttle<T>(run: () => T, options?: ThrottleOptions): Promise<Awaited<T>>
  throttle<T>(run: (signal: AbortSignal) => T, options: ThrottleOptions = none): Promise<Awaited<T>> {
    return this.#enter(undefined, options, run as () => T) as Promise<Awaited<T>>
  }

  /**
   * Returns a function that is throttled at every call. The returned function keeps `this` and the arguments, and
   * rejects as `throttle` does. The options may be a function of the arguments. If that function throws, the call
   * rejects with its error.
   *
   * Examples: `const get = pacer.wrap((url) => fetch(url))`,
   * `const send = pacer.wrap(post, (messages) => ({ cost: messages.length }))`.
   * @throws HeadgateError `HEADGATE_OPTION` for an unknown option
   */
  wrap<This, Arguments extends unknown[], Result>(
    run: (this: This, ...args: Arguments) => Result,
    options: ThrottleOptions | ((this: This, ...args: Arguments) => ThrottleOptions) = none,
  ): (this: This, ...args: Arguments) => Promise<Awaited<Result>> {
    const pace = this
    if (typeof options !== 'function') callOptions('wrap', options, throttleNames)
    return function (this: This, ...args: Arguments) {
      try {
        const own = typeof options === 'function' ? options.apply(this, args) : options
        return pace.throttle(() => run.apply(this, args), own)
      } catch (error) {
        return Promise.reject(error)
      }
    }
  }

  /**
   * Books units for a later time. You wait by yourself: the result says how long (`wait`) or until when (`at`).
   * Settle the result later with `settle(actual)` or `cancel()`.
   *
   * It is refused (`allowed` is false) if the wait would be longer than `maxWait` (a duration, default: no limit), and
   * while the pacer is paused or held. A policy that cannot promise a future time grants a slot now or refuses.
   *
   * Rejects with a HeadgateError: `HEADGATE_COST` for a wrong `cost`, `HEADGATE_MAX_WAIT` for an invalid `maxWait`,
   * `HEADGATE_CLOSED`, or `HEADGATE_STORE_UNAVAILABLE` if the store failed and `onStoreError` says `'closed'`.
   *
   * Example: `const { wait, allowed } = await pacer.reserve(5, { maxWait: '1m' })`.
   */
  async reserve(cost: Units = 1, options: { maxWait?: Duration } = {}): Promise<PacerReservation> {
    callOptions('reserve', options, ['maxWait'])
    const maxWait = timeoutOf(options.maxWait, 'reserve: maxWait') * 1000
    const queue = this.queue()
    return reserve(queue, callCost(cost, queue.context.units.policies), maxWait)
  }

  /**
   * Admits no call for this duration, whatever the policy says. Use it when a server names a time in `Retry-After`.
   * During a hold, a longer one extends it and a shorter one changes nothing. Booked slots are given back, and booked
   * again at later times.
   *
   * Example: `pacer.hold('30s')`.
   * @throws HeadgateError `HEADGATE_OPTION` for an invalid duration
   */
  hold(duration: Duration): void {
    const queue = this.queue()
    queue.hold(queue.now + milliseconds(duration, 'hold', 'HEADGATE_OPTION', 0) * 1000)
  }

  /**
   * Forgets the units that all processes took and booked under this key, so the pace begins anew. The waiting calls
   * of this process are booked again. Use it when a process that was killed has left many slots, or after a test.
   *
   * Rejects with HeadgateError `HEADGATE_STORE_UNAVAILABLE` if the store fails and `onStoreError` is `'closed'`.
   */
  async reset(): Promise<void> {
    const queue = this.queue()
    const { context, keys } = queue
    if (!queue.stopped) queue.stop()
    try {
      await context.units.reset(keys)
    } finally {
      if (!queue.stopped) queue.restart()
    }
  }

  #enter(asked: Units | undefined, options: ThrottleOptions, given: (() => unknown) | undefined): Promise<unknown> {
    try {
      if (options !== none) checkCall(options, asked)
      const queue = this.queue()
      const { signal, priority = 0 } = options
      signal?.throwIfAborted()
      if (typeof priority !== 'number' || Number.isNaN(priority)) throw wrongPriority(priority)
      const { context } = queue
      if (given === undefined && context.renewals !== undefined) throw needsFunction()
      const { cost: ofOptions = 1 } = options
      const cost = callCost(asked === undefined ? ofOptions : asked, context.units.policies)
      const timeout = timeoutOf(options.timeout, 'timeout')
      const onDelay = onDelayOf(options.onDelay, 'onDelay')
      const run = options.runTimeout === undefined ? given : limitedRun(given, options, context)
      const promise = new Promise(setSettlers)
      queue.enter({ cost, priority, run, timeout, signal, onDelay, resolve, reject })
      return run === undefined ? promise : promise.then(start)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

/** @param asked undefined for a call that runs a function: its options have the cost */
function checkCall(options: ThrottleOptions, asked: Units | undefined): void {
  if (asked === undefined) callOptions('throttle', options, throttleNames)
  else callOptions('acquire', options, acquireNames)
}

/** `resolve` and `reject` of the promise that was made last. All promises share one executor, which saves memory. */
let resolve: (value: unknown) => void
let reject: (error: unknown) => void
function setSettlers(resolveIt: (value: unknown) => void, rejectIt: (error: unknown) => void): void {
  resolve = resolveIt
  reject = rejectIt
}

function timeoutOf(timeout: Duration | undefined, what: string): number {
  if (timeout === undefined || timeout === Infinity) return Infinity
  return milliseconds(timeout, what, 'HEADGATE_MAX_WAIT', 0)
}

function limitedRun(
  run: (() => unknown) | undefined,
  { runTimeout, signal }: ThrottleOptions,
  context: PacerContext,
): (() => unknown) | undefined {
  if (run === undefined || runTimeout === Infinity) return run
  return withRunTimeout(run, milliseconds(runTimeout, 'runTimeout', 'HEADGATE_OPTION'), signal, context)
}

function wrongPriority(priority: unknown): HeadgateError {
  return invalidOption('priority', 'a number', priority, 'Give a higher number to a call that goes first.')
}
