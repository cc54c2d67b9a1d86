import {
  check,
  type Duration,
  duration,
  type Reader,
  type Readers,
  readOptions,
  type Settled,
  whole,
} from '../../common/index.ts'
import type { BreakerTerms } from './store.ts'

/** The options of every store that processes share. */
export interface SharedStoreOptions {
  /**
   * The prefix of every key: 1 to 128 letters, digits and `_ . / -`. No colon, because a colon ends it: else the limiter `b` with a scope
   * `c` under the prefix `a` and the limiter `c` under the prefix `a:b` would share keys. Default `'headgate'`.
   */
  prefix?: string
  /**
   * How long a call may take, whatever the client does. After that, it rejects with HeadgateError `HEADGATE_STORE_TIMEOUT`.
   * Default 100 ms.
   */
  timeout?: Duration
  /**
   * How long a key is kept after it has its full quota again, in case the clocks of the processes differ. Default `'1s'`.
   */
  ttlMargin?: Duration
  /** When the store's circuit breaker opens, and how often it probes the store then. */
  breaker?: BreakerOptions
}

/** The circuit breaker of a store, which all limiters on it share. */
export interface BreakerOptions {
  /** How many exchanges in a row have to fail before the breaker opens. Default 5. */
  failures?: number
  /** How long the breaker stays open before the first probe. Default `'500ms'`. */
  openFor?: Duration
  /** The time from a failed probe to the next probe. Default: `openFor`. */
  probeEvery?: Duration
}

/** The shared options as they are read: durations in milliseconds. */
export type SharedTerms = Settled<Omit<SharedStoreOptions, 'breaker'>> & { readonly breaker: BreakerTerms }

const prefix: Reader<string> = check(
  (given) => typeof given === 'string' && /^[\w./-]{1,128}$/.test(given),
  '1 to 128 letters, digits and _ . / -',
  "'myapp/limits'",
  'headgate',
)

const breaker: Reader<BreakerTerms> = (given, name) => {
  const options: BreakerOptions = given === undefined ? {} : (given as BreakerOptions)
  const probeEvery = duration(options?.openFor ?? '500ms')
  return readOptions(name, options, { failures: whole(5), openFor: duration('500ms'), probeEvery })
}

export const sharedOptions: Readers<SharedTerms> = {
  prefix,
  timeout: duration('100ms', { usual: 20 }),
  ttlMargin: duration('1s', { least: 0 }),
  breaker,
}
