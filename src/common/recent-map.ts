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
    if (value !== undefined) this.set(key, value)
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
