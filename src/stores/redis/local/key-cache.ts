import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../common/index.ts'

/** The most entries of a cache. Beyond this number, the least recently used entry is evicted. */
const maxEntries = 10_000

/** An entry is valid from one time of the local clock until another, in microseconds. */
export interface CacheEntry {
  readonly from: number
  readonly until: number
  /** The version of the cache that the entry was made for. */
  readonly version: number
}

/** Results that a process can repeat locally, by the keys of a call, until this process changes one of the keys. */
export class KeyCache<Entry extends CacheEntry> {
  protected readonly clock: Clock
  readonly #entries = new LRUCache<string, Entry>({ max: maxEntries })
  /** Counts the changes. A request notes this number when it is sent. If it changed since, the response is not cached. */
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
    // Any change outdates the entries of several keys: the changed key may be one of them.
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

  /** Removes the entries of all keys that begin with `start`. */
  forgetAll(start: string): void {
    this.version++
    for (const name of this.#entries.keys()) if (name.startsWith(start)) this.#entries.delete(name)
  }
}

/** One name for the keys of a call. No key of a state contains a line feed. */
export function nameOf(keys: readonly string[]): string {
  return keys.length === 1 ? (keys[0] as string) : keys.join('\n')
}
