/*
 * The keys of one scope: a Map from key to the row of its states. No object and no timer for each key.
 *
 * There is no sweep over the whole table. Each new key looks at the next few rows and frees those that have their full
 * quota again. When the table is full, it evicts one of these rows: the row with most quota left. A refused key is evicted
 * only if all of these rows are refused. (Least recently used would be the wrong order: a flood of new keys would evict
 * the refused keys that wait, and give them their full quota.) A key that is evicted below its full quota goes to the
 * overflow table.
 */
import type { Policy } from '../../algorithms/index.ts'
import { randomSeed, type Seed } from './key-hash.ts'
import { keyName } from './key-name.ts'
import { nothing, type OverflowLocation, OverflowTable } from './overflow-table.ts'
import { idleTime, quotaLeft, type State, stateTime } from './state.ts'
import { StateRows } from './state-rows.ts'

/** How many keys a table holds. */
export interface Capacity {
  readonly maxKeys: number
  /** False if an evicted key is forgotten. */
  readonly remembers: boolean
  /** For tests. Default: each overflow table has a seed of its own. */
  readonly seed: Seed | undefined
}

/** The number of the row that stays zero: it stands for every key without a row. */
export const blank = 0

/** How many rows a new key looks at: while the table has space, and once it is full. */
const swept = 2
const considered = 16
/** The shortest time that a row is kept while the table has space, in microseconds, so that a steady caller keeps its row. */
const grace = 10_000_000

const none: readonly State[] = []

export class KeyTable {
  states: StateRows
  #policies: readonly Policy[]
  readonly #capacity: Capacity
  readonly #rowOf = new Map<string, number>()
  /** The key of each row; undefined if the row is free. */
  readonly #keyOf: (string | undefined)[] = [undefined]
  #refused = new Uint8Array(0)
  readonly #free: number[] = []
  /** The row that the next new key looks at first, like the hand of a clock. */
  #hand = 0
  /** Created when it is first needed. */
  #overflow: OverflowTable | undefined
  /** How often a key was evicted below its full quota. */
  evictions = 0

  constructor(policies: readonly Policy[], capacity: Capacity) {
    this.states = new StateRows(policies, false)
    this.#policies = policies
    this.#capacity = capacity
    this.#resize(Math.min(1024, capacity.maxKeys + 2))
    this.states.clear(blank)
  }

  get size(): number {
    return this.#rowOf.size
  }

  get remembered(): number {
    return this.#overflow?.remembered ?? 0
  }

  get merged(): number {
    return this.#overflow?.merged ?? 0
  }

  get forgotten(): number {
    return this.#capacity.remembers ? (this.#overflow?.forgotten ?? 0) : this.evictions
  }

  /** The key's row, or `blank`. */
  find(key: string): number {
    const row = this.#rowOf.get(keyName(key))
    return row === undefined ? blank : row
  }

  /** True if the key of that name has a row. */
  has(name: string): boolean {
    return this.#rowOf.has(name)
  }

