import type { Policy } from '../../algorithms/algorithm.ts'
import { PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { type BoundedRows, copyState, isBooked, numbersOf, type State } from './state.ts'

/** The most bytes of an overflow table, including the four bytes in each row that identify its key. */
const maxBytes = 64 * 2 ** 20

/**
 * Rows of states under one plan. Every row has the same layout, one state for each policy, so all rows are one array of
 * numbers. A log, which grows, is an array of its own, unless it is condensed. So is a state with open reservations.
 */
export class FlatStates implements BoundedRows {
  /** Point to what `read` returned last, and to the row that `copy` writes to. */
  readonly #found: readonly PolicyEvaluation[]
  readonly #target: readonly PolicyEvaluation[]
  readonly #condensed: boolean
  /** `#width` numbers for each row. `#offsets[n]` is where the state of policy n begins in a row. */
  #numbers = new Float64Array(0)
  readonly #width: number
  readonly #offsets: number[] = []
  /** The log of policy n is `#logs[row * #logsPerRow + #offsets[n]]`. */
  readonly #logs: number[][] = []
  readonly #logsPerRow: number
  /** The state of policy n with open reservations is `#booked[row * policies + n]`. */
  readonly #booked: (number[] | undefined)[] = []
  #bookedStates = 0

  /** @param condensed true if every row must have a fixed size */
  constructor(policies: readonly Policy[], condensed: boolean) {
    this.#found = policies.map((policy) => new PolicyEvaluation(policy))
    this.#target = policies.map((policy) => new PolicyEvaluation(policy))
    this.#condensed = condensed
    let width = 0
    let logs = 0
    for (const { algorithm } of policies) {
      const log = algorithm.grows && !condensed
      this.#offsets.push(log ? logs++ : width)
      if (!log) width += algorithm.condensed
    }
    this.#width = width
    this.#logsPerRow = logs
  }

  get maxRows(): number {
    return maxBytes / (8 * this.#width + 4)
  }

  /** Always true: `resize` allocates every row in full. */
  fits(): boolean {
    return true
  }

  resize(rows: number): void {
    const numbers = new Float64Array(rows * this.#width)
    numbers.set(this.#numbers)
    this.#numbers = numbers
  }

  /** Points each evaluation, one for each policy, to its state in that row. */
  point(policies: readonly PolicyEvaluation[], row: number): void {
    const start = row * this.#width
    for (let n = 0; n < policies.length; n++) {
      const policy = policies[n] as PolicyEvaluation
      policy.s = this.#numbers
      policy.i = start + (this.#offsets[n] as number)
    }
    if (this.#logsPerRow > 0) this.#pointToLogs(policies, row)
    if (this.#bookedStates > 0) this.#pointToBooked(policies, row)
  }

  /** A state whose reservations are all settled goes back to its row. */
  #pointToBooked(policies: readonly PolicyEvaluation[], row: number): void {
    for (let n = 0; n < policies.length; n++) {
      const booked = this.#booked[row * policies.length + n]
      if (booked === undefined) continue
      const policy = policies[n] as PolicyEvaluation
      if (booked[policy.algorithm.idSlot as number] === 0) {
        for (let k = 0; k < booked.length; k++) policy.s[policy.i + k] = booked[k] as number
        this.#setBooked(row, n, undefined)
      } else {
        policy.s = booked
        policy.i = 0
      }
    }
  }

  #setBooked(row: number, n: number, numbers: number[] | undefined): void {
    const index = row * this.#offsets.length + n
    if ((this.#booked[index] === undefined) === (numbers === undefined)) return
    this.#bookedStates += numbers === undefined ? -1 : 1
    this.#booked[index] = numbers
  }

  /** Gives the states of the row arrays of their own where a reservation needs one. */
  openBookings(policies: readonly PolicyEvaluation[], row: number): void {
    for (let n = 0; n < policies.length; n++) {
      const policy = policies[n] as PolicyEvaluation
      const { algorithm, s, i } = policy
      if (algorithm.bookingNumbers === 0 || Array.isArray(s)) continue
      const booked = Array.from(s.subarray(i, i + algorithm.slots))
      this.#setBooked(row, n, booked)
      policy.s = booked
      policy.i = 0
    }
  }

  #pointToLogs(policies: readonly PolicyEvaluation[], row: number): void {
    for (let n = 0; n < policies.length; n++) {
      const policy = policies[n] as PolicyEvaluation
      if (!policy.algorithm.grows) continue
      policy.s = this.#logs[row * this.#logsPerRow + (this.#offsets[n] as number)] as number[]
      policy.i = 0
    }
  }

  read(row: number): readonly PolicyEvaluation[] {
    this.point(this.#found, row)
    return this.#found
  }

  clear(row: number): void {
    this.#numbers.fill(0, row * this.#width, (row + 1) * this.#width)
    if (this.#bookedStates > 0) for (let n = 0; n < this.#offsets.length; n++) this.#setBooked(row, n, undefined)
    if (this.#logsPerRow === 0) return
    for (const [n, { algorithm }] of this.#found.entries()) {
      if (!algorithm.grows) continue
      this.#logs[row * this.#logsPerRow + (this.#offsets[n] as number)] = new Array(algorithm.slots).fill(0)
    }
  }

  copy(states: readonly State[], row: number, now: number): void {
    this.point(this.#target, row)
    for (const [n, state] of states.entries()) {
      if (!this.#condensed && isBooked(state)) {
        this.#setBooked(row, n, numbersOf(state))
        continue
      }
      const { s, i } = this.#target[n] as PolicyEvaluation
      copyState(state, s, i, now, this.#condensed)
    }
  }
}
