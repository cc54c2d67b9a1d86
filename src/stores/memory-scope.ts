import type { StateRule } from '../algorithms/carry.ts'
import type { Weighing } from '../algorithms/step.ts'
import type { Seed } from './key-hash.ts'
import { type Found, nothing } from './sketch.ts'
import { blank, Table } from './table.ts'
import { VariedStates } from './varied-states.ts'

/** The keys of one scope as one ledger uses them, and the row of the one that calls. */
export interface Scope {
  readonly table: Table
  /** Points the weighings to what is known of the key. Returns whether it has what a call would write to. */
  find(key: string, now: number): boolean
  /** Gives the key a row if it has none, now that something will be written. */
  claim(key: string, now: number): void
  /** The same for a refund: to a key that nothing is known of nothing is written. */
  claimKnown(key: string, now: number): void
  /** What the call wrote stays; of states that were only carried over for it nothing does. */
  keep(key: string, now: number): void
  forget(key: string, now: number): void
  /** Goes on under the same policies with other limits. */
  retune(weighings: readonly Weighing[], now: number): void
  /** Only where it is this scope that refuses: a key refused for the sake of another is nothing to hold on to. */
  noteRefused(): void
  /** The same keys, for policies that vary. */
  varied(rule: StateRule): VariedScope
}

export class FixedScope implements Scope {
  readonly table: Table
  private weighings: readonly Weighing[]
  private readonly maxKeys: number
  private row = blank
  private found: Found = nothing

  constructor(weighings: readonly Weighing[], maxKeys: number, seed: Seed | undefined) {
    this.weighings = weighings
    this.maxKeys = maxKeys
    this.table = new Table(
      weighings.map(({ policy }) => policy),
      maxKeys,
      seed,
    )
  }

  find(key: string, now: number): boolean {
    const row = this.table.find(key)
    this.row = row
    if (row === blank) return this.recall(key, now)
    this.table.point(this.weighings, row)
    return true
  }

  private recall(key: string, now: number): boolean {
    this.found = this.table.recall(this.weighings, key, now)
    return false
  }

  claim(key: string, now: number): void {
    if (this.row === blank) this.claimRow(key, now)
  }

  private claimRow(key: string, now: number): void {
    this.row = this.table.claim(this.weighings, key, this.found, now)
    this.table.point(this.weighings, this.row)
  }

  claimKnown(key: string, now: number): void {
    if (this.found !== nothing) this.claim(key, now)
  }

  keep(): void {}

  varied(rule: StateRule): VariedScope {
    const rows = new VariedRows(this.maxKeys)
    const weighings = this.weighings
    rows.table.takeOver(this.table, (from, to) => {
      this.table.point(weighings, from)
      for (const weighing of weighings) {
        const { s, i, algorithm } = weighing
        weighing.s = algorithm.grows ? s : Array.from(s.slice(i, i + algorithm.slots))
      }
      const used = weighings.filter(({ s }) => s.some((number) => number !== 0))
      rows.states.keep(used, to)
    })
    return new VariedScope(weighings, rows, rule)
  }

  forget(key: string, now: number): void {
    this.table.forget(this.weighings, key, now)
  }

  retune(weighings: readonly Weighing[], now: number): void {
    this.weighings = weighings
    this.table.retune(
      weighings.map(({ policy }) => policy),
      now,
    )
  }

  noteRefused(): void {
    const { table, row } = this
    if (row !== blank && !table.refused(row) && refuses(this.weighings)) table.noteRefused(row)
  }
}

function refuses(weighings: readonly Weighing[]): boolean {
  for (let n = 0; n < weighings.length; n++) {
    const { wait, policy } = weighings[n] as Weighing
    if (wait > 0 && !policy.shadow) return true
  }
  return false
}

/** The keys of one scope under policies that vary. When they are too many, some are forgotten, as by `onFull: 'forget'`. */
export class VariedRows {
  readonly states: VariedStates = new VariedStates()
  readonly table: Table

  constructor(maxKeys: number) {
    this.table = new Table([], maxKeys, undefined, this.states)
  }
}

export class VariedScope implements Scope {
  readonly rows: VariedRows
  readonly #rule: StateRule
  #weighings: readonly Weighing[]
  #row = blank

  constructor(weighings: readonly Weighing[], rows: VariedRows, rule: StateRule) {
    this.#weighings = weighings
    this.rows = rows
    this.#rule = rule
  }

  get table(): Table {
    return this.rows.table
  }

  find(key: string, now: number): boolean {
    this.#row = this.table.find(key)
    this.rows.states.look(this.#weighings, this.#row, now, this.#rule)
    return true
  }

  claim(): void {}

  claimKnown(): void {}

  keep(key: string, now: number): void {
    const written = this.#weighings.filter(({ wrote }) => wrote)
    if (written.length === 0) return
    if (this.#row === blank) this.#row = this.table.claim(written, key, nothing, now)
    this.rows.states.keep(written, this.#row)
  }

  forget(key: string, now: number): void {
    this.table.forget(this.#weighings, key, now)
  }

  retune(weighings: readonly Weighing[]): void {
    this.#weighings = weighings
  }

  noteRefused(): void {
    if (this.#row !== blank && refuses(this.#weighings)) this.table.noteRefused(this.#row)
  }

  varied(): this {
    return this
  }
}
