import { type Clock, clockOr, monotonicClock, oneOf, readOptions, whole } from '../../common/index.ts'
import type { Ledger, LedgerTerms, Store, StoreTraits } from '../contract/index.ts'
import type { Seed } from './key-hash.ts'
import type { Capacity, KeyTable } from './key-table.ts'
import { type LimiterKeys, MemoryLedger } from './memory-ledger.ts'

/** The options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * The most keys held for each scope of each limiter. Default 1,000,000, which takes about 110 MB if all are in use and
   * are addresses. Memory is taken as keys come, and reused once a key has its full quota again.
   */
  maxKeys?: number
  /**
   * What happens to a live key (one below its full quota) that is evicted to make space for another. `'remember'`
   * (default): its states move to an overflow table of fixed size, and are found there when it comes back. With far more
   * than ten times `maxKeys` live keys, some keys are refused because of others; under plans, some are forgotten instead.
   * `'forget'`: the key has its full quota when it comes back. With more live keys than `maxKeys`, that admits many times
   * the limit.
   *
   * The overflow table is made when it is first needed, for each scope of each limiter. It has 12 * `maxKeys` places of
   * 28 bytes with a bucket and 36 or 44 with a window, at most 64 MiB. Under plans a place that is in use takes about 200
   * bytes, at most 128 MiB. docs/memory.md has the figures.
   */
  onFull?: 'remember' | 'forget'
  /** A clock of whole microseconds since the epoch. Default: a monotonic clock. */
  clock?: Clock
}

const readers = {
  maxKeys: whole(1_000_000),
  onFull: oneOf('remember', 'forget'),
  clock: clockOr(monotonicClock),
}

/**
 * The counts of a memory store, summed over the limiters that are in use.
 *
 * The examples are of `maxKeys: 2` and three keys that have each used up their limit.
 */
export interface MemoryStoreStats {
  /** Keys held now, at most `maxKeys` for each scope of each limiter: 2. */
  readonly keys: number
  /** How many keys were evicted below their full quota: 1. If this grows, raise `maxKeys`. */
  readonly evictions: number
  /** Evicted keys that have a place of their own in the overflow table now: 1. */
  readonly remembered: number
  /**
   * How many evicted keys found no place and were merged with others: 0. If this grows, some keys are refused because of
   * others.
   */
  readonly merged: number
  /** How many keys were forgotten below their full quota: 0. If this grows, some keys are admitted too often. */
  readonly forgotten: number
}

/**
 * States in the memory of this process: synchronous, bounded, without timers.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK`
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new MemoryStore(options)
}

// The class assigns it: only the class reaches its private fields.
let countKeys: typeof keysIn

/** A store in the memory of this process, as `memoryStore` returns it. */
export class MemoryStore implements Store {
  readonly synchronous = true
  readonly traits: StoreTraits = { kind: 'memory', exclusive: true }
  readonly #clock: Clock
  readonly #capacity: Capacity
  /** Weak references: a limiter that is no longer used is garbage-collected with its states. */
  readonly #limiters = new Set<WeakRef<LimiterKeys>>()
  readonly #collected = new FinalizationRegistry<WeakRef<LimiterKeys>>((keys) => this.#limiters.delete(keys))

  /** @param seed for tests: with it, keys get the same places in the overflow table in every run */
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

  /** Counts the keys of every limiter: fast enough for a gauge that is read each second. */
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

/** How many keys a store of this class holds. Undefined for any other store, also for one that delegates to a memory store. */
export function keysIn(store: Store): number | undefined {
  return countKeys(store)
}
