import { type PolicyLike, toPolicy } from '../algorithms/index.ts'
import {
  anything,
  type Clock,
  callback,
  clockOr,
  type Duration,
  duration,
  flag,
  hook,
  knownOptions,
  monotonicClock,
  oneOf,
  readOptions,
  realSleeper,
  type Settled,
  type Sleeper,
  timerSleeper,
  unbounded,
  whole,
} from '../common/index.ts'
import { type PolicyLikes, RateLimiter, storeOption, warnOfNoStore } from '../limiter/index.ts'
import { type FailureTerms, failureOptions, isLocal, type OnStoreError, type Store } from '../stores/contract/index.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { Progress } from './pacer-events.ts'
import type { Polling } from './poll-times.ts'

/** The options of a `Pacer`. */
export interface PacerOptions {
  /**
   * The store in which slots are booked. Default: a memory store of the pacer's own. Processes that share a store keep
   * one common pace. Example: `redisStore({ client })`.
   */
  store?: Store
  /**
   * The namespace in the store, and the pacer's name in events. Default `'pacer'`. Required on a store that other programs
   * reach. Example: `'github-api'`.
   */
  name?: string
  /** How many calls may wait, for each key. Default 100,000. Infinity for no bound. Example: `1000`. */
  maxQueue?: number
  /**
   * The call that is refused when more than `maxQueue` calls wait: the new call (`'newest'`), or the call that has
   * waited the longest (`'oldest'`). Default `'newest'`.
   */
  order?: 'oldest' | 'newest'
  /**
   * How far ahead slots are booked in a store that processes share. Later calls wait in this process without a slot. If
   * a process is killed, other processes wait about this long until its slots are over. Default `'2s'`. Example:
   * `'500ms'`.
   */
  horizon?: Duration
  /** How many functions of `throttle` and `wrap` run at once, for each key. Default Infinity. Example: `4`. */
  concurrency?: number
  /**
   * Which times of calls the policy counts, if a late timer or event loop makes a call go late. `'booked'`: the booked
   * times. Later calls keep their slots, and the mean rate holds. `'actual'`: the times at which calls really went.
   * Later calls wait longer, and a server that counts exactly admits every call of this process. Default `'booked'`.
   */
  spacing?: 'booked' | 'actual'
  /**
   * How often a waiting call asks a shared store for units in flight (`concurrency`) that another process may have
   * released: first after 50 to 100 per cent of this time, then less often, at last every four times this time.
   * Milliseconds or text. Default `'50ms'`. Example: `'200ms'`.
   */
  poll?: Duration
  /** Returns a number from 0 up to 1 that spreads the polls. Default `Math.random`. Pass one in tests: `() => 0`. */
  random?: () => number
  /** If true, the process may end while calls wait. Default false. Browsers and workers ignore it. */
  unref?: boolean
  /**
   * How long a request to the store may take: milliseconds or text. Default `'5s'`; Infinity for as long as the store
   * takes. Example: `'500ms'`.
   */
  storeTimeout?: Duration
  /**
   * What happens to a call that the store cannot decide. `'closed'` rejects it with `HEADGATE_STORE_UNAVAILABLE`, `'throw'`
   * with the store's own error, `'open'` admits it at once, `'local'` paces it in this process. A function gets
   * the failure and may return one of these. Default `'local'`. Example: `({ error }) => log(error)`.
   */
  onStoreError?: OnStoreError
  /** How many processes share the pace. While the store fails, each keeps its part. Default 1. Example: `8`. */
  instances?: number
  /** Called when counts have changed, once for all changes of a tick. Example: `({ waiting }) => gauge.set(waiting)`. */
  onProgress?: (progress: Progress) => void
  /**
   * Reads the time, in whole microseconds since the epoch. Default: a monotonic clock. Pass one in tests.
   * Example: `new ManualClock().now` of `headgate/testing`.
   */
  clock?: Clock
  /**
   * Calls a function after a number of milliseconds. Default: `setTimeout`. Pass one in tests.
   * Example: `new ManualClock().sleeper` of `headgate/testing`.
   */
  sleeper?: Sleeper
}

/** Policies and options in one object. */
export interface PacerConfig extends PacerOptions {
  /** One policy or several. A call waits for all of them. Example: `['10/1s', '1000/1h']`. */
  policies: PolicyLikes
}

const readers = {
  store: storeOption,
  name: anything,
  unref: flag(),
  clock: clockOr(monotonicClock),
  sleeper: hook('(milliseconds, wake) => cancel'),
  maxQueue: unbounded(whole(100_000, { least: 0 })),
  horizon: unbounded(duration('2s')),
  order: oneOf('newest', 'oldest'),
  concurrency: unbounded(whole(), Infinity),
  spacing: oneOf('booked', 'actual'),
  poll: duration('50ms'),
  random: callback('() => 0', Math.random),
  onProgress: hook('(progress) => ...'),
  ...failureOptions,
  storeTimeout: unbounded(duration('5s', { usual: 20 })),
}

type OwnOptions = Omit<PacerOptions, 'store' | 'name' | 'unref' | 'poll' | 'random' | keyof typeof failureOptions>

/** The horizon is in microseconds: how far ahead slots are booked. Infinity if no other process books. */
export interface PacerSettings extends Settled<OwnOptions, 'onProgress'> {
  readonly limiter: RateLimiter
  /** The sleeper for timers that keep no process alive. */
  readonly quietSleeper: Sleeper
  readonly polling: Polling
  readonly failure: FailureTerms
}

/** @throws HeadgateError if an option or a policy is invalid */
export function readPacerOptions(policy: PolicyLike | PacerConfig, more: PacerOptions): PacerSettings {
  knownOptions('Pacer', more, Object.keys(readers))
  const { policies, ...given } = isConfig(policy) ? { ...policy, ...more } : { policies: toPolicy(policy), ...more }
  warnOfNoStore(given)
  const { name, unref, clock, sleeper, horizon, poll, random, ...read } = readOptions('Pacer', given, readers)
  const { onStoreError, instances, storeTimeout, store = memoryStore({ clock }), ...queue } = read
  const ownName = name === undefined && store.traits?.prefix === undefined ? 'pacer' : name
  return {
    limiter: new RateLimiter({
      policies,
      store,
      ...(ownName !== undefined && { name: ownName }),
    }),
    clock,
    sleeper: sleeper ?? timerSleeper(unref),
    quietSleeper: sleeper ?? timerSleeper(true),
    polling: { poll: poll * 1000, random },
    // Nobody else books in a local store.
    horizon: isLocal(store) ? Infinity : horizon * 1000,
    failure: { onStoreError, instances, storeTimeout, clock, sleeper: sleeper ?? realSleeper(unref) },
    ...queue,
  }
}

function isConfig(policy: PolicyLike | PacerConfig): policy is PacerConfig {
  return typeof policy === 'object' && policy !== null && 'policies' in policy
}
