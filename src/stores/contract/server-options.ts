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
   * The beginning of every key: 1 to 128 letters, digits and `_ . / -`. A colon is not allowed, because a colon separates the prefix from
   * the rest of the key. Limiter `b` with scope `c` under the prefix `a` would share keys with limiter `c` under the prefix `a:b`. Default
   * `'headgate'`.
   */
  prefix?: string | undefined
  /**
   * How long a call to the store may take, in milliseconds or as text. A call that takes longer rejects with HeadgateError
   * `HEADGATE_STORE_TIMEOUT`. Default 100 ms.
   */
  timeout?: Duration | undefined
  /**
   * How long the store keeps a key that has its full quota again, in milliseconds or as text. A process whose clock is slow still needs the
   * key during that time. Default `'1s'`.
   */
  ttlMargin?: Duration | undefined
  /** When the circuit breaker of the store opens, and how often a process then sends a probe to the store. */
  breaker?: BreakerOptions | undefined
}

/** The options of a store's circuit breaker. All limiters on the store share the breaker. */
export interface BreakerOptions {
  /** How many requests to the store have to fail, without a success between them, to open the breaker. Default 5. */
  failures?: number | undefined
  /** How long the breaker is open before the first probe, in milliseconds or as text. Default `'500ms'`. */
  openFor?: Duration | undefined
  /** The time from a failed probe to the next probe, in milliseconds or as text. Default: `openFor`. */
  probeEvery?: Duration | undefined
}

/** The options of a shared store, with their defaults. Durations are in milliseconds. */
export type SharedTerms = Settled<Omit<SharedStoreOptions, 'breaker'>> & { readonly breaker: BreakerTerms }

const prefix: Reader<string> = check(
  (given) => typeof given === 'string' && /^[\w./-]{1,128}$/.test(given),
  '1 to 128 letters, digits and _ . / -',
  "'myapp/limits'",
  'headgate',
)

/** The longest timeout that Postgres takes, and a timer of Node, in milliseconds: 24.8 days. */
const longestTimeout = 2 ** 31 - 1

const breaker: Reader<BreakerTerms> = (given, name) => {
  const options: BreakerOptions = given === undefined ? {} : (given as BreakerOptions)
  const probeEvery = duration(options?.openFor ?? '500ms')
  return readOptions(name, options, { failures: whole(5), openFor: duration('500ms'), probeEvery })
}

export const sharedOptions: Readers<SharedTerms> = {
  prefix,
  timeout: duration('100ms', { usual: 20, most: longestTimeout }),
  ttlMargin: duration('1s', { least: 0 }),
  breaker,
}
