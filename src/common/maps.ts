/** The methods of a Map, a WeakMap or a cache that `getOrInsert` needs. */
interface Table<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: NoInfer<Value>): unknown
}

/**
 * The value of a key in the table. A missing value is made and stored, as `Map.getOrInsertComputed` of newer runtimes does. A text is
 * stored as a copy: see `ownText`.
 */
export function getOrInsert<Key, Value extends {}>(
  table: Table<Key, Value>,
  key: Key,
  make: (key: Key) => Value,
): Value {
  let value = table.get(key)
  if (value === undefined) {
    const own = typeof key === 'string' ? (ownText(key) as Key & string) : key
    value = make(own)
    table.set(own, value)
  }
  return value
}

/** V8 copies a part of a text that has fewer characters than this number. */
const shortestUncopied = 13

/**
 * Copies a text, so that the copy keeps no other text in memory. Use the copy to store a caller's text for longer than the call.
 *
 * A key is often a part of a header field or of a URL. V8 does not copy the characters of such a part: the part refers to the whole text
 * (`SlicedString` in V8's `src/objects/string.h`). So a stored key of 20 characters would keep a header field of 16 KB in memory. `join`
 * writes all characters to new memory. A copy takes about 70 ns, so only a new entry is stored under a copy of its key.
 */
export function ownText(text: string): string {
  return text.length < shortestUncopied ? text : [text.slice(0, 1), text.slice(1)].join('')
}

/**
 * A Map with the entries that were used last. Not an LRUCache: some bundles for workers have the lru-cache of Node, which workerd forbids
 * outside of a request, and an application makes its limiters there.
 */
export class RecentMap<Key, Value> extends Map<Key, Value> {
  readonly #most: number

  /** @param most how many entries stay */
  constructor(most: number) {
    super()
    this.#most = most
  }

  override get(key: Key): Value | undefined {
    const value = super.get(key)
    if (value !== undefined && this.size >= this.#most) this.set(key, value) // below the maximum, no entry will be removed
    return value
  }

  override set(key: Key, value: Value): this {
    this.delete(key)
    for (const oldest of this.keys()) {
      if (this.size < this.#most) break
      this.delete(oldest)
    }
    return super.set(key, value)
  }
}
