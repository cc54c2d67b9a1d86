import type { Policy } from '../algorithms/index.ts'
import {
  abortSignal,
  atOnce,
  type Clock,
  callOptions,
  type Duration,
  flag,
  HeadgateError,
  hook,
  invalidOption,
  milliseconds,
  readOptions,
  warnOfSeconds,
} from '../common/index.ts'
import type { Units } from '../limiter/index.ts'
import type { PacerContext } from './pacer-context.ts'
import { callCost } from './pacer-cost.ts'
import { needsFunction, notFunction } from './pacer-errors.ts'
import { type PacerReservation, reserve } from './pacer-reservation.ts'
import { holdAll, type Queue, start } from './queue/index.ts'
import { withRunTimeout } from './runs/index.ts'

/** The options of `acquire` and `tryAcquire`. */
export interface AcquireOptions {
  /**
   * An aborted signal ends the wait: the promise rejects with the signal's reason, and no units are taken. Example:
   * `AbortSignal.timeout(5000)`.
   */
  signal?: AbortSignal | undefined
  /** How long the call may wait, in milliseconds or as text. Default: the wait has no limit. Example: `'2s'`. */
  timeout?: Duration | undefined
  /** Calls with a higher priority are admitted first. Any number. Default 0. Example: `5`. */
  priority?: number | undefined
  /**
   * Called once when the call begins to wait, and not called if the call need not wait. If the function throws, the
   * call rejects with that error. Example: `() => log('delayed')`.
   */
  onDelay?: (() => void) | undefined
}

/** The options of `throttle`. */
export interface ThrottleOptions extends AcquireOptions {
  /**
   * How many units a run takes: a whole number from 1, or a record with a number for each policy name. Default 1. Example: `{
   * requests: 1, tokens: 2000 }`.
   */
  cost?: Units | undefined
  /**
   * How long the function may run, in milliseconds or as text, from the moment at which the function starts. After this time, the
   * promise rejects with `HEADGATE_RUN_TIMEOUT`, the function's signal is aborted, and the next function may run. Default: no
   * limit. Example: `'10s'`.
   */
  runTimeout?: Duration | undefined
}

/** The options of `hold`. */
export interface HoldOptions {
  /** False if the hold applies only in this process. Default true: it applies in every process that shares the store. */
  shared?: boolean | undefined
}

/** Options of `throttle` with a `runTimeout`. The function that `throttle` runs then gets an `AbortSignal`. */
export interface LimitedRun extends ThrottleOptions {
  runTimeout: Duration
}

const onDelayOf = hook('() => ...')
const none: ThrottleOptions = {}
const holdReaders = { shared: flag(true) }
const acquireNames = ['signal', 'timeout', 'priority', 'onDelay']
const throttleNames = [...acquireNames, 'cost', 'runTimeout']

/** A queue of calls under the same policies: the queue of calls without a key, or the queue of one key of a pacer. */
export abstract class Pace {
  protected abstract queue(): Queue

  /** @internal The pacer of this queue, the key of the queue, and the clock of the pacer. */
  abstract get place(): { readonly pacer: Pace; readonly key: string | undefined; readonly clock: Clock }

  /** The policies that admit the calls of this queue. */
  abstract get policies(): readonly Policy[]

  /**
   * Waits for a slot (a time at which the call may start), then takes units: the same number from every policy, or with a record a
   * number for each policy. Resolves with the time that the call waited, in whole milliseconds.
   *
   * Rejects with the signal's reason if the signal is aborted, or with a HeadgateError:
   * - `HEADGATE_TIMEOUT`: no slot comes within `timeout`. In most cases, `acquire` knows the time of the slot and rejects at once.
   * - `HEADGATE_QUEUE_FULL`: `maxQueue` calls wait already, or with `order: 'oldest'` too many newer calls came.
   * - `HEADGATE_CLOSED`: the pacer is closed.
   * - `HEADGATE_COST`: `cost` is no whole number from 1 and no record of all policies, or `cost` is more than a policy can ever
   *   admit in one call.
   * - `HEADGATE_POLICY`: a policy counts units in flight (`concurrency`). Use `throttle`.
   * - `HEADGATE_MAX_WAIT`: `timeout` is invalid, or the slot would come in more than 366 days.
   * - `HEADGATE_OPTION`: `priority` is no number, `signal` is no AbortSignal, or an option is unknown.
   * - `HEADGATE_STORE_UNAVAILABLE`: the store failed, and `onStoreError` says `'closed'`.
   *
   * Example: `const waited = await pacer.acquire(3, { timeout: '2s' })`.
   */
  acquire(cost: Units = 1, options: AcquireOptions = none): Promise<number> {
    return this.#enter(cost, options, undefined) as Promise<number>
  }

  /**
   * Does what `acquire` does, with a boolean as result. Resolves to true when the units are taken. Resolves to false if the queue is full,
   * or if no slot (start time) comes within `timeout` (default 0 ms). In most cases, `tryAcquire` knows the time of the slot and resolves
   * at once. Rejects with all other errors of `acquire`. Example: `if (await pacer.tryAcquire(1, { timeout: 500 })) await send()`.
   */
  async tryAcquire(cost: Units = 1, options: AcquireOptions = {}): Promise<boolean> {
    try {
      // `acquire` rejects options that are no object.
      const given = Object(options) === options ? { ...options, timeout: options.timeout ?? 0 } : options
      await this.acquire(cost, given)
      return true
    } catch (error) {
      const code = error instanceof HeadgateError ? error.code : undefined
      if (code === 'HEADGATE_TIMEOUT' || code === 'HEADGATE_QUEUE_FULL') return false
      throw error
    }
  }

