import { isolatesRequests, realTimers } from '#platform'
import { type Clock, getOrInsert } from '../common/index.ts'
import type { Store } from '../stores/contract/index.ts'
import { Breaker, breakerOf } from './breaker.ts'

/** In a store with parts, after how many milliseconds to look if a key has moved to another part, as after a failover. */
const movedAfter = 1000

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
  #moves = 0

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

  /** How often the last key of a part has moved to another part. The part is then forgotten. */
  get moves(): number {
    for (const [name, { key }] of this.#parts) {
      if (this.#store.traits?.shardOf?.(key) !== name && this.#parts.delete(name)) this.#moves++
    }
    return this.#moves
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

/** Work on keys that waits for their parts (shards). A key may move to another part, whose responses the work does not wait for. */
export class MovedKeys {
  readonly #parts: StoreParts
  readonly #waits: () => boolean
  readonly #look: () => void
  #timer: unknown
  #seen = 0

  /**
   * @param waits true while work waits
   * @param look runs the work on all keys whose parts respond now
   */
  constructor(parts: StoreParts, waits: () => boolean, look: () => void) {
    this.#parts = parts
    this.#waits = waits
    this.#look = look
  }

  /** Calls `look` when keys have moved. Looks each second. Does nothing for a store without parts, and in Cloudflare Workers. */
  lookLater(): void {
    if (this.#timer !== undefined || !this.#parts.several || isolatesRequests) return
    this.#seen = this.#parts.moves
    const timer = realTimers.setTimeout(() => {
      this.#timer = undefined
      if (this.#parts.moves !== this.#seen) this.#look()
      else if (this.#waits()) this.lookLater()
    }, movedAfter)
    timer.unref?.()
    this.#timer = timer
  }
}