  /** The keys in the next rows, at most `size` of them. `next` is the row to go on from; undefined after the last row. */
  rowsFrom(from: number, size: number): { rows: { name: string; row: number }[]; next: number | undefined } {
    const rows: { name: string; row: number }[] = []
    let row = Math.max(from, blank + 1)
    for (; row < this.#keyOf.length && rows.length < size; row++) {
      const name = this.#keyOf[row]
      if (name !== undefined) rows.push({ name, row })
    }
    return { rows, next: row < this.#keyOf.length ? row : undefined }
  }

  /** Looks in the overflow table for a key that has no row. */
  recall(key: string): OverflowLocation {
    return this.#overflow === undefined ? nothing : this.#overflow.find(keyName(key))
  }

  /** The states of the key that `recall` found last. */
  recalled(found: OverflowLocation, now: number): readonly State[] {
    return found === nothing ? none : (this.#overflow as OverflowTable).read(found, now)
  }

  /** Gives a row to a key that has none. @param found what `recall` returned for the key */
  claim(key: string, found: OverflowLocation, now: number): number {
    const row = this.#free.pop() ?? this.#nextRow()
    if (found !== nothing) this.states.copy(this.recalled(found, now), row, now)
    this.#overflow?.release(found)
    this.#sweep(now)
    this.#enter(keyName(key), row)
    return row
  }

  #enter(name: string, row: number): void {
    this.#keyOf[row] = name
    this.#rowOf.set(name, row)
  }

  #nextRow(): number {
    const row = this.#keyOf.push(undefined) - 1
    // The table has one row more than keys: a new key gets its row before another key is evicted.
    if (row === this.#refused.length) this.#resize(Math.min(2 * row, this.#capacity.maxKeys + 2))
    this.states.clear(row)
    return row
  }

  /**
   * Forgets the key. A key in shared cells, which cannot forget a single key, gets a new row instead. That row may be evicted
   * later.
   */
  forget(key: string, now: number): void {
    const row = this.find(key)
    if (row !== blank) this.#release(row)
    this.#overflow?.release(this.recall(key))
    if (this.recall(key) !== nothing) this.claim(key, nothing, now)
  }

  /** Ends the ban that a penalty has given the key. */
  unban(key: string, now: number): void {
    const known = this.find(key)
    const found = known === blank ? this.recall(key) : nothing
    if (known === blank && found === nothing) return
    const row = known === blank ? this.claim(key, found, now) : known
    for (const state of this.states.read(row)) {
      state.policy.algorithm.unban?.(state.s, state.i, stateTime(state, now))
    }
  }

  /** Forgets all keys. */
  clear(): void {
    for (const row of this.#rowOf.values()) this.#release(row)
    this.#overflow = undefined
  }

  /** Lets several plans share the states. */
  share(now: number): void {
    this.states.share(now)
    this.#overflow?.share(now)
  }

  /** Continues the states under the same policies with other limits, for a limiter with one plan. */
  retune(policies: readonly Policy[], now: number): void {
    this.#policies = policies
    this.states = this.states.retuned(policies, now)
    this.#overflow?.retune(policies, now)
  }

  /** Notes that the key was refused, so that it is evicted last. */
  noteRefused(row: number): void {
    this.#refused[row] = 1
  }

  isRefused(row: number): boolean {
    return this.#refused[row] === 1
  }

  /** Frees rows that have their full quota again. If the table stays full, evicts the row with most quota left. */
  #sweep(now: number): void {
    this.#overflow?.sweep(now)
    const full = this.#rowOf.size >= this.#capacity.maxKeys
    let victim = blank
    let most = -Infinity
    for (let looked = full ? considered : swept; looked > 0; looked--) {
      this.#hand = this.#hand + 1 < this.#keyOf.length ? this.#hand + 1 : 1
      if (this.#keyOf[this.#hand] === undefined) continue
      const quota = this.#quotaLeft(this.#hand, now)
      if (quota === 1) {
        if (!full && idleTime(this.states.read(this.#hand), now) < grace) continue
        this.#release(this.#hand)
        if (full) return
      } else if (quota > most) {
        most = quota
        victim = this.#hand
      }
    }
    if (full) this.#evict(victim, now)
  }

  /** The part of a row's quota that is left; -1 for a key that was refused since it last had its full quota. */
  #quotaLeft(row: number, now: number): number {
    const quota = quotaLeft(this.states.read(row), now)
    return quota < 1 && this.#refused[row] === 1 ? -1 : quota
  }

  #evict(row: number, now: number): void {
    this.evictions++
    if (this.#capacity.remembers) this.#overflow ??= this.#newOverflow()
    this.#overflow?.remember(this.#keyOf[row] as string, this.states.read(row), now)
    this.#release(row)
  }

  /** Makes the overflow table. Its seed is drawn only now: workers allow no random numbers while a module loads. */
  #newOverflow(): OverflowTable {
    const { maxKeys, seed = randomSeed() } = this.#capacity
    return new OverflowTable(this.#policies, this.states.shared, maxKeys, seed)
  }

  #release(row: number): void {
    this.#rowOf.delete(this.#keyOf[row] as string)
    this.#keyOf[row] = undefined
    this.#refused[row] = 0
    this.states.clear(row)
    this.#free.push(row)
  }

  #resize(rows: number): void {
    this.states.resize(rows)
    const refused = new Uint8Array(rows)
    refused.set(this.#refused)
    this.#refused = refused
  }
}