  /**
   * Waits for a slot (a time at which the call may start), runs a function and resolves with its result. Inside the function,
   * `AsyncLocalStorage` has the values that it has where `throttle` is called. Rejects with the error that the function throws. If no slot
   * comes, `throttle` rejects as `acquire` does, and the function is not called. A promise in place of the function rejects with
   * `HEADGATE_OPTION`, because its work has begun already. Units in flight (`concurrency`) stay in use until the
   * promise of the result settles.
   *
   * With `runTimeout`, the function gets an `AbortSignal`. The `AbortSignal` is aborted when the function has run for
   * `runTimeout`, or when the `signal` of the options is aborted. After `runTimeout`, the promise rejects with
   * `HEADGATE_RUN_TIMEOUT`. An invalid `runTimeout` rejects with `HEADGATE_OPTION`.
   *
   * Examples: `await pacer.throttle(() => fetch(url))`,
   * `await pacer.throttle((signal) => fetch(url, { signal }), { runTimeout: '10s' })`.
   */
  throttle<T>(run: (signal: AbortSignal) => T, options: LimitedRun): Promise<Awaited<T>>
  throttle<T>(run: () => T, options?: ThrottleOptions): Promise<Awaited<T>>
  throttle<T>(run: (signal: AbortSignal) => T, options: ThrottleOptions = none): Promise<Awaited<T>> {
    if (typeof run !== 'function') return Promise.reject(notFunction('throttle', run))
    return this.#enter(undefined, options, run as () => T) as Promise<Awaited<T>>
  }

  /**
   * Returns a function that calls `run` through `throttle`. `run` gets the `this` and the arguments of the returned function, which
   * rejects as `throttle` does. The options may be a function of the arguments. If this function throws, the call rejects with the error.
   *
   * Examples: `const get = pacer.wrap((url) => fetch(url))`, `const send = pacer.wrap(post, (messages) => ({ cost: messages.length
   * }))`.
   * @throws HeadgateError `HEADGATE_OPTION` for an unknown option, or if `run` is no function
   */
  wrap<This, Arguments extends unknown[], Result>(
    run: (this: This, ...args: Arguments) => Result,
    options: ThrottleOptions | ((this: This, ...args: Arguments) => ThrottleOptions) = none,
  ): (this: This, ...args: Arguments) => Promise<Awaited<Result>> {
    const pace = this
    if (typeof run !== 'function') throw notFunction('wrap', run)
    if (typeof options !== 'function') callOptions('wrap', options, throttleNames)
    return function (this: This, ...args: Arguments) {
      try {
        const own = typeof options === 'function' ? atOnce(options.apply(this, args), 'wrap: options') : options
        return pace.throttle(() => run.apply(this, args), own)
      } catch (error) {
        return Promise.reject(error)
      }
    }
  }

  /**
   * Books units for a later time. The caller itself has to wait, for `wait` milliseconds or until `at`. Later, correct the cost with
   * `settle(actual)`, or give the units back with `cancel()`.
   *
   * The reservation is refused (`allowed` is false) if the wait would be longer than `maxWait` (a duration; default: no limit). The
   * reservation is also refused while the pacer is paused or stopped by `hold`. If a policy cannot promise a future time, only
   * units that are available now are reserved: the reservation is refused if it would have to wait, or if other calls wait.
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
   * Admits no call for this duration, whatever the policies say. Use `hold` when a server names a time in `Retry-After`. If a hold is in
   * progress, a second hold that ends later extends the first hold, and a second hold that ends earlier changes nothing. Booked slots
   * (start times of calls) are given back, and later times are booked for the waiting calls.
   *
   * The hold applies in every process that shares the store, under the same key: one round trip after `hold`, no process starts a call.
   * If the store fails, the hold applies in this process only.
   *
   * Examples: `pacer.hold('30s')`, `pacer.key(host).hold('30s')`, `pacer.hold('30s', { shared: false })`.
   * @throws HeadgateError `HEADGATE_OPTION` for an invalid duration or option
   */
  hold(duration: Duration, options: HoldOptions = {}): void {
    const { shared } = readOptions('hold', options, holdReaders)
    const time = milliseconds(duration, 'hold', 'HEADGATE_OPTION', 0) * 1000
    warnOfSeconds(duration, 'hold', 100)
    const queue = this.queue()
    if (shared) holdAll(queue, queue.now + time)
    else queue.hold(queue.now + time)
  }

  /**
   * Removes all units that any process has taken or booked under this key. The key then has its full quota, and new slots (start times)
   * are booked for the waiting calls of this process. Use `reset` when a process that was killed has left many booked slots, or after a
   * test. Rejects with HeadgateError `HEADGATE_STORE_UNAVAILABLE` if the store fails and `onStoreError` is `'closed'`.
   */
  async reset(): Promise<void> {
    const queue = this.queue()
    if (!queue.stopped) queue.stop()
    try {
      await queue.context.units.reset(queue.keys)
      queue.spacing?.reset()
    } finally {
      if (!queue.stopped) queue.restart()
    }
  }

  #enter(asked: Units | undefined, options: ThrottleOptions, given: (() => unknown) | undefined): Promise<unknown> {
    try {
      if (options !== none) checkCall(options, asked)
      const queue = this.queue()
      const { priority = 0 } = options
      const signal = abortSignal(options.signal, 'signal')
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

/** @param asked the cost of `acquire`; undefined for `throttle`, which has the cost in its options */
function checkCall(options: ThrottleOptions, asked: Units | undefined): void {
  if (asked === undefined) callOptions('throttle', options, throttleNames)
  else callOptions('acquire', options, acquireNames)
}

/** The functions of the promise that was made last: `resolve`, then `reject`. All promises share one executor function, to save memory. */
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
