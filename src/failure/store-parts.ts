import type { Clock } from '../common/index.ts'
import type { Store } from '../stores/contract/index.ts'
import { type Breaker, breakerOf } from './breaker.ts'

/** A part of the store, and the last key that this part decided on for this limiter. */
interface Part {
  readonly breaker: Breaker
  key: string
}

/**
 * The parts (shards) of a store that a limiter uses, such as the nodes of Redis Cluster. Each has a circuit breaker,
 * shared by all calls that need it. While a part fails, this process decides the calls on its keys; the other parts go
 * on.
 */
export class StoreParts {
  readonly #store: Store
  readonly #clock: Clock
  /** The breaker of a store without parts; undefined for a store with parts. */
  readonly #whole: readonly Breaker[] | undefined
  readonly #parts = new Map<string, Part>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#whole = store.traits?.shardOf === undefined ? [breakerOf(store, clock)] : undefined
  }

  /** The breakers of the parts that decide on these keys; none without keys. A store without parts has one breaker. */
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

  /** The breakers of all parts that were used. A part that does not decide on its last key any more does not count. */
  get breakers(): readonly Breaker[] {
    const { shardOf } = this.#store.traits ?? {}
    const present = [...this.#parts].filter(([name, { key }]) => shardOf?.(key) === name)
    return this.#whole ?? present.map(([, { breaker }]) => breaker)
  }
}
