import { type Duration, milliseconds } from '../duration.ts'
import { HeadgateError, shown } from '../errors.ts'
import type { KeyPacer } from './key-pacer.ts'
import type { PacerReservation } from './reservation.ts'
import { reserve } from './reserve.ts'
import { start } from './waiter.ts'

export interface AcquireOptions {
  /** Gives up: the promise rejects with the signal's reason, and the permits are not taken. */
  signal?: AbortSignal | undefined
  /** How long to wait at most. Default: as long as it takes. */
  timeout?: Duration | undefined
  /** Who has more goes first; any number. Default 0. */
  priority?: number | undefined
}

export interface ThrottleOptions extends AcquireOptions {
  /** Default 1. */
  permits?: number
}

const none: ThrottleOptions = {}

/** One queue with one pace: a pacer, or one key of it. */
export abstract class Pace {
  protected abstract lane(): KeyPacer

  /**
   * Waits for its turn; resolves with the whole milliseconds waited.
   * Rejects with HeadgateError: `HEADGATE_TIMEOUT` when the turn would not come, or did not come, within `timeout`;
   * `HEADGATE_QUEUE_FULL`; `HEADGATE_CLOSED`; `HEADGATE_COST` for more permits than can ever be had at once; or what
   * the store said. With the signal's reason if that is aborted.
   */
  acquire(permits = 1, options: AcquireOptions = none): Promise<number> {
    return this.#enter(permits, options, undefined) as Promise<number>
  }

  /**
   * Resolves true once it has its turn, and false as soon as it is known that it will not have one within `timeout`
   * (default 0), mostly at once. False as well if the queue is full. Rejects otherwise as `acquire` does.
   */
  async tryAcquire(permits = 1, options: AcquireOptions = {}): Promise<boolean> {
    try {
      await this.acquire(permits, { ...options, timeout: options.timeout ?? 0 })
      return true
    } catch (error) {
      const code = error instanceof HeadgateError ? error.code : undefined
      if (code === 'HEADGATE_TIMEOUT' || code === 'HEADGATE_QUEUE_FULL') return false
      throw error
    }
  }

  /** Runs a function once it has its turn and returns what it returns. Rejects as `acquire` does, or as the function. */
  throttle<T>(run: () => T, options: ThrottleOptions = none): Promise<Awaited<T>> {
    return this.#enter(undefined, options, run) as Promise<Awaited<T>>
  }

  /** The function, throttled at every call. */
  wrap<This, Arguments extends unknown[], Result>(
    run: (this: This, ...args: Arguments) => Result,
    options: ThrottleOptions = {},
  ): (this: This, ...args: Arguments) => Promise<Awaited<Result>> {
    const pace = this
    return function (this: This, ...args: Arguments) {
      return pace.throttle(() => run.apply(this, args), options)
    }
  }

  /**
   * Books permits for a time that the caller waits for by himself: `wait`, `at`, `cancel()`, `settle(actual)`. Refused if
   * the wait would be longer than `maxWait` (default: any), while the pacer is paused or held, and where no future time
   * can be promised and there is no turn right now.
   */
  async reserve(permits = 1, options: { maxWait?: Duration } = {}): Promise<PacerReservation> {
    const maxWait = timeoutOf(options.maxWait, 'reserve: maxWait') * 1000
    return reserve(this.lane(), permitsOf(permits), maxWait)
  }

  /** Lets nobody through for that long, whatever the policy says: somebody else's limit has been met. */
  hold(duration: Duration): void {
    const lane = this.lane()
    lane.hold(lane.now + milliseconds(duration, 'hold', 'HEADGATE_OPTION', 0) * 1000)
  }

  #enter(permits: number | undefined, options: ThrottleOptions, run: (() => unknown) | undefined): Promise<unknown> {
    try {
      const lane = this.lane()
      const { signal, priority = 0 } = options
      signal?.throwIfAborted()
      if (typeof priority !== 'number' || Number.isNaN(priority)) throw wrongPriority(priority)
      const cost = permitsOf(permits === undefined ? (options.permits ?? 1) : permits)
      const timeout = timeoutOf(options.timeout, 'timeout')
      const promise = new Promise(settleBy)
      lane.enter({ cost, priority, run, timeout, signal, resolve, reject })
      return run === undefined ? promise : promise.then(start)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

/** What settles the promise made last. One function for all promises: a closure for each would be kept while it waits. */
let resolve: (value: unknown) => void
let reject: (error: unknown) => void
function settleBy(resolveIt: (value: unknown) => void, rejectIt: (error: unknown) => void): void {
  resolve = resolveIt
  reject = rejectIt
}

function permitsOf(permits: number): number {
  if (Number.isSafeInteger(permits) && permits >= 1) return permits
  throw new HeadgateError(
    'HEADGATE_COST',
    `Permits must be a whole number from 1 to 2^53 - 1, got ${shown(permits)}. Leave it out for 1.`,
  )
}

function timeoutOf(timeout: Duration | undefined, what: string): number {
  if (timeout === undefined || timeout === Infinity) return Infinity
  return milliseconds(timeout, what, 'HEADGATE_MAX_WAIT', 0)
}

function wrongPriority(priority: unknown): HeadgateError {
  return new HeadgateError('HEADGATE_OPTION', `priority must be a number, got ${shown(priority)}. More goes first.`)
}
