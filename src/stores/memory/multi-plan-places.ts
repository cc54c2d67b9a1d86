import { MultiPlanStates } from './multi-plan-states.ts'
import { type BoundedRows, isUnused, numbersOf, type State, timeOf } from './state.ts'

/** The most bytes of an overflow table under plans. */
const maxBytes = 128 * 2 ** 20

/** Bytes of a place with its tag, of a row in use, of a state, and of each number of a state, as V8 lays them out. */
const placeBytes = 16
const rowBytes = 48
const stateBytes = 104
const numberBytes = 8

/** The places of an overflow table under several plans. */
export class MultiPlanPlaces extends MultiPlanStates implements BoundedRows {
  #bytes = 0

  /** With one bucket in each row. */
  get maxRows(): number {
    return maxBytes / (placeBytes + rowBytes + bytesOf(3))
  }

  fits(states: readonly State[]): boolean {
    const lengths = states.map(({ policy: { algorithm }, s }) => (algorithm.grows ? algorithm.condensed : s.length))
    return this.#bytes + lengths.reduce((bytes, length) => bytes + bytesOf(length), rowBytes) <= maxBytes
  }

  /** Every row is there from the start, so that V8 keeps the array dense. */
  override resize(rows: number): void {
    while (this.rows.length < rows) this.rows.push(undefined)
    this.#bytes = rows * placeBytes
  }

  override copy(states: readonly State[], row: number, now: number): void {
    const used = states.filter((state) => !isUnused(state))
    this.rows[row] = used.map((state) => ({ policy: state.policy, s: condensed(state, now), i: 0 }))
    this.#bytes += this.#bytesOf(row)
  }

  override clear(row: number): void {
    this.#bytes -= this.#bytesOf(row)
    super.clear(row)
  }

  #bytesOf(row: number): number {
    const states = this.rows[row]
    return states === undefined ? 0 : states.reduce((bytes, { s }) => bytes + bytesOf(s.length), rowBytes)
  }
}

function bytesOf(numbers: number): number {
  return stateBytes + numberBytes * numbers
}

function condensed(state: State, now: number): number[] {
  const { policy, s, i } = state
  const { algorithm } = policy
  if (!algorithm.grows) return numbersOf(state)
  const t: number[] = new Array(algorithm.condensed).fill(0)
  algorithm.condense(s, i, timeOf(state, now), t, 0)
  return t
}
