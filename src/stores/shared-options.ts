import { type Duration, milliseconds } from '../duration.ts'
import { HeadgateError, shown } from '../errors.ts'
import { knownOptions, type Names, positiveInteger } from '../options.ts'
import type { BreakerTerms } from './store.ts'

/** The options of every store that processes share. */
export interface SharedStoreOptions {
  /** The prefix of every key: 1 to 128 letters, digits and `_ . : -`. Default `'headgate'`. */
  prefix?: string
  /**
   * How long a call may take, whatever the client does. Then it rejects with HeadgateError `HEADGATE_STORE_TIMEOUT`.
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
  /** How many exchanges with the store in a row have to fail to open it. Default 5. */
  failures?: number
  /** How long it stays open before the first probe. Default `'500ms'`. */
  openFor?: Duration
  /** How long after a probe that failed the next one is sent. Default: as `openFor`. */
  probeEvery?: Duration
}

export const sharedNames: Names<SharedStoreOptions> = ['prefix', 'timeout', 'ttlMargin', 'breaker']

/**
 * Validates them. The result has milliseconds.
 * @throws HeadgateError `HEADGATE_OPTION` if one is invalid
 */
export function sharedOptions(
  store: string,
  { prefix, timeout, ttlMargin, breaker }: SharedStoreOptions,
): {
  prefix: string
  timeout: number
  ttlMargin: number
  breaker: Partial<BreakerTerms>
} {
  return {
    prefix: prefixOf(store, prefix),
    timeout: milliseconds(timeout ?? 100, `${store}: timeout`, 'HEADGATE_OPTION'),
    ttlMargin: milliseconds(ttlMargin ?? 1000, `${store}: ttlMargin`, 'HEADGATE_OPTION', 0),
    breaker: breakerTerms(store, breaker),
  }
}

const breakerNames: Names<BreakerOptions> = ['failures', 'openFor', 'probeEvery']

/** @throws HeadgateError `HEADGATE_OPTION` */
export function breakerTerms(store: string, options: BreakerOptions = {}): Partial<BreakerTerms> {
  const name = `${store}: breaker`
  knownOptions(name, options, breakerNames)
  const { failures, openFor, probeEvery = openFor } = options
  const duration = (value: Duration, option: string) => milliseconds(value, `${name}.${option}`, 'HEADGATE_OPTION')
  return {
    ...(failures !== undefined && { failures: positiveInteger(failures, `${name}.failures`, 'HEADGATE_OPTION') }),
    ...(openFor !== undefined && { openFor: duration(openFor, 'openFor') }),
    ...(probeEvery !== undefined && { probeEvery: duration(probeEvery, 'probeEvery') }),
  }
}

/** @throws HeadgateError `HEADGATE_OPTION` */
export function prefixOf(store: string, prefix: unknown = 'headgate'): string {
  if (typeof prefix === 'string' && /^[\w.:-]{1,128}$/.test(prefix)) return prefix
  throw wrongOption(store, 'prefix', prefix, "Give letters, digits and _ . : - such as 'myapp:limits'.")
}

export function wrongOption(store: string, option: string, value: unknown, fix: string): HeadgateError {
  return new HeadgateError('HEADGATE_OPTION', `${store}: ${option} cannot be ${shown(value)}. ${fix}`)
}
