import { HeadgateError } from '../errors.ts'
import { knownOptions, type Names } from '../options.ts'
import { type CompareAndSetOptions, compareAndSetStore, swapNames } from './compare-and-set.ts'
import type { RecordStore } from './records/record-store.ts'
import { wrongOption } from './shared-options.ts'

export type { RecordStore } from './records/record-store.ts'

/**
 * The methods that the store needs from a client, as memcache-client has them. Wrap any other: each method is one
 * protocol command.
 */
export interface MemcachedClient {
  /** `gets`: resolves with the value and its cas unique; undefined for nothing. */
  gets(key: string): Promise<{ value: unknown; casUniq?: number | string } | undefined>
  /** `cas`: rejects with EXISTS or NOT_FOUND if the value has changed since. @param options lifetime in seconds */
  cas(key: string, text: string, options: { casUniq: number | string; lifetime: number }): Promise<unknown>
  /** `add`: rejects with NOT_STORED if there is a value. @param options lifetime in seconds */
  add(key: string, text: string, options: { lifetime: number }): Promise<unknown>
}

export interface MemcachedStoreOptions
  extends Pick<CompareAndSetOptions<unknown>, 'prefix' | 'timeout' | 'ttlMargin' | 'breaker' | 'retries' | 'clock'> {
  /**
   * The most bytes of a value: the server's item size (`memcached -I`), less a thousandth for what the server adds.
   * Default 1,000,000, for the server's default of 1 MiB.
   */
  maxBytes?: number
  /** A client of memcache-client, or one with the same methods. You close it yourself. */
  client: MemcachedClient
}

const known: Names<MemcachedStoreOptions> = ['client', ...swapNames]

/** The server's errors if another process has written first. */
const changed = /^(EXISTS|NOT_FOUND|NOT_STORED)\b/

/** The server's error if its items are smaller than `maxBytes`. */
const tooLarge = /\bobject too large\b/

function itemTooLarge({ length }: string, cause: Error): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STATE_SIZE',
    `Memcached does not hold ${length} bytes under a key. Give it larger items (memcached -I), or memcachedStore a ` +
      'smaller maxBytes.',
    { cause },
  )
}

/** In seconds. The server takes a longer lifetime for a date. */
const longestLifetime = 30 * 24 * 60 * 60

/**
 * A store in Memcached, by gets and cas: one read for each decision, and one write if the decision changes something. A
 * call rejects as with `compareAndSetStore`.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid. A limiter on this store also
 * throws `HEADGATE_STATE_SIZE`
 */
export function memcachedStore(options: MemcachedStoreOptions): RecordStore {
  knownOptions('memcachedStore', options, known)
  const { client, maxBytes = 1_000_000, ...rest } = options
  for (const command of ['gets', 'cas', 'add'] as const) {
    if (typeof client?.[command] !== 'function') {
      const fix = `It needs ${command}(). Write memcachedStore({ client: new MemcacheClient({ server: 'localhost:11211' }) }).`
      throw wrongOption('memcachedStore', 'client', client, fix)
    }
  }
  return compareAndSetStore<number | string>({
    ...rest,
    maxBytes,
    name: 'Memcached',
    async read(key) {
      const found = await client.gets(key)
      if (found === undefined || found === null) return undefined
      if (found.casUniq === undefined)
        throw new HeadgateError('HEADGATE_STORE', 'gets returned no casUniq. Use memcache-client.')
      return { text: found.value as string, version: found.casUniq }
    },
    async swap(key, text, casUniq, ttl) {
      const lifetime = lifetimeOf(ttl)
      try {
        if (casUniq === undefined) await client.add(key, text, { lifetime })
        else await client.cas(key, text, { casUniq, lifetime })
        return true
      } catch (error) {
        if (error instanceof Error && changed.test(error.message)) return false
        throw error instanceof Error && tooLarge.test(error.message) ? itemTooLarge(text, error) : error
      }
    },
  })
}

/**
 * In seconds, or for a long time the date in seconds since the epoch. 0, which never expires, stands for dates after
 * 2038, which the server does not know. One second is added, because Memcached's clock ticks once a second: an item with
 * a lifetime of one could expire at once.
 */
function lifetimeOf(ttl: number): number {
  const seconds = Math.ceil(ttl / 1000) + 1
  if (seconds <= longestLifetime) return seconds
  const date = Math.ceil(Date.now() / 1000) + seconds
  return date < 2 ** 31 ? date : 0
}
