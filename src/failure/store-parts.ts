import { type Clock, getOrInsert } from '../common/index.ts'
import type { Store } from '../stores/contract/index.ts'
import { Breaker, breakerOf } from './breaker.ts'

/** A part (shard) of the store, and the last key of this limiter that belonged to the part. */
interface Part {
  readonly breaker: Breaker
  key: string
}

/**
 * The parts (shards) of a store that a limiter uses, such as the nodes of Redis Cluster. Each part has a circuit breaker, which all
 * limiters share (except limiters whose calls nobody waits for). While a part fails, the option `onStoreError` decides about calls on the keys of that part. The other parts still decide
 * on their keys.
 */
export class StoreParts {
  readonly #store: Store
  readonly #breaker: (shard: string | undefined) => Breaker
  /** The one breaker of a store without parts; undefined for a store with parts. */
  readonly #whole: readonly Breaker[] | undefined
  readonly #parts = new Map<string, Part>()

  /** @param apart true for breakers that no other limiter shares */
  constructor(store: Store, clock: Clock, apart = false) {
    this.#store = store
    this.#breaker = (shard) => (apart ? new Breaker(store, clock, shard, apart) : breakerOf(store, clock, shard))
    this.#whole = store.traits?.shardOf === undefined ? [this.#breaker(undefined)] : undefined
  }

  /** True for a store with parts (shards). */
  get several(): boolean {
    return this.#whole === undefined
  }

  /**
   * The breakers of the parts (shards) that decide on these keys: an empty list if there are no keys. For a store without parts, the list
   * always has the store's one breaker.
   */
  of(keys: readonly (string | undefined)[] = []): readonly Breaker[] {
    if (this.#whole !== undefined) return this.#whole
    return [...new Set(keys.flatMap((key) => (key === undefined ? [] : this.#breakerOf(key))))]
  }

  #breakerOf(key: string): Breaker {
    const shard = this.#store.traits?.shardOf?.(key) as string
    const part = getOrInsert(this.#parts, shard, (): Part => ({ breaker: this.#breaker(shard), key }))
    part.key = key
    return part.breaker
  }

  /**
   * The breakers of all parts (shards) that this limiter has used. A part is left out if its last key has moved to another part, for
   * example because the cluster got a new node.
   */
  get breakers(): readonly Breaker[] {
    const { shardOf } = this.#store.traits ?? {}
    const present = [...this.#parts].filter(([name, { key }]) => shardOf?.(key) === name)
    return this.#whole ?? present.map(([, { breaker }]) => breaker)
  }
}
