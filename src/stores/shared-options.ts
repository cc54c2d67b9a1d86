import { type Duration, milliseconds } from '../duration.ts'
import { HeadgateError, shown } from '../errors.ts'

/** What stores that are shared by processes have in common. */
export interface SharedStoreOptions {
  /** What every key begins with: letters, digits and `_ . : -`. Default `'headgate'`. */
  prefix?: string
  /** How long a call may take, whatever the client does; then it rejects with `HEADGATE_STORE_TIMEOUT`. Default 100 ms. */
  timeout?: Duration
  /** How much longer than until it is like new a key is kept, against clocks that differ. Default `'1s'`. */
  ttlMargin?: Duration
}

/** @throws HeadgateError `HEADGATE_OPTION` */
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
