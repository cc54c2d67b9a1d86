/*
 * The keys of one scope: a Map from key to the row of its states.
 *
 * No object and no timer per key. A row that is like new again is dropped in passing: each new key looks at the next
 * few rows. When the table is full, the row that gives way is the one whose loss matters least: among the next few, one
 * that is like new, else the one with most left. A key that is being refused goes only when all of them are. (Least
 * recently used would be the wrong order: a flood of new keys would free just those who wait as they were told.) What
 * gives way while it still counts is remembered in little room: see sketch.ts.
 */
import { createHash } from 'node:crypto'
import type { Policy } from '../algorithms/algorithm.ts'
import { Weighing } from '../algorithms/step.ts'
import type { Seed } from './key-hash.ts'
import { cells, type Found, nothing, Sketch } from './sketch.ts'
import { type Rows, States } from './states.ts'

/** Row 0 stays zero: the state of every key that is not here. */
export const blank = 0

/** Rows looked at for a new key while there is room, and once there is none. */
const swept = 2
const considered = 16
/** How long a key is kept at least while there is room, in microseconds: one that calls all the time need not move. */
const grace = 10_000_000

/** Longer keys are kept as their digest, so that the bound in keys is a bound in bytes. */
const longestKey = 86

/** The SHA-512 of a key in 87 characters, one more than any key that is kept as it is. */
function digest(key: string): string {
  // UTF-16 as it stands in memory: UTF-8 would make all lone surrogates one.
  return `#${createHash('sha512').update(key, 'utf16le').digest('base64url')}`
}

function kept(key: string): string {
  return key.length > longestKey ? digest(key) : key
}

export class Table {
  #policies: readonly Policy[]
  /** For looking at rows in passing. */
  #weighings: readonly Weighing[]
  readonly #maxKeys: number
  readonly #states: Rows
  readonly #rowOf = new Map<string, number>()
  #keyOf: (string | undefined)[] = [undefined]
  #refused = new Uint8Array(0)
  readonly #free: number[] = []
  #hand = 0
  /** Places remembered keys; without one they are forgotten. */
  readonly #seed: Seed | undefined
  #sketch: Sketch | undefined
  #evictions = 0

  constructor(policies: readonly Policy[], maxKeys: number, seed: Seed | undefined, states?: Rows) {
    this.#policies = policies
    this.#weighings = policies.map((policy) => new Weighing(policy))
    this.#maxKeys = maxKeys
    this.#seed = seed
    this.#states = states ?? new States(policies, false)
    this.#resize(Math.min(1024, maxKeys + 2))
    this.#states.clear(blank)
  }

  get size(): number {
    return this.#rowOf.size
  }

  /** Keys that had to give way while they still counted. */
  get evictions(): number {
    return this.#evictions
  }

  get remembered(): number {
    return this.#sketch?.held ?? 0
  }

  get merged(): number {
    return this.#sketch?.merged ?? 0
  }

  /** The key's row, or `blank`. */
  find(key: string): number {
    const row = this.#rowOf.get(kept(key))
    return row === undefined ? blank : row
  }

  /** Points each weighing, one per policy of this table, to its state in that row. */
  point(weighings: readonly Weighing[], row: number): void {
    this.#states.point(weighings, row)
  }

  /** Points the weighings to what a key without a row starts from. */
  recall(weighings: readonly Weighing[], key: string, now: number): Found {
    const sketch = this.#sketch
    const found = sketch === undefined || sketch.empty ? nothing : sketch.find(weighings, kept(key), now)
    if (found === nothing) this.#states.point(weighings, blank)
    return found
  }

  /** A row for a key that has none. @param found what `recall` said, with the weighings as it left them */
  claim(weighings: readonly Weighing[], key: string, found: Found, now: number): number {
    const row = this.#free.pop() ?? this.#nextRow()
    if (found !== nothing) this.#states.copy(weighings, row, now)
    if (found === cells) this.#states.reopen(row, now)
    this.#sketch?.release(found)
    this.#makeRoom(now)
    const name = kept(key)
    this.#keyOf[row] = name
    this.#rowOf.set(name, row)
    return row
  }

  #nextRow(): number {
    const row = this.#keyOf.push(undefined) - 1
    // One row more than keys: who comes has one before another gives way.
    if (row === this.#refused.length) this.#resize(Math.min(2 * row, this.#maxKeys + 2))
    this.#states.clear(row)
    return row
  }

  /** Makes the key like new. Cells that it shares cannot: it gets a row of its own, as long as there is room for one. */
  forget(weighings: readonly Weighing[], key: string, now: number): void {
    const row = this.find(key)
    if (row !== blank) this.#release(row)
    this.#sketch?.release(this.recall(weighings, key, now))
    if (this.recall(weighings, key, now) !== nothing) this.claim(weighings, key, nothing, now)
  }

  /** Takes over the keys of another table. @param move copies the states of a row there to one here */
  takeOver(from: Table, move: (from: number, to: number) => void): void {
    for (const [name, row] of from.#rowOf) {
      const to = this.#nextRow()
      this.#keyOf[to] = name
      this.#rowOf.set(name, to)
      this.#refused[to] = from.#refused[row] as number
      move(row, to)
    }
  }

  /** Notes that the key was refused, so that it is the last to give way. */
  noteRefused(row: number): void {
    this.#refused[row] = 1
  }

  /** Whether that was noted. */
  refused(row: number): boolean {
    return this.#refused[row] === 1
  }

  /** Goes on under the same policies with other limits: each state is adopted. */
  retune(policies: readonly Policy[], now: number): void {
    this.#states.retune(policies, this.#rowOf.values(), now)
    this.#sketch?.retune(policies, now)
    this.#policies = policies
    this.#weighings = policies.map((policy) => new Weighing(policy))
  }

  /** Drops rows that are like new; if the table is full all the same, the one whose loss matters least gives way. */
  #makeRoom(now: number): void {
    this.#sketch?.sweep(now)
    const full = this.#rowOf.size >= this.#maxKeys
    let victim = blank
    let most = -Infinity
    for (let looked = full ? considered : swept; looked > 0; looked--) {
      this.#hand = this.#hand + 1 < this.#keyOf.length ? this.#hand + 1 : 1
      if (this.#keyOf[this.#hand] === undefined) continue
      const left = this.#left(this.#hand, now)
      if (left === 1) {
        if (!full && this.#states.idle(this.#hand, now) < grace) continue
        this.#release(this.#hand)
        if (full) return
      } else if (left > most) {
        most = left
        victim = this.#hand
      }
    }
    if (full) this.#evict(victim, now)
  }

  /** How much a key has left by its tightest policy; -1 if it has been refused since it was new. */
  #left(row: number, now: number): number {
    const left = this.#states.left(row, now)
    return left < 1 && this.#refused[row] === 1 ? -1 : left
  }

  #evict(row: number, now: number): void {
    this.#evictions++
    if (this.#seed !== undefined) {
      this.#sketch ??= new Sketch(this.#policies, this.#maxKeys, this.#seed)
      this.#states.point(this.#weighings, row)
      this.#sketch.remember(this.#weighings, this.#keyOf[row] as string, now)
    }
    this.#release(row)
  }

  #release(row: number): void {
    this.#rowOf.delete(this.#keyOf[row] as string)
    this.#keyOf[row] = undefined
    this.#refused[row] = 0
    this.#states.clear(row)
    this.#free.push(row)
  }

  #resize(rows: number): void {
    this.#states.resize(rows)
    const refused = new Uint8Array(rows)
    refused.set(this.#refused)
    this.#refused = refused
  }
}
