import type { Policy } from '../algorithms/algorithm.ts'
import { type PolicyLike, toPolicy } from '../algorithms/shorthand.ts'
import { type Clock, checkClock, monotonicClock } from '../clock.ts'
import type { Duration } from '../duration.ts'
import { HeadgateError, shown } from '../errors.ts'
import {
  type FailoverOptions,
  failureOptions,
  type OnStoreError,
  readFailureOptions,
} from '../failure/on-store-error.ts'
import { RateLimiter } from '../limiter.ts'
import { knownOptions, positiveInteger } from '../options.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { Store } from '../stores/store.ts'
import type { Progress } from './events.ts'
import { type Sleeper, timerSleeper } from './sleeper.ts'

export interface PacerOptions {
  /** Where turns are booked. Default: a memory store of its own. With `redisStore` several processes keep one pace. */
  store?: Store
  /** The namespace in the store, and who it is in events. Default `'pacer'`. */
  name?: string
  /** How many may wait, for each key. Default Infinity. */
  maxQueue?: number
  /** Who is refused when there are too many: `'newest'`, who comes (default), or `'oldest'`, who waits the longest. */
  order?: 'oldest' | 'newest'
  /** How many functions of `throttle` and `wrap` may run at once, for each key. Default Infinity. */
  concurrency?: number
  /** Whether the process may end while callers wait. Default false. */
  unref?: boolean
  /** How long an answer of the store may take. Default `'5s'`. */
  storeTimeout?: Duration
  /**
   * What happens to calls that the store cannot decide: `'deny'` rejects them with `HEADGATE_STORE_UNAVAILABLE`, `'allow'`
   * gives them their turn at once, `'local'` paces them in this process. Or a function that is told and may say.
   * Default `'local'`.
   */
  onStoreError?: OnStoreError
  /** How many processes share the pace: each keeps that part of it while the store fails. Default 1. */
  instances?: number
  /** Called after something changed, once for all that changed in one turn of the event loop. */
  onProgress?: (progress: Progress) => void
  /** Whole microseconds since the epoch: for tests. Default: a monotonic clock. */
  clock?: Clock
  /** What sleeps: for tests. Default: `setTimeout`. */
  sleeper?: Sleeper
}

/** What a pacer takes in one object. */
export interface PacerTerms extends PacerOptions {
  policies: PolicyLike | readonly PolicyLike[]
}

const known = [
  'store',
  'name',
  'maxQueue',
  'order',
  'concurrency',
  'unref',
  ...failureOptions,
  'onProgress',
  'clock',
  'sleeper',
] as const satisfies (keyof PacerOptions)[]

export interface PacerParts {
  readonly limiter: RateLimiter
  readonly clock: Clock
  readonly sleeper: Sleeper
  readonly maxQueue: number
  readonly order: 'oldest' | 'newest'
  readonly concurrency: number
  readonly failure: FailoverOptions
  readonly onProgress: ((progress: Progress) => void) | undefined
}

/** Sorts out what a user wrote. @throws HeadgateError for what is out of range */
export function readOptions(what: PolicyLike | PacerTerms, more: PacerOptions): PacerParts {
  const { policies, options } = sorted(what, more)
  knownOptions('Pacer', options, known)
  const { order = 'newest', onProgress, unref = false, name = 'pacer' } = options
  if (order !== 'newest' && order !== 'oldest') throw wrong('order', order, "Give 'newest' or 'oldest'.")
  if (typeof unref !== 'boolean') throw wrong('unref', unref, 'Give true or false.')
  if (options.sleeper !== undefined && typeof options.sleeper !== 'function') {
    throw wrong('sleeper', options.sleeper, 'Give (milliseconds, wake) => callOff, or leave it out.')
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw wrong('onProgress', onProgress, 'Give a function.')
  }
  const clock = options.clock === undefined ? monotonicClock : checkClock(options.clock)
  const store = options.store ?? memoryStore({ clock })
  const sleeper = options.sleeper ?? timerSleeper(unref)
  const failure = readFailureOptions({ ...options, storeTimeout: options.storeTimeout ?? '5s' }, 'Pacer')
  return {
    limiter: new RateLimiter({ policies, store, name }),
    clock,
    sleeper,
    maxQueue: count(options.maxQueue, 'maxQueue', 0),
    order,
    concurrency: count(options.concurrency, 'concurrency', 1),
    failure: { ...failure, clock, sleeper },
    onProgress,
  }
}

function sorted(
  what: PolicyLike | PacerTerms,
  more: PacerOptions,
): { policies: PolicyLike | readonly PolicyLike[]; options: PacerOptions } {
  if (typeof what === 'object' && what !== null && 'policies' in what) {
    const { policies, ...options } = what
    return { policies, options: { ...options, ...more } }
  }
  return { policies: toPolicy(what as PolicyLike) as Policy, options: more }
}

function count(value: number | undefined, what: string, least: number): number {
  if (value === undefined || value === Infinity) return Infinity
  return least === 0 && value === 0 ? 0 : positiveInteger(value, `Pacer: ${what}`, 'HEADGATE_OPTION')
}

function wrong(option: string, value: unknown, fix: string): HeadgateError {
  return new HeadgateError('HEADGATE_OPTION', `Pacer: ${option} cannot be ${shown(value)}. ${fix}`)
}
