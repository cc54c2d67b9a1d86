/*
 * Rows of states, one of each policy: all fixed-size states in one array of numbers, a growing one in an array of its own.
 * Where every row has to be of a fixed size, growing states are condensed into one.
 */
import { type Policy, Report } from '../algorithms/algorithm.ts'
import { standing, Weighing } from '../algorithms/step.ts'

const report = new Report()
const rival = new Report()

/** What a table asks of its rows. */
export type Rows = Pick<States, 'resize' | 'point' | 'clear' | 'copy' | 'reopen' | 'retune' | 'left' | 'idle'>

export class States {
  /** For looking at rows in passing. */
  #weighings: readonly Weighing[]
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
    this.#weighings = policies.map((policy) => new Weighing(policy))
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

  /** Bytes that a row takes in the array of numbers. */
  get bytes(): number {
    return 8 * this.#width
  }

  resize(rows: number): void {
    const slab = new Float64Array(rows * this.#width)
    slab.set(this.#slab)
    this.#slab = slab
  }

  /** Points each weighing, one per policy, to its state in that row. */
  point(weighings: readonly Weighing[], row: number): void {
    const start = row * this.#width
    for (let n = 0; n < weighings.length; n++) {
      const weighing = weighings[n] as Weighing
      weighing.s = this.#slab
      weighing.i = start + (this.#offsets[n] as number)
    }
    if (this.#logsPerRow > 0) this.#pointToLogs(weighings, row)
  }

  #pointToLogs(weighings: readonly Weighing[], row: number): void {
    for (let n = 0; n < weighings.length; n++) {
      const weighing = weighings[n] as Weighing
      if (!weighing.algorithm.grows) continue
      weighing.s = this.#logs[row * this.#logsPerRow + (this.#offsets[n] as number)] as number[]
      weighing.i = 0
    }
  }

  /** The same to that of two rows which leaves more, each policy by itself. */
  pointLighter(weighings: readonly Weighing[], one: number, other: number, now: number): void {
    this.point(weighings, one)
    this.point(this.#weighings, other)
    for (const [n, weighing] of weighings.entries()) {
      const { s, i, algorithm } = this.#weighings[n] as Weighing
      algorithm.report(weighing.s, weighing.i, timeOf(weighing, now), report)
      algorithm.report(s, i, standing(algorithm, s[i] as number, now), rival)
      const more = rival.remaining - report.remaining
      if (more < 0 || (more === 0 && rival.reset >= report.reset)) continue
      weighing.s = s
      weighing.i = i
    }
  }

  /** All zeros: the states of a new key. */
  clear(row: number): void {
    this.#slab.fill(0, row * this.#width, (row + 1) * this.#width)
    if (this.#logsPerRow === 0) return
    for (const [n, { algorithm }] of this.#weighings.entries()) {
      if (!algorithm.grows) continue
      this.#logs[row * this.#logsPerRow + (this.#offsets[n] as number)] = new Array(algorithm.slots).fill(0)
    }
  }

  /** Makes the row, which is clear, what the weighings point to: the same, but for a log that has to be condensed. */
  copy(weighings: readonly Weighing[], row: number, now: number): void {
    this.point(this.#weighings, row)
    for (const [n, weighing] of weighings.entries()) {
      const { s, i, algorithm } = weighing
      const to = this.#weighings[n] as Weighing
      let slots = algorithm.condensed ?? algorithm.slots
      while (slots > algorithm.slots && s[i + slots - 1] === 0) slots-- // a log takes no more room than it has entries
      if (this.#condensed && algorithm.condense) algorithm.condense(s, i, timeOf(weighing, now), to.s, to.i)
      else for (let k = 0; k < slots; k++) to.s[to.i + k] = s[i + k] as number
    }
  }

  /** Makes a row that was copied from shared states a key's own, from now on. */
  reopen(row: number, now: number): void {
    this.point(this.#weighings, row)
    for (const weighing of this.#weighings) weighing.algorithm.reopen?.(weighing.s, weighing.i, timeOf(weighing, now))
  }

  /** Makes the row at least as strict as it is, and as what the weighings point to. */
  merge(weighings: readonly Weighing[], row: number, now: number): void {
    this.point(this.#weighings, row)
    for (const [n, weighing] of weighings.entries()) {
      const to = this.#weighings[n] as Weighing
      const at = Math.max(timeOf(weighing, now), timeOf(to, now))
      to.algorithm.merge(to.s, to.i, at, weighing.s, weighing.i)
    }
  }

  /** Goes on under the same policies with other limits: each state is adopted. */
  retune(policies: readonly Policy[], rows: Iterable<number>, now: number): void {
    for (const row of rows) {
      this.point(this.#weighings, row)
      for (const [n, weighing] of this.#weighings.entries()) {
        const { s, i, algorithm } = weighing
        policies[n]?.algorithm.adopt?.(s, i, timeOf(weighing, now), algorithm)
      }
    }
    this.#weighings = policies.map((policy) => new Weighing(policy))
  }

  /** How much a row has left by its tightest policy: 1 is like new, 0 nothing. */
  left(row: number, now: number): number {
    this.point(this.#weighings, row)
    return left(this.#weighings, now)
  }

  /** Microseconds since anything was committed. */
  idle(row: number, now: number): number {
    this.point(this.#weighings, row)
    return now - Math.max(...this.#weighings.map(({ s, i }) => s[i] as number))
  }
}

function timeOf({ s, i, algorithm }: Weighing, now: number): number {
  return standing(algorithm, s[i] as number, now)
}

/** How much the states that the weighings point to leave by the tightest policy: 1 is like new, 0 nothing. */
export function left(weighings: readonly Weighing[], now: number): number {
  let least = 1
  for (const weighing of weighings) {
    const { s, i, policy, algorithm } = weighing
    algorithm.report(s, i, timeOf(weighing, now), report)
    if (report.reset === 0 && now >= (s[i] as number)) continue
    least = Math.min(least, report.remaining / (policy.burst + 1))
  }
  return least
}
