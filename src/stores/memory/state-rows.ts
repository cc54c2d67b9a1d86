import type { State } from './state.ts'

/** Where the states of a table's keys are kept: one row for each key. A clear row is that of a new key. */
export interface StateRows {
  /** Makes space for that many rows. */
  resize(rows: number): void
  clear(row: number): void
  /** The states in a row. The array may be reused by the next call. */
  read(row: number): readonly State[]
  /** Copies the states to a row that is clear. */
  copy(states: readonly State[], row: number, now: number): void
}

/** Rows in a bounded number of bytes. Logs are condensed. */
export interface BoundedRows extends StateRows {
  /** How many rows the bytes are enough for. */
  readonly maxRows: number
  /** True if there are bytes left for these states as well. */
  fits(states: readonly State[]): boolean
}
