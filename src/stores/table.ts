/*
 * The keys of one scope and their states: a Map from key to row, and all rows in one array of numbers.
 *
 * No object and no timer per key. A row that is like new again is dropped in passing: each new key looks at the next
 * few rows. When the table is full, the row that gives way is the one whose loss matters least: among the next few, one
 * that is like new, else the one with most left. A key that is being refused goes only when all of them are. (Least
 * recently used would be the wrong order: a flood of new keys would free just those who wait as they were told.)
 */
import { createHash } from 'node:crypto'
import { type Policy, Report } from '../algorithms/algorithm.ts'
import { standing, Weighing } from '../algorithms/step.ts'

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

export class Table {
  #policies: readonly Policy[]
  /** For looking at rows in passing. */
  #weighings: readonly Weighing[]
  readonly #report = new Report()
  readonly #maxKeys: number
  readonly #rowOf = new Map<string, number>()
  #keyOf: (string | undefined)[] = [undefined]
  #refused = new Uint8Array(0)
  readonly #free: number[] = []
  #hand = 0

  /** Fixed-size states, `#width` numbers a row; `#offsets` is where in a row each policy's begins. */
  #slab = new Float64Array(0)
  readonly #width: number
  readonly #offsets: number[] = []
  /** Growing states, an array each: `#logs[row * #logsPerRow + offset]`. */
  readonly #logs: number[][] = []
  readonly #logsPerRow: number

  constructor(policies: readonly Policy[], maxKeys: number) {
    this.#policies = policies
    this.#weighings = policies.map((policy) => new Weighing(policy))
    this.#maxKeys = maxKeys
    let width = 0
    let logs = 0
    for (const { algorithm } of policies) {
      this.#offsets.push(algorithm.grows ? logs++ : width)
      if (!algorithm.grows) width += algorithm.slots
    }
    this.#width = width
    this.#logsPerRow = logs
    this.#resize(Math.min(1024, maxKeys + 1))
    this.#clearLogs(blank)
  }

  get size(): number {
    return this.#rowOf.size
  }

  /** The key's row, or `blank`. */
  find(key: string): number {
    const row = this.#rowOf.get(key.length > longestKey ? digest(key) : key)
    return row === undefined ? blank : row
  }

  /** A row for a key that has none. */
  claim(key: string, now: number): number {
    this.#makeRoom(now)
    const row = this.#free.pop() ?? this.#keyOf.length
    if (row === this.#refused.length) this.#resize(Math.min(2 * row, this.#maxKeys + 1))
    const kept = key.length > longestKey ? digest(key) : key
    this.#keyOf[row] = kept
    this.#rowOf.set(kept, row)
    this.#clearLogs(row)
    return row
  }

  forget(key: string): void {
    const row = this.find(key)
    if (row !== blank) this.#release(row)
  }

  /** Notes that the key was refused, so that it is the last to give way. */
  noteRefused(row: number): void {
    this.#refused[row] = 1
  }

  /** Points each weighing, one per policy of this table, to its state in that row. */
  point(weighings: readonly Weighing[], row: number): void {
    for (let n = 0; n < weighings.length; n++) {
      const weighing = weighings[n] as Weighing
      const offset = this.#offsets[n] as number
      if (weighing.algorithm.grows) {
        weighing.s = this.#logs[row * this.#logsPerRow + offset] as number[]
      } else {
        weighing.s = this.#slab
        weighing.i = row * this.#width + offset
      }
    }
  }

  /** Goes on under the same policies with other limits: each state is adopted. */
  retune(policies: readonly Policy[], now: number): void {
    for (const row of this.#rowOf.values()) {
      this.point(this.#weighings, row)
      for (const [n, { s, i, algorithm }] of this.#weighings.entries()) {
        policies[n]?.algorithm.adopt?.(s, i, standing(algorithm, s[i] as number, now), algorithm)
      }
    }
    this.#policies = policies
    this.#weighings = policies.map((policy) => new Weighing(policy))
  }

  /** Drops rows that are like new; if the table is full all the same, the one whose loss matters least. */
  #makeRoom(now: number): void {
    const full = this.#rowOf.size >= this.#maxKeys
    let victim = blank
    let most = -Infinity
    for (let looked = full ? considered : swept; looked > 0; looked--) {
      this.#hand = this.#hand + 1 < this.#keyOf.length ? this.#hand + 1 : 1
      if (this.#keyOf[this.#hand] === undefined) continue
      const left = this.#left(this.#hand, now)
      if (left === 1) {
        if (!full && this.#idle(this.#hand, now) < grace) continue
        this.#release(this.#hand)
        if (full) return
      } else if (left > most) {
        most = left
        victim = this.#hand
      }
    }
    if (full && this.#rowOf.size >= this.#maxKeys) this.#release(victim)
  }

  /** How much a key has left by its tightest policy: 1 is like new, 0 nothing; -1 if it has been refused since it was new. */
  #left(row: number, now: number): number {
    let left = 1
    this.point(this.#weighings, row)
    for (const { s, i, policy, algorithm } of this.#weighings) {
      algorithm.report(s, i, standing(algorithm, s[i] as number, now), this.#report)
      if (this.#report.reset === 0 && now >= (s[i] as number)) continue
      left = Math.min(left, this.#report.remaining / (policy.burst + 1))
    }
    return left < 1 && this.#refused[row] === 1 ? -1 : left
  }

  #idle(row: number, now: number): number {
    this.point(this.#weighings, row)
    return now - Math.max(...this.#weighings.map(({ s, i }) => s[i] as number))
  }

  #release(row: number): void {
    this.#rowOf.delete(this.#keyOf[row] as string)
    this.#keyOf[row] = undefined
    this.#refused[row] = 0
    this.#slab.fill(0, row * this.#width, (row + 1) * this.#width)
    for (let n = 0; n < this.#logsPerRow; n++) this.#logs[row * this.#logsPerRow + n] = []
    this.#free.push(row)
  }

  #clearLogs(row: number): void {
    for (const [n, { algorithm }] of this.#policies.entries()) {
      if (!algorithm.grows) continue
      this.#logs[row * this.#logsPerRow + (this.#offsets[n] as number)] = new Array(algorithm.slots).fill(0)
    }
  }

  #resize(rows: number): void {
    const slab = new Float64Array(rows * this.#width)
    slab.set(this.#slab)
    this.#slab = slab
    const refused = new Uint8Array(rows)
    refused.set(this.#refused)
    this.#refused = refused
  }
}
