import { nextTick } from 'node:process'
import { check, HeadgateError, readOptions } from '../common/index.ts'
import { type CompareAndSetOptions, compareAndSetStore, swapOptions } from './compare-and-set.ts'
import { ReadBatcher } from './read-batcher.ts'
import type { RecordStore } from './records/index.ts'

/**
 * The methods that the store needs from a client. The client of memcache-client has these methods; wrap any other
 * client so that each method sends one command of the protocol.
 */
export interface MemcachedClient {
  /** Sends `gets`: resolves with the value and the number of its version (`casUniq`); undefined if the key has no value. */
  gets(key: string): Promise<{ value: unknown; casUniq?: number | string } | undefined>
  /**
   * Sends `cas`: rejects with EXISTS or NOT_FOUND if the value was changed or removed. @param options the lifetime of the value, in
   * seconds
   */
  cas(key: string, text: string, options: { casUniq: number | string; lifetime: number }): Promise<unknown>
  /** Sends `add`: rejects with NOT_STORED if the key has a value. @param options the lifetime of the value, in seconds */
  add(key: string, text: string, options: { lifetime: number }): Promise<unknown>
  /**
   * Optional. Sends one `gets` for several keys. Resolves with an object that has, for each key with a value, the result that
   * `gets` has for this key. Without `xretrieve`, the store sends one command for each key.
   */
  xretrieve?(command: 'gets', keys: string[]): Promise<unknown>
  /**
   * Optional. Calls `use` with the socket to which the next commands are written. The store delays these writes until the turn of the
   * event loop ends, so that all `cas` of the turn are sent by one write. Without `xsend`, each `cas` is sent by a separate write.
   */
  xsend?(use: (socket: MemcachedSocket | undefined) => void, options: { noreply: true }): Promise<unknown>
}

/** The methods of a socket that delay its writes and then send them together. */
interface MemcachedSocket {
  cork(): void
  uncork(): void
}

/** The options of `memcachedStore`. */
export interface MemcachedStoreOptions
  extends Pick<CompareAndSetOptions<unknown>, 'prefix' | 'timeout' | 'ttlMargin' | 'breaker' | 'retries' | 'clock'> {
  /**
   * The most bytes of a value. Give 0.1 % less than the server's item size (`memcached -I`), because the server adds some bytes to each
   * value. Default 1,000,000, which fits the server's default of 1 MiB.
   */
  maxBytes?: number | undefined
  /** A client of memcache-client, or an object with the same methods. The store does not close the client. */
  client: MemcachedClient
}

const readers = {
  client: check(
    (given) => ['gets', 'cas', 'add'].every((command) => typeof Reflect.get(Object(given), command) === 'function'),
    'a client with gets(), cas() and add()',
    "new MemcacheClient({ server: 'localhost:11211' })",
  ),
  ...swapOptions,
}

/** The server's answer to `cas` or `add` if the key was written after the store had read the key. */
const changed = /^(EXISTS|NOT_FOUND|NOT_STORED)\b/

/** The server's answer if a value is larger than the server's item size. */
const tooLarge = /\bobject too large\b/

function itemTooLarge({ length }: string, cause: Error): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STATE_SIZE',
    `Memcached does not hold ${length} bytes under a key. Give it larger items (memcached -I), or memcachedStore a ` +
      'smaller maxBytes.',
    { cause },
  )
}

/** The longest lifetime in seconds: the server takes a larger number as a time since the epoch. */
const longestLifetime = 30 * 24 * 60 * 60

/**
 * Makes a store in Memcached, by the commands gets and cas. All decisions of one turn of the event loop share one read and one
 * write. Calls reject as described for `compareAndSetStore`.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid. A limiter on this store throws
 * `HEADGATE_STATE_SIZE` if a state could exceed `maxBytes`
 */
export function memcachedStore(options: MemcachedStoreOptions): RecordStore {
  const { timeout } = readOptions('memcachedStore', options, readers)
  const { client, maxBytes = 1_000_000, ...rest } = options
  const read = readerOf(client, timeout)
  const gather = gathererOf(client)
  return compareAndSetStore<number | string>({
    ...rest,
    maxBytes,
    name: 'Memcached',
    async read(key) {
      const found = await read(key)
      if (found === undefined || found === null) return undefined
      if (found.casUniq === undefined)
        throw new HeadgateError('HEADGATE_STORE', 'gets returned no casUniq. Use memcache-client.')
      return { text: found.value as string, version: found.casUniq }
    },
    async swap(key, text, casUniq, ttl) {
      const lifetime = lifetimeOf(ttl)
      gather()
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

type Found = Awaited<ReturnType<MemcachedClient['gets']>>

/** Returns a function that reads a key. If the client has `xretrieve`, one command reads all keys of one turn of the event loop. */
function readerOf(client: MemcachedClient, timeout: number): (key: string) => Promise<Found> {
  if (typeof client.xretrieve !== 'function') return (key) => client.gets(key)
  const reads = {
    one: async (key: string) => client.gets(key),
    async several(keys: readonly string[]) {
      const found = (await client.xretrieve?.('gets', [...keys])) as Readonly<Record<string, Found>>
      return keys.map((key) => found[key])
    },
  }
  const batcher = new ReadBatcher(reads, timeout)
  return (key) => batcher.read(key)
}

/** Returns a function that delays the writes to the client's socket until the end of the turn of the event loop. */
function gathererOf(client: MemcachedClient): () => void {
  let gathers = false
  return () => {
    if (gathers || typeof client.xsend !== 'function') return
    gathers = true
    let ended = false
    let held: MemcachedSocket | undefined
    const hold = (socket: MemcachedSocket | undefined) => {
      if (ended) return // the client connected only after the turn had ended
      socket?.cork()
      held = socket
    }
    nextTick(() => {
      gathers = false
      ended = true
      held?.uncork()
    })
    const ask = async () => client.xsend?.(hold, { noreply: true })
    ask().catch(() => {}) // the store's commands fail with the same error, and report it
  }
}

/**
 * Converts a lifetime in milliseconds to the number that Memcached expects. Up to 30 days, this number is the lifetime in seconds. Above,
 * the number is the end of the lifetime in seconds since the epoch. The server cannot represent an end after 2038: the result is then 0,
 * and the item never expires. One second is added because Memcached's clock ticks once a second: a lifetime of one second could end
 * immediately.
 */
function lifetimeOf(ttl: number): number {
  const seconds = Math.ceil(ttl / 1000) + 1
  if (seconds <= longestLifetime) return seconds
  const date = Math.ceil(Date.now() / 1000) + seconds
  return date < 2 ** 31 ? date : 0
}
