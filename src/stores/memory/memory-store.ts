import { type Clock, clockOr, monotonicClock, oneOf, readOptions, whole } from '../../common/index.ts'
import type { Ledger, LedgerTerms, Store, StoreTraits } from '../contract/index.ts'
import type { Seed } from './key-hash.ts'
import type { Capacity, KeyTable } from './key-table.ts'
import { type LimiterKeys, MemoryLedger } from './memory-ledger.ts'

/** The options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * The most keys in memory, for each scope (kind of key) of each limiter. Default 1,000,000: these keys take about 110 MB if they are IP
   * addresses and all in use. Memory is allocated as keys come, and reused when a key has its full quota again.
   */
  maxKeys?: number | undefined
  /**
   * What happens to a live key (a key below its full quota) that is evicted to make space for another key. `'remember'` (default): the
   * states of the evicted key move to an overflow table of fixed size, and are found there by the key's next call. With far more than ten
   * times `maxKeys` live keys, some keys are refused because of other keys. With several plans (sets of policies), some keys are forgotten
   * instead. `'forget'`: the key has its full quota at its next call. With more live keys than `maxKeys`, many times the limit is admitted.
   *
   * Each scope of each limiter has an overflow table, which is made when the first key is evicted. It has 12 * `maxKeys` places
   * for evicted keys. A place takes 28 bytes under a bucket, and 36 or 44 bytes under a window. The table takes at most 64 MiB. With
   * several plans, a place in use takes about 200 bytes, and the table takes at most 128 MiB. docs/memory.md has the figures.
   */
  onFull?: 'remember' | 'forget' | undefined
  /** Returns whole microseconds since the epoch. Default: a monotonic clock. */
  clock?: Clock | undefined
}

const readers = {
  maxKeys: whole(1_000_000),
  onFull: oneOf('remember', 'forget'),
  clock: clockOr(monotonicClock),
}

/**
 * The counts of a memory store: the sum over all limiters that are in use.
 * The examples are for `maxKeys: 2` and three keys that have each used up their limit.
 */
export interface MemoryStoreStats {
  /** Keys in memory now, at most `maxKeys` for each scope (kind of key) of each limiter. In the example: 2. */
  readonly keys: number
  /** How many keys were evicted below their full quota. In the example: 1. If this number grows, raise `maxKeys`. */
  readonly evictions: number
  /** Evicted keys that share no place with other keys in the overflow table now. In the example: 1. */
  readonly remembered: number
  /**
   * How many evicted keys found no free place and were merged with other keys. In the example: 0. If this number grows,
   * some keys are refused because of other keys.
   */
  readonly merged: number
  /** How many keys were forgotten below their full quota. In the example: 0. If this number grows, some keys are admitted too often. */
  readonly forgotten: number
}

/**
 * Makes a store in the memory of this process: synchronous, with a bounded number of keys, without timers.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new MemoryStore(options)
}

// The class below assigns this function, because only code inside the class can read its private fields.
let countKeys: typeof keysIn

/** A store in the memory of this process. `memoryStore` returns it. */
export class MemoryStore implements Store {
  readonly synchronous = true
  readonly traits: StoreTraits = { kind: 'memory', exclusive: true, alternatives: true }
  readonly #clock: Clock
  readonly #capacity: Capacity
  /** The keys of each limiter. A limiter that is not used any more is garbage-collected with its keys. */
  readonly #limiters = new Set<WeakRef<LimiterKeys>>()
  readonly #collected = new FinalizationRegistry<WeakRef<LimiterKeys>>((keys) => this.#limiters.delete(keys))

  /** @param seed for tests: with a seed, keys get the same places in the overflow table in every run */
  constructor(options: MemoryStoreOptions, seed?: Seed) {
    const { maxKeys, onFull, clock } = readOptions('memoryStore', options, readers)
    this.#clock = clock
    this.#capacity = { maxKeys, remembers: onFull === 'remember', seed }
  }

  open(terms: LedgerTerms, joins?: Ledger): Ledger {
    if (joins instanceof MemoryLedger) return joins.joined(terms)
    const ledger = new MemoryLedger(terms, this.#capacity, this.#clock)
    const keys = new WeakRef(ledger.keys)
    this.#limiters.add(keys)
    this.#collected.register(ledger.keys, keys)
    return ledger
  }

  /** Counts the keys of every limiter. This method is fast enough for a gauge that is read each second. */
  stats(): MemoryStoreStats {
    const tables = [...this.#limiters].flatMap((keys) => [...(keys.deref()?.tables.values() ?? [])])
    const sum = (count: (table: KeyTable) => number) => tables.reduce((total, table) => total + count(table), 0)
    return {
      keys: sum(({ size }) => size),
      evictions: sum(({ evictions }) => evictions),
      remembered: sum(({ remembered }) => remembered),
      merged: sum(({ merged }) => merged),
      forgotten: sum(({ forgotten }) => forgotten),
    }
  }
  static {
    countKeys = (store) => (#limiters in store ? (store as MemoryStore).stats().keys : undefined)
  }
}

/** How many keys a MemoryStore has; undefined for any other store, even if it is a wrapper around a MemoryStore. */
export function keysIn(store: Store): number | undefined {
  return countKeys(store)
}
