import { LRUCache } from 'lru-cache'
import { type Clock, ownText } from '../../../common/index.ts'

/** The most entries of a cache. Beyond this number, the least recently used entry is removed. */
const maxEntries = 10_000

/** How many entries a full cache looks at to find one that is over. */
const looksAt = 4

/** An entry of a cache, and the times of the local clock between which the entry is valid, in microseconds. */
export interface CacheEntry {
  readonly from: number
  readonly until: number
  /** The field `version` of the cache when the entry was made. */
  readonly version: number
}

/** Stores results by the keys of a call. This process can use a result again until this process changes one of the keys. */
export class KeyCache<Entry extends CacheEntry> {
  protected readonly clock: Clock
  readonly #entries = new LRUCache<string, Entry>({ max: maxEntries })
  /** How many changes this process has made. */
  version = 0
  /** The versions at which keys were last changed. */
  readonly #changes = new LRUCache<string, number>({
    max: maxEntries,
    dispose: (version, _key, reason) => {
      if (reason === 'evict') this.#unknown = Math.max(this.#unknown, version)
    },
  })
  /** The last version at which any key may have been changed: of all keys at once, or of a key that is no longer in `#changes`. */
  #unknown = 0
  /** The local time, in microseconds, when `find` last returned an entry. */
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
    // A change of one key removes the entry of this key, but not the entries for several keys.
    const outdated = keys.length > 1 && this.isChanged(keys, entry.version)
    if (now >= entry.from && now < entry.until && !outdated) {
      this.foundAt = now
      return entry
    }
    this.#entries.delete(name)
    return undefined
  }

  /** True if this process has changed one of the keys since `version`. A response to an earlier request is then not cached. */
  protected isChanged(keys: readonly string[], version: number): boolean {
    if (version === this.version) return false
    return version < this.#unknown || keys.some((key) => (this.#changes.peek(key) ?? 0) > version)
  }

  set(keys: readonly string[], entry: Entry): void {
    this.#entries.set(ownText(nameOf(keys)), entry)
  }

  /**
   * True if there is space for another entry, beside `more` entries that are under way. A full cache removes an entry that is over. An entry
   * that is not over gets the last place in the order, so that the next call looks at others.
   */
  protected hasSpace(more: number, isOver: (entry: Entry) => boolean): boolean {
    for (let looks = 0; this.#entries.size + more >= maxEntries; looks++) {
      const [name = ''] = looks < looksAt ? this.#entries.rkeys() : []
      const entry = this.#entries.get(name)
      if (entry === undefined) return false
      const keys = name.split('\n')
      const outdated = keys.length > 1 && this.isChanged(keys, entry.version)
      if (outdated || isOver(entry)) this.#entries.delete(name)
    }
    return true
  }

  /** Removes entries that a change of these keys makes invalid. Call this method for every change except an admitted call. */
  forget(keys: readonly string[]): void {
    this.version++
    for (const key of keys) {
      this.#entries.delete(key)
      this.#changes.set(this.#changes.has(key) ? key : ownText(key), this.version)
    }
  }

  /** Makes the entries of all keys that begin with `start` invalid. */
  forgetAll(start: string): void {
    this.#unknown = ++this.version
    for (const name of this.#entries.keys()) if (name.startsWith(start)) this.#entries.delete(name)
  }
}

/** The keys of a call as one text, with line feeds in between: no Redis key of headgate contains a line feed. */
export function nameOf(keys: readonly string[]): string {
  return keys.length === 1 ? (keys[0] as string) : keys.join('\n')
}
