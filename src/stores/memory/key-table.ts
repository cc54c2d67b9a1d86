/*
 * The keys of one scope (kind of key, such as users): a Map from each key to the row with the key's states. No object and no timer is made
 * for a key.
 *
 * No code goes through all rows of the table. When a new key comes, the next few rows are checked, and rows whose keys have their
 * full quota again are freed. When the table is full, one of the checked keys is evicted: the key with most quota left. A refused
 * key is evicted only if all checked keys are refused. (Evicting the least recently used key would be wrong: many new keys would
 * evict the refused keys that wait, and a refused key would come back with its full quota.) A key that is evicted below its full
 * quota goes to the overflow table.
 */
import type { Policy } from '../../algorithms/index.ts'
import { ownText } from '../../common/index.ts'
import { randomSeed, type Seed } from './key-hash.ts'
import { keyName } from './key-name.ts'
import { nothing, type OverflowLocation, OverflowTable } from './overflow-table.ts'
import { idleTime, quotaLeft, type State, stateTime } from './state.ts'
import { StateRows } from './state-rows.ts'

/** How many keys a table may have, and what happens to evicted keys. */
export interface Capacity {
  readonly maxKeys: number
  /** True if evicted keys go to an overflow table; false if they are forgotten. */
  readonly remembers: boolean
  /** The seed of the hashes, for tests. Default: a random seed for each overflow table. */
  readonly seed: Seed | undefined
}

/**
 * The number of the row whose states are always zero, as the states of a new key are. The states of a key without a row are
 * read from this row.
 */
export const blank = 0

/** How many rows are checked when a new key comes: `swept` rows while the table has space, `considered` rows when it is full. */
const swept = 2
const considered = 16
/** While the table has space, the row of a key is freed only if the key was not used for this time: 10 s, in microseconds. */
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
  /** The last row (of one key) that was checked. The check for the next new key begins with the next row. */
  #hand = 0
  /** The table of evicted keys. The table is made when the first key is evicted. */
  #overflow: OverflowTable | undefined
  /** How many keys were evicted below their full quota. */
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

  /** True if the rows have the states of exactly these policies. */
  isFor(policies: readonly Policy[]): boolean {
    const own = this.#policies
    return !this.states.shared && policies.length === own.length && policies.every((policy, n) => policy === own[n])
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

  /** The row of a key; `blank` if the key has no row. */
  find(key: string): number {
    const row = this.#rowOf.get(keyName(key))
    return row === undefined ? blank : row
  }

  /** True if the key with this name has a row. */
  has(name: string): boolean {
    return this.#rowOf.has(name)
  }

  /** The keys of the next `size` rows of this table. `next` is the row at which to continue; undefined after the last row. */
  rowsFrom(from: number, size: number): { rows: { name: string; row: number }[]; next: number | undefined } {
    const rows: { name: string; row: number }[] = []
    let row = Math.max(from, blank + 1)
    for (; row < this.#keyOf.length && rows.length < size; row++) {
      const name = this.#keyOf[row]
      if (name !== undefined) rows.push({ name, row })
    }
    return { rows, next: row < this.#keyOf.length ? row : undefined }
  }

  /** Finds a key that has no row in this table: returns the location of the key in the overflow table. */
  recall(key: string): OverflowLocation {
    return this.#overflow === undefined ? nothing : this.#overflow.find(keyName(key))
  }

  /** The states of the key for which `recall` was called last. @param found the result of that call */
  recalled(found: OverflowLocation, now: number): readonly State[] {
    return found === nothing ? none : (this.#overflow as OverflowTable).read(found, now)
  }

  /**
   * Gives a row to a key without a row, and moves the key's states from the overflow table to the row. Returns the row. @param found what
   * `recall` returned for the key
   */
  claim(key: string, found: OverflowLocation, now: number): number {
    const row = this.#free.pop() ?? this.#nextRow()
    if (found !== nothing) this.states.copy(this.recalled(found, now), row, now)
    this.#overflow?.release(found)
    this.#sweep(now)
    this.#enter(ownText(keyName(key)), row)
    return row
  }

  #enter(name: string, row: number): void {
    this.#keyOf[row] = name
    this.#rowOf.set(name, row)
  }

  #nextRow(): number {
    const row = this.#keyOf.push(undefined) - 1
    // The table needs at most `maxKeys` rows and two more: the row `blank`, and the row that a new key gets before another key is evicted.
    if (row === this.#refused.length) this.#resize(Math.min(2 * row, this.#capacity.maxKeys + 2))
    this.states.clear(row)
    return row
  }

  /**
   * Removes the states of a key, so that it has its full quota. A key cannot be removed from the shared cells of the overflow table,
   * because other keys use these cells too. Such a key gets a new row with its full quota, until the row is evicted.
   */
  forget(key: string, now: number): void {
    const row = this.find(key)
    if (row !== blank) this.#release(row)
    this.#overflow?.release(this.recall(key))
    if (this.recall(key) !== nothing) this.claim(key, nothing, now)
  }

  /** Ends the ban that a penalty policy (automatic bans) began for the key. */
  unban(key: string, now: number): void {
    const known = this.find(key)
    const found = known === blank ? this.recall(key) : nothing
    if (known === blank && found === nothing) return
    const row = known === blank ? this.claim(key, found, now) : known
    for (const state of this.states.read(row)) {
      state.policy.algorithm.unban?.(state.s, state.i, stateTime(state, now))
    }
  }

  clear(): void {
    for (const row of this.#rowOf.values()) this.#release(row)
    this.#overflow = undefined
  }

  /** Changes the layout of the states, so that several plans (sets of policies) can share them. */
  share(now: number): void {
    this.states.share(now)
    this.#overflow?.share(now)
  }

  /** Lets the policies of an override have states in single rows. The other rows do not change. */
  mix(now: number): void {
    this.states.mix()
    this.#overflow?.share(now)
  }

  /** Converts the states to policies with the same names and other limits. The limiter must have only one plan (set of policies). */
  retune(policies: readonly Policy[], now: number): void {
    this.#policies = policies
    this.states = this.states.retuned(policies, now)
    this.#overflow?.retune(policies, now)
  }

  /** Notes that the key in this row was refused, so that it is evicted only after keys that were not refused. */
  noteRefused(row: number): void {
    this.#refused[row] = 1
  }

  isRefused(row: number): boolean {
    return this.#refused[row] === 1
  }

  /** Frees rows whose keys have their full quota. If the table is full and no such row is found, evicts a key. */
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

  /**
   * The part of its quota that the key in this row has left, from 0 to 1; -1 for a key that was refused and is still below its full
   * quota.
   */
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

  /**
   * Makes the overflow table. The seed is made here and not while the module loads, because Cloudflare Workers allow no random numbers
   * while a module loads.
   */
  #newOverflow(): OverflowTable {
    const { maxKeys, seed = randomSeed() } = this.#capacity
    return new OverflowTable(this.#policies, this.states.shared || this.states.mixed, maxKeys, seed)
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
