/*
 * Rows of states, one of each policy: all fixed-size states in one array of numbers, a growing one in an array of its own.
 * Where every row has to be of a fixed size, growing states are condensed into one.
 */
import { type Numbers, type Policy, Report } from '../../algorithms/algorithm.ts'
import { effectiveTime, PolicyEvaluation } from '../../algorithms/evaluation.ts'

const report = new Report()
const rival = new Report()

/** What one policy remembers of a key: in `s` from `i` on. */
export interface State {
  readonly policy: Policy
  readonly s: Numbers
  readonly i: number
}

/** Where states are kept: those of a table's keys, or of a sketch's places, each in a row. A clear row is a new key's. */
export interface Rows {
  resize(rows: number): void
  clear(row: number): void
  /** The states in a row, until another is read. */
  read(row: number): readonly State[]
  /** Makes the row, which is clear, what those states are: the same, but for a log that has to be condensed. */
  copy(states: readonly State[], row: number, now: number): void
  /** Makes a row that was copied from shared states a key's own, from now on. */
  reopen(row: number, now: number): void
}

/** Rows in bounded room. */
export interface Places extends Rows {
  /** How many rows there is room for. */
  readonly most: number
  /** Whether there is room for these as well. */
  fits(states: readonly State[]): boolean
}

/** States that keys share. */
export interface Cells {
  resize(cells: number): void
  /** Makes the cell at least as strict as it is, and as those states. */
  merge(states: readonly State[], cell: number, now: number): void
  /** Of two cells the states that leave more, each policy by itself, until others are asked for. */
  lighter(one: number, other: number, now: number): readonly State[]
  /** Clears what is like new; whether anything is left. */
  prune(cell: number, now: number): boolean
}

/** The most bytes of places, with the four that tell whose each is. */
const mostBytes = 64 * 2 ** 20

export class FlatStates implements Places, Cells {
  /** For what is read, and for what is compared with it or written. */
  readonly #found: readonly PolicyEvaluation[]
  readonly #other: readonly PolicyEvaluation[]
  readonly #condensed: boolean
  /** `#width` numbers a row; `#offsets` is where in a row each policy's begins. */
  #slab = new Float64Array(0)
  readonly #width: number
  readonly #offsets: number[] = []
  /** `#logs[row * #logsPerRow + offset]`. */
  readonly #logs: number[][] = []
  readonly #logsPerRow: number

