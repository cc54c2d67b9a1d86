import { HeadgateError } from '../errors.ts'
import { knownOptions } from '../options.ts'
import { type CompareAndSetOptions, compareAndSetStore } from './compare-and-set.ts'
import type { RecordStore } from './records/ledger.ts'
import { wrongOption } from './shared-options.ts'

/** What is needed of a client, as memcache-client has it. Of any other, wrap it: each is one command of the protocol. */
export interface MemcachedClient {
  /** `gets`: the value with its cas unique; undefined for nothing. */
  gets(key: string): Promise<{ value: unknown; casUniq?: number | string } | undefined>
  /** `cas`: rejects with EXISTS or NOT_FOUND where the value is another by now. @param options lifetime in seconds */
  cas(key: string, text: string, options: { casUniq: number | string; lifetime: number }): Promise<unknown>
  /** `add`: rejects with NOT_STORED where there is a value. */
  add(key: string, text: string, options: { lifetime: number }): Promise<unknown>
}

export interface MemcachedStoreOptions
  extends Pick<CompareAndSetOptions<unknown>, 'prefix' | 'timeout' | 'ttlMargin' | 'retries' | 'clock'> {
  /**
   * The most bytes that a value may have: what an item of the server may (`memcached -I`), less a thousandth for what it
   * adds. Default 1,000,000, for the server's default of 1 MiB.
   */
  maxBytes?: number
  /** A client of memcache-client, or one that is made to look like it. It stays yours to close. */
  client: MemcachedClient
}

const known = [
  'client',
  'prefix',
  'timeout',
  'ttlMargin',
  'retries',
  'maxBytes',
  'clock',
] as const satisfies (keyof MemcachedStoreOptions)[]

/** How a server says that another was faster. */
const refused = /^(EXISTS|NOT_FOUND|NOT_STORED)\b/

/** How it says that its items are smaller than we were told. */
const tooLarge = /\bobject too large\b/

function noItem({ length }: string, cause: Error): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STATE_SIZE',
    `Memcached holds no ${length} bytes for a key. Give it larger items (memcached -I), or memcachedStore a smaller maxBytes.`,
    { cause },
  )
}

/** Longer lifetimes are taken for a date. */
const longestLifetime = 30 * 24 * 60 * 60

/**
 * States in Memcached, by gets and cas: one read a decision, and one write if it changes something.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK`; a limiter on it also `HEADGATE_STATE_SIZE`
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
        throw new HeadgateError('HEADGATE_STORE', 'gets gave no casUniq. Use memcache-client.')
      return { text: found.value as string, version: found.casUniq }
    },
    async swap(key, text, casUniq, ttl) {
      const lifetime = lifetimeOf(ttl)
      try {
        if (casUniq === undefined) await client.add(key, text, { lifetime })
        else await client.cas(key, text, { casUniq, lifetime })
        return true
      } catch (error) {
        if (error instanceof Error && refused.test(error.message)) return false
        throw error instanceof Error && tooLarge.test(error.message) ? noItem(text, error) : error
      }
    },
  })
}

/**
 * In seconds, or the date in seconds since the epoch by this machine's clock; 0 is for ever, as no date is after 2038.
 * One more than asked for: Memcached's clock ticks once a second, so that what is to live for one may go at once.
 */
function lifetimeOf(ttl: number): number {
  const seconds = Math.ceil(ttl / 1000) + 1
  if (seconds <= longestLifetime) return seconds
  const date = Math.ceil(Date.now() / 1000) + seconds
  return date < 2 ** 31 ? date : 0
}
