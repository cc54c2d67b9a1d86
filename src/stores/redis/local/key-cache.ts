import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../common/index.ts'

/** The most entries of a cache. Beyond them, the least recently used one is evicted. */
const maxEntries = 10_000

/** Something that is valid from one time of the local clock until another, in microseconds. */
export interface CacheEntry {
  readonly from: number
  readonly until: number
  /** The version of the cache that the entry was made for. */
  readonly version: number
}

/** Results that a process can repeat locally, by the keys of a call, until a call of this process changes these keys. */
export class KeyCache<Entry extends CacheEntry> {
  protected readonly clock: Clock
  readonly #entries = new LRUCache<string, Entry>({ max: maxEntries })
  /** Counts the changes. A request keeps this number until its response is here: the response to a request that was sent before a change must not be added after it. */
  version = 0
  /** The local time of the last `find` that returned an entry. */
  foundAt = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** The entry for these keys, if it is valid now. */
  find(keys: readonly string[]): Entry | undefined {
    if (this.#entries.size === 0) return undefined
    const name = nameOf(keys)
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    const now = this.clock()
    // A change of any key outdates all entries of several keys: it may be one of them.
    const outdated = keys.length > 1 && entry.version !== this.version
    if (now >= entry.from && now < entry.until && !outdated) {
      this.foundAt = now
      return entry
    }
    this.#entries.delete(name)
    return undefined
  }

  set(keys: readonly string[], entry: Entry): void {
    this.#entries.set(nameOf(keys), entry)
  }

  /** Removes the entries that a change of these keys outdates. Call it for every change except an admitted call. */
  forget(keys: readonly string[]): void {
    this.version++
    for (const key of keys) this.#entries.delete(key)
  }

  /** Removes the entries of all keys that begin so. */
  forgetAll(start: string): void {
    this.version++
    for (const name of this.#entries.keys()) if (name.startsWith(start)) this.#entries.delete(name)
  }
}

/** One name for the keys of a call. No key of a state contains a line feed. */
export function nameOf(keys: readonly string[]): string {
  return keys.length === 1 ? (keys[0] as string) : keys.join('\n')
}