  /** @param condensed whether every row is of a fixed size */
  constructor(policies: readonly Policy[], condensed: boolean) {
    this.#found = policies.map((policy) => new PolicyEvaluation(policy))
    this.#other = policies.map((policy) => new PolicyEvaluation(policy))
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

  /** Of a row. */
  get bytes(): number {
    return 8 * this.#width
  }

  get most(): number {
    return mostBytes / (this.bytes + 4)
  }

  /** Room for every row is taken at once. */
  fits(): boolean {
    return true
  }

  resize(rows: number): void {
    const slab = new Float64Array(rows * this.#width)
    slab.set(this.#slab)
    this.#slab = slab
  }

  /** Points each weighing, one per policy, to its state in that row. */
  point(weighings: readonly PolicyEvaluation[], row: number): void {
    const start = row * this.#width
    for (let n = 0; n < weighings.length; n++) {
      const weighing = weighings[n] as PolicyEvaluation
      weighing.s = this.#slab
      weighing.i = start + (this.#offsets[n] as number)
    }
    if (this.#logsPerRow > 0) this.#pointToLogs(weighings, row)
  }

  #pointToLogs(weighings: readonly PolicyEvaluation[], row: number): void {
    for (let n = 0; n < weighings.length; n++) {
      const weighing = weighings[n] as PolicyEvaluation
      if (!weighing.algorithm.grows) continue
      weighing.s = this.#logs[row * this.#logsPerRow + (this.#offsets[n] as number)] as number[]
      weighing.i = 0
    }
  }

  read(row: number): readonly PolicyEvaluation[] {
    this.point(this.#found, row)
    return this.#found
  }

  lighter(one: number, other: number, now: number): readonly PolicyEvaluation[] {
    this.point(this.#found, one)
    this.point(this.#other, other)
    for (const [n, state] of this.#found.entries()) {
      const { s, i, algorithm } = this.#other[n] as PolicyEvaluation
      algorithm.report(state.s, state.i, timeOf(state, now), report)
      algorithm.report(s, i, effectiveTime(algorithm, s[i] as number, now), rival)
      const more = rival.remaining - report.remaining
      if (more < 0 || (more === 0 && rival.reset >= report.reset)) continue
      state.s = s
      state.i = i
    }
    return this.#found
  }

  clear(row: number): void {
    this.#slab.fill(0, row * this.#width, (row + 1) * this.#width)
    if (this.#logsPerRow === 0) return
    for (const [n, { algorithm }] of this.#found.entries()) {
      if (!algorithm.grows) continue
      this.#logs[row * this.#logsPerRow + (this.#offsets[n] as number)] = new Array(algorithm.slots).fill(0)
    }
  }

  copy(states: readonly State[], row: number, now: number): void {
    this.point(this.#other, row)
    for (const [n, state] of states.entries()) {
      const { s, i } = this.#other[n] as PolicyEvaluation
      copyState(state, s, i, now, this.#condensed)
    }
  }

  reopen(row: number, now: number): void {
    this.point(this.#other, row)
    for (const weighing of this.#other) weighing.algorithm.reopen?.(weighing.s, weighing.i, timeOf(weighing, now))
  }

  merge(states: readonly State[], row: number, now: number): void {
    this.point(this.#other, row)
    for (const [n, state] of states.entries()) {
      const to = this.#other[n] as PolicyEvaluation
      if (isNew(to)) copyState(state, to.s, to.i, now, this.#condensed)
      else to.algorithm.merge(to.s, to.i, Math.max(timeOf(state, now), timeOf(to, now)), state.s, state.i)
    }
  }

  prune(row: number, now: number): boolean {
    if (left(this.read(row), now) < 1) return true
    this.clear(row)
    return false
  }
}

/** The time by the state's own reckoning. */
export function timeOf({ policy, s, i }: State, now: number): number {
  return effectiveTime(policy.algorithm, s[i] as number, now)
}

/** How many numbers of a state there are: of a log no more than it has entries for. */
function lengthOf({ policy: { algorithm }, s, i }: State): number {
  let length = Array.isArray(s) ? s.length : (algorithm.condensed ?? algorithm.slots)
  while (length > algorithm.slots && s[i + length - 1] === 0) length--
  return length
}

/** Whether the state is that of a new key, number for number. */
export function isNew(state: State): boolean {
  for (let k = lengthOf(state) - 1; k >= 0; k--) if (state.s[state.i + k] !== 0) return false
  return true
}

/** A copy of the state's numbers. */
export function numbersOf(state: State): number[] {
  const { s, i } = state
  const end = i + lengthOf(state)
  return Array.isArray(s) ? s.slice(i, end) : Array.from(s.subarray(i, end))
}

/** Writes the state to `t[j ...]`, which is all zeros. */
function copyState(state: State, t: Numbers, j: number, now: number, condensed: boolean): void {
  const { policy, s, i } = state
  if (condensed && policy.algorithm.condense) policy.algorithm.condense(s, i, timeOf(state, now), t, j)
  else for (let k = 0, length = lengthOf(state); k < length; k++) t[j + k] = s[i + k] as number
}

/** How much those states leave by the tightest policy: 1 is like new, 0 nothing. */
export function left(states: readonly State[], now: number): number {
  let least = 1
  for (const state of states) {
    const { s, i, policy } = state
    policy.algorithm.report(s, i, timeOf(state, now), report)
    if (report.reset === 0 && now >= (s[i] as number)) continue
    least = Math.min(least, report.remaining / (policy.burst + 1))
  }
  return least
}

/** Microseconds since anything was committed to those states. */
export function idle(states: readonly State[], now: number): number {
  let latest = -Infinity
  for (const { s, i } of states) latest = Math.max(latest, s[i] as number)
  return now - latest
}
