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
   * The store in which slots (times at which calls may start) are booked. Default: a new memory store, which only this pacer uses.
   * Processes that use the same store have one common rate. Example: `redisStore({ client })`.
   */
  store?: Store
  /**
   * The namespace of the pacer's keys in the store, and the pacer's name in events. Default `'pacer'`. A name is
   * required for a store that other programs can reach. Example: `'github-api'`.
   */
  name?: string | undefined
  /** How many calls of one key may wait at the same time. Default 100,000. Infinity for no limit. Example: `1000`. */
  maxQueue?: number | undefined
  /**
   * Which call is refused when more than `maxQueue` calls wait: the new call (`'newest'`), or the call that has waited
   * the longest (`'oldest'`). Default `'newest'`.
   */
  order?: 'oldest' | 'newest' | undefined
  /**
   * How far ahead slots (times at which calls may start) are booked in a store that several processes share, in milliseconds or as text.
   * Calls beyond this time wait in this process without a slot. If a process is killed, other processes wait about this long until the
   * booked times of that process are over. Default `'2s'`. Example: `'500ms'`.
   */
  horizon?: Duration | undefined
  /** How many functions of `throttle` and `wrap` run at the same time, for each key. Default Infinity. Example: `4`. */
  concurrency?: number | undefined
  /**
   * Which times the policies count if a late timer or event loop makes a call start late. `'booked'`: the times of the slots (booked start
   * times). Later calls keep their slots, so the mean rate is reached. `'actual'`: the times at which calls really start. Later calls wait
   * longer, so a server that counts exactly admits every call. Default `'booked'`.
   */
  spacing?: 'booked' | 'actual' | undefined
  /**
   * How often a waiting call asks a store that processes share whether another process has released units in flight
   * (`concurrency`). The first question comes after 50 to 100 per cent of this time. Later questions come less often,
   * down to one in four times this time. In milliseconds or as text. Default `'50ms'`. Example: `'200ms'`.
   */
  poll?: Duration | undefined
  /**
   * Returns a number from 0 up to 1, to randomize polls. Default `Math.random`. Pass a function in tests: `() => 0`.
   */
  random?: (() => number) | undefined
  /** If true, waiting calls do not keep the process alive. Default false. Browsers and workers ignore this option. */
  unref?: boolean | undefined
  /**
   * How long a request to the store may take, in milliseconds or as text. Infinity for no limit. Default `'5s'`. The store's own `timeout`,
   * 100 ms by default, ends the request too: set it to 5 s as well.
   * Example: `'500ms'`.
   */
  storeTimeout?: Duration | undefined
  /**
   * What happens to a call if the store fails. `'closed'` rejects the call with `HEADGATE_STORE_UNAVAILABLE`. `'throw'` rejects the call
   * with the store's own error. `'open'` admits the call without waiting, and `'local'` paces the call in this process. A function gets the
   * failure and returns one of these values. Default `'local'`. Example: `({ error }) => log(error)`.
   */
  onStoreError?: OnStoreError | undefined
  /** How many processes share the rate. While the store fails, each process uses its part of the rate. Default 1. Example: `8`. */
  instances?: number | undefined
  /** Called once after all changes of counts in an event loop tick. Example: `({ waiting }) => gauge.set(waiting)`. */
  onProgress?: ((progress: Progress) => void) | undefined
  /**
   * Reads the time, in whole microseconds since the epoch. Default: a monotonic clock. Pass a manual clock in tests.
   * Example: `new ManualClock().now` of `headgate/testing`.
   */
  clock?: Clock | undefined
  /**
   * Calls a function after a number of milliseconds. Default: `setTimeout`. Pass a manual sleeper in tests.
   * Example: `new ManualClock().sleeper` of `headgate/testing`.
   */
  sleeper?: Sleeper | undefined
}

/** The policies and the options of a pacer in one object. */
export interface PacerConfig extends PacerOptions {
  /** One policy or several policies. A call waits until all policies admit it. Example: `['10/1s', '1000/1h']`. */
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

/** The options with their defaults. `horizon` is in microseconds, or Infinity if no other process can book start times in the store. */
export interface PacerSettings extends Settled<OwnOptions, 'onProgress'> {
  readonly limiter: RateLimiter
  /** The sleeper of timers that do not keep the process alive. */
  readonly quietSleeper: Sleeper
  readonly polling: Polling
  readonly failure: FailureTerms
}

/** @throws HeadgateError if an option or a policy is invalid */
export function readPacerOptions(policy: PolicyLikes | PacerConfig, more: PacerOptions): PacerSettings {
  knownOptions('Pacer', more, Object.keys(readers))
  const { policies, ...given } = isConfig(policy) ? { ...policy, ...more } : { policies: policy, ...more }
  warnOfNoStore(given)
  const { name, unref, clock, sleeper, horizon, poll, random, ...read } = readOptions('Pacer', given, readers)
  const { onStoreError, instances, storeTimeout, store = memoryStore({ clock }), ...queue } = read
  const ownName = name === undefined && store.traits?.prefix === undefined ? 'pacer' : name
  return {
    limiter: new RateLimiter({
      policies: typeof policies === 'string' ? [policies] : policies, // a pacer has no plan without limits
      store,
      ...(ownName !== undefined && { name: ownName }),
    }),
    clock,
    sleeper: sleeper ?? timerSleeper(unref),
    quietSleeper: sleeper ?? timerSleeper(true),
    polling: { poll: poll * 1000, random },
    // Only this process books slots in a local store, so slots (start times) may be booked any time ahead.
    horizon: isLocal(store) ? Infinity : horizon * 1000,
    failure: { onStoreError, instances, storeTimeout, clock, sleeper: sleeper ?? realSleeper(unref) },
    ...queue,
  }
}

function isConfig(policy: PolicyLikes | PacerConfig): policy is PacerConfig {
  return typeof policy === 'object' && policy !== null && 'policies' in policy
}
