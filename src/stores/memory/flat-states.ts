import type { Policy } from '../../algorithms/algorithm.ts'
import { PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { type BoundedRows, copyState, type State } from './state.ts'

/** The most bytes of an overflow table, including the four bytes in each row that identify its key. */
const maxBytes = 64 * 2 ** 20

/**
 * Rows of states under one plan. Every row has the same layout, one state for each policy, so all rows are one array of
 * numbers. A log, which grows, is an array of its own, unless it is condensed.
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
      if (!log) width += algorithm.condensed ?? algorithm.slots
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
    if (this.#logsPerRow === 0) return
    for (const [n, { algorithm }] of this.#found.entries()) {
      if (!algorithm.grows) continue
      this.#logs[row * this.#logsPerRow + (this.#offsets[n] as number)] = new Array(algorithm.slots).fill(0)
    }
  }

  copy(states: readonly State[], row: number, now: number): void {
    this.point(this.#target, row)
    for (const [n, state] of states.entries()) {
      const { s, i } = this.#target[n] as PolicyEvaluation
      copyState(state, s, i, now, this.#condensed)
    }
  }
}
