import { type Duration, milliseconds } from '../duration.ts'
import { HeadgateError, shown } from '../errors.ts'
import type { Names } from '../options.ts'

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
}

export const sharedNames: Names<SharedStoreOptions> = ['prefix', 'timeout', 'ttlMargin']

/**
 * Validates them. The result has milliseconds.
 * @throws HeadgateError `HEADGATE_OPTION` if one is invalid
 */
export function sharedOptions(
  store: string,
  { prefix, timeout, ttlMargin }: SharedStoreOptions,
): {
  prefix: string
  timeout: number
  ttlMargin: number
} {
  return {
    prefix: prefixOf(store, prefix),
    timeout: milliseconds(timeout ?? 100, `${store}: timeout`, 'HEADGATE_OPTION'),
    ttlMargin: milliseconds(ttlMargin ?? 1000, `${store}: ttlMargin`, 'HEADGATE_OPTION', 0),
  }
}

function prefixOf(store: string, prefix: unknown = 'headgate'): string {
  if (typeof prefix === 'string' && /^[\w.:-]{1,128}$/.test(prefix)) return prefix
  throw wrongOption(store, 'prefix', prefix, "Give letters, digits and _ . : - such as 'myapp:limits'.")
}

export function wrongOption(store: string, option: string, value: unknown, fix: string): HeadgateError {
  return new HeadgateError('HEADGATE_OPTION', `${store}: ${option} cannot be ${shown(value)}. ${fix}`)
}
