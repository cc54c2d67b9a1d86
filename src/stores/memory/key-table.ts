/*
 * The keys of one scope: a Map from key to the row of its states.
 *
 * No object and no timer per key. A row that is like new again is dropped in passing: each new key looks at the next
 * few rows. When the table is full, the row that gives way is the one whose loss matters least: among the next few, one
 * that is like new, else the one with most left. A key that is being refused goes only when all of them are. (Least
 * recently used would be the wrong order: a flood of new keys would free just those who wait as they were told.) What
 * gives way while it still counts is remembered in little room: see sketch.ts.
 */
import { digest } from '../encode.ts'
import { idle, left, type Rows, type State } from './flat-states.ts'
import { cells, type Found, nothing, type OverflowTable } from './overflow.ts'

/** Row 0 stays zero: the state of every key that is not here. */
export const blank = 0

/** Rows looked at for a new key while there is room, and once there is none. */
const swept = 2
const considered = 16
/** How long a key is kept at least while there is room, in microseconds: one that calls all the time need not move. */
const grace = 10_000_000

/** Longer keys are kept as their digest, so that the bound in keys is a bound in bytes. */
const longestKey = 86

/** The UTF-16 units of a key: UTF-8 would make all lone surrogates one. */
function utf16(key: string): Uint8Array {
  return new Uint8Array(Uint16Array.from({ length: key.length }, (_, n) => key.charCodeAt(n)).buffer)
}

/** A digest is padded to one character more than any key that is kept as it is, so that the two never collide. */
function kept(key: string): string {
  return key.length > longestKey ? digest(utf16(key)).padStart(longestKey + 1, '#') : key
}

const none: readonly State[] = []

/** Makes what remembers keys. @param like what remembers those of a table that is taken over */
export type MakeSketch = (like?: OverflowTable) => OverflowTable

export class KeyTable {
  readonly #maxKeys: number
  readonly #states: Rows
  readonly #rowOf = new Map<string, number>()
  /** By row; undefined where a row is free. */
  readonly #keyOf: (string | undefined)[] = [undefined]
  #refused = new Uint8Array(0)
  readonly #free: number[] = []
  #hand = 0
  /** Without one, keys that have to give way are forgotten. */
  readonly #makeSketch: MakeSketch | undefined
  #sketch: OverflowTable | undefined
  #evictions = 0

  constructor(states: Rows, maxKeys: number, makeSketch: MakeSketch | undefined) {
    this.#states = states
    this.#maxKeys = maxKeys
    this.#makeSketch = makeSketch
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

  /** What is remembered of a key without a row. */
  recall(key: string): Found {
    return this.#sketch === undefined ? nothing : this.#sketch.find(kept(key))
  }

  /** The states that were found last, until others are asked for. */
  statesOf(found: Found, now: number): readonly State[] {
    return found === nothing ? none : (this.#sketch as OverflowTable).read(found, now)
  }

  /** A row for a key that has none. @param found what `recall` said of it */
  claim(key: string, found: Found, now: number): number {
    const row = this.#free.pop() ?? this.#nextRow()
    if (found !== nothing) this.#states.copy(this.statesOf(found, now), row, now)
    if (found === cells) this.#states.reopen(row, now)
    this.#sketch?.release(found)
    this.#makeRoom(now)
    this.#enter(kept(key), row)
    return row
  }

  #enter(name: string, row: number): void {
    this.#keyOf[row] = name
    this.#rowOf.set(name, row)
  }

  #nextRow(): number {
    const row = this.#keyOf.push(undefined) - 1
    // One row more than keys: who comes has one before another gives way.
    if (row === this.#refused.length) this.#resize(Math.min(2 * row, this.#maxKeys + 2))
    this.#states.clear(row)
    return row
  }

  /** Makes the key like new. Cells that it shares cannot: it gets a row of its own, as long as there is room for one. */
  forget(key: string, now: number): void {
    const row = this.find(key)
    if (row !== blank) this.#release(row)
    this.#sketch?.release(this.recall(key))
    if (this.recall(key) !== nothing) this.claim(key, nothing, now)
  }

  /** Takes over the keys of another table. @param change what becomes of their states */
  takeOver(from: KeyTable, now: number, change: (states: readonly State[]) => readonly State[]): void {
    for (const [name, row] of from.#rowOf) {
      const to = this.#nextRow()
      this.#states.copy(change(from.#states.read(row)), to, now)
      this.#refused[to] = from.#refused[row] as number
      this.#enter(name, to)
    }
    this.#evictions = from.#evictions
    if (from.#sketch === undefined) return
    this.#sketch = this.#makeSketch?.(from.#sketch)
    this.#sketch?.takeOver(from.#sketch, now, change)
  }

  /** Notes that the key was refused, so that it is the last to give way. */
  noteRefused(row: number): void {
    this.#refused[row] = 1
  }

  /** Whether that was noted. */
  refused(row: number): boolean {
    return this.#refused[row] === 1
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
      const leaves = this.#left(this.#hand, now)
      if (leaves === 1) {
        if (!full && idle(this.#states.read(this.#hand), now) < grace) continue
        this.#release(this.#hand)
        if (full) return
      } else if (leaves > most) {
        most = leaves
        victim = this.#hand
      }
    }
    if (full) this.#evict(victim, now)
  }

  /** How much a key has left by its tightest policy; -1 if it has been refused since it was new. */
  #left(row: number, now: number): number {
    const most = left(this.#states.read(row), now)
    return most < 1 && this.#refused[row] === 1 ? -1 : most
  }

  #evict(row: number, now: number): void {
    this.#evictions++
    this.#sketch ??= this.#makeSketch?.()
    this.#sketch?.remember(this.#keyOf[row] as string, this.#states.read(row), now)
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
