import type { Clock } from '../common/index.ts'
import type { Store } from '../stores/contract/index.ts'
import { type Breaker, breakerOf } from './breaker.ts'

/** A part, and the last key that it decided on for this limiter. */
interface Part {
  readonly breaker: Breaker
  key: string
}

/**
 * The parts of a store (shards) that one limiter asks, such as the nodes of Redis Cluster. Each has one circuit breaker, which all calls
 * share that need the part. While a part fails, this process decides calls on its keys, and the other parts decide as before.
 */
export class StoreParts {
  readonly #store: Store
  readonly #clock: Clock
  /** The breaker of a store without parts. */
  readonly #whole: readonly Breaker[] | undefined
  readonly #parts = new Map<string, Part>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#whole = store.traits?.shardOf === undefined ? [breakerOf(store, clock)] : undefined
  }

  /** The breakers of the parts that decide on these keys: none for a command without keys. A store without parts has one breaker. */
  of(keys: readonly (string | undefined)[] = []): readonly Breaker[] {
    if (this.#whole !== undefined) return this.#whole
    return [...new Set(keys.flatMap((key) => (key === undefined ? [] : this.#breakerOf(key))))]
  }

  #breakerOf(key: string): Breaker {
    const shard = this.#store.traits?.shardOf?.(key) as string
    let part = this.#parts.get(shard)
    if (part === undefined) {
      part = { breaker: breakerOf(this.#store, this.#clock, shard), key }
      this.#parts.set(shard, part)
    }
    part.key = key
    return part.breaker
  }

  /** The breakers of all parts that were asked. A part that lost its keys in a failover does not count. */
  get breakers(): readonly Breaker[] {
    const { shardOf } = this.#store.traits ?? {}
    const present = [...this.#parts].filter(([name, { key }]) => shardOf?.(key) === name)
    return this.#whole ?? present.map(([, { breaker }]) => breaker)
  }
}
