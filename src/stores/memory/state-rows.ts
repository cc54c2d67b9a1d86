import { PolicyEvaluation } from '../../algorithms/evaluation/index.ts'
import type { Policy } from '../../algorithms/index.ts'
import {
  bytesOf,
  bytesOfList,
  copyState,
  hasBookings,
  holds,
  isBooked,
  isUnused,
  listBytes,
  listOf,
  numbersOf,
  quotaLeft,
  type State,
  stateTime,
} from './state.ts'

/** The most bytes of an overflow table, hashes included: under one plan (set of policies), and under several plans. */
const maxBytes = 64 * 2 ** 20
const maxListBytes = 128 * 2 ** 20

const placeBytes = 16 // the memory that V8 needs for a place with its tag
const none: readonly State[] = []

/**
 * The states of the keys of a table, in one row for each key. The row of a new key has only zeros.
 *
 * Under one plan (set of policies), all rows have the same layout, one state for each policy, so all rows are in one array of numbers. A
 * log, which grows, is in a separate array, unless the log is condensed: a condensed log has a fixed number of entries. A state with open
 * reservations is in a separate array, too.
 *
 * The states of several plans have no common layout. So `share` makes each row a list of states, at most one for each policy name, each
 * with the policy that wrote the state. The policies of an override are for few keys, so `makeList` changes only the rows of these keys.
 */
export class StateRows {
  /** True if several plans (sets of policies) share the rows. */
  shared = false
  /** True if some rows may be lists of states, because an override has written them. */
  mixed = false
  readonly #condensed: boolean
  /** For each policy, an evaluation that points to the policy's state in the row that `read` or `copy` used last. */
  readonly #found: readonly PolicyEvaluation[]
  #rows = 0
  /** All rows, with `#width` numbers in each row. `#offsets[n]` is where the state of policy n begins in a row. */
  #numbers = new Float64Array(0)
  readonly #width: number
  readonly #offsets: number[] = []
  /** `#arrays[row * policies.length + n]` is the log of policy n, or its state with open reservations; else undefined. */
  #arrays: (number[] | undefined)[] = []
  #arrayed = 0
  readonly #hasLogs: boolean
  /** The list of states of each row, if several plans (sets of policies) share the rows. */
  private readonly lists: (readonly State[] | undefined)[] = []
  /** How many bytes the lists of states take. The bytes are counted only if logs have a fixed number of entries. */
  #bytes = 0

  /** @param condensed true if logs have a fixed number of entries, so that the bytes of a row are bounded */
  constructor(policies: readonly Policy[], condensed: boolean) {
    this.#found = policies.map((policy) => new PolicyEvaluation(policy))
    this.#condensed = condensed
    this.#hasLogs = policies.some((policy) => this.#isLog(policy))
    let width = 0
    for (const policy of policies) {
      this.#offsets.push(width)
      if (!this.#isLog(policy)) width += policy.algorithm.condensed
    }
    this.#width = width
  }

  /** True for a policy whose states are logs that grow. Each such log is in a separate array. */
  #isLog({ algorithm }: Policy): boolean {
    return algorithm.grows && !this.#condensed
  }

  /** The most rows: as many as fit into `maxBytes`, or under several plans into `maxListBytes` if each row has one bucket's state. */
  get maxRows(): number {
    return this.shared ? maxListBytes / (placeBytes + listBytes + bytesOf(3)) : maxBytes / (8 * this.#width + 4)
  }

  /**
   * True if these states fit into the bytes that are left. Under one plan (set of policies), states always fit, because `resize`
   * has allocated all rows.
   */
  fits(states: readonly State[]): boolean {
    if (!this.shared) return true
    const lengths = states.map(({ policy: { algorithm }, s }) => (algorithm.grows ? algorithm.condensed : s.length))
    return this.#bytes + lengths.reduce((bytes, length) => bytes + bytesOf(length), listBytes) <= maxListBytes
  }

  /** Allocates memory for this number of rows. */
  resize(rows: number): void {
    this.#rows = rows
    if (this.shared || this.mixed) this.#resizeLists(rows)
    if (this.shared) return
    const numbers = new Float64Array(rows * this.#width)
    numbers.set(this.#numbers)
    this.#numbers = numbers
  }

  /** Adds empty rows one after the other, so that V8 stores the array without gaps. */
  #resizeLists(rows: number): void {
    if (this.#condensed) this.#bytes += (rows - this.lists.length) * placeBytes
    while (this.lists.length < rows) this.lists.push(undefined)
  }

  /** Changes every row into a list of states, so that several plans (sets of policies) can share the rows. */
  share(now: number): void {
    if (this.shared) return
    const lists = Array.from({ length: this.#begun }, (_, row) => {
      return this.#isUsed(row) ? listOf(this.read(row), now, this.#condensed) : undefined
    })
    this.shared = true
    this.#numbers = new Float64Array(0)
    this.#arrays = []
    this.#resizeLists(this.#rows)
    for (const [row, list] of lists.entries()) this.#setList(row, list)
  }

  /** Lets single rows become lists of states. */
  mix(): void {
    if (!this.shared) this.#resizeLists(this.#rows)
    this.mixed = !this.shared
  }

  /** True if the row is a list of states. */
  isList(row: number): boolean {
    return this.shared || (this.mixed && this.lists[row] !== undefined)
  }

  /** Makes this row a list of states, after `mix`. */
  makeList(row: number, now: number): void {
    if (this.isList(row)) return
    const list = listOf(this.read(row), now, this.#condensed)
    this.clear(row)
    this.#setList(row, list)
  }

  /**
   * How many rows may be in use, from row 0 on. With logs, `#arrays` shows this number: `clear` makes the arrays of a row before
   * the row is used.
   */
  get #begun(): number {
    return this.#hasLogs ? Math.ceil(this.#arrays.length / this.#offsets.length) : this.#rows
  }

  #isUsed(row: number): boolean {
    return !this.read(row).every(isUnused)
  }

  /** A copy of all rows for the same policies with other limits. Each state is converted to its new limit. */
  retuned(policies: readonly Policy[], now: number): StateRows {
    const next = new StateRows(policies, this.#condensed)
    next.resize(this.#rows)
    for (let row = 0; row < this.#begun; row++) {
      next.clear(row)
      if (!this.#isUsed(row)) continue
      const states = this.read(row)
      for (const [n, state] of states.entries()) {
        const { algorithm } = policies[n] as Policy
        algorithm.adopt?.(state.s, state.i, stateTime(state, now), state.policy.algorithm)
      }
      next.copy(states, row, now)
    }
    return next
  }

  /** Points each evaluation to its state in this row. There is one evaluation for each policy of the limiter. */
  point(policies: readonly PolicyEvaluation[], row: number): void {
    const start = row * this.#width
    for (let n = 0; n < policies.length; n++) {
      const policy = policies[n] as PolicyEvaluation
      policy.s = this.#numbers
      policy.i = start + (this.#offsets[n] as number)
    }
    if (this.#arrayed > 0) this.#pointToArrays(policies, row)
  }

  /** Points evaluations to states in `#arrays`. A state moves back to `#numbers` if the state is no log and has no open reservation. */
  #pointToArrays(policies: readonly PolicyEvaluation[], row: number): void {
    for (let n = 0; n < policies.length; n++) {
      const own = this.#arrays[row * policies.length + n]
      if (own === undefined) continue
      const policy = policies[n] as PolicyEvaluation
      const { algorithm } = policy
      if (algorithm.grows || hasBookings(algorithm, own, 0)) {
        policy.s = own
        policy.i = 0
      } else {
        for (let k = 0; k < own.length; k++) policy.s[policy.i + k] = own[k] as number
        this.#setArray(row, n, undefined)
      }
    }
  }

  #setArray(row: number, n: number, numbers: number[] | undefined): void {
    const index = row * this.#offsets.length + n
    if (this.#arrays[index] === numbers) return
    this.#arrayed += Number(numbers !== undefined) - Number(this.#arrays[index] !== undefined)
    this.#arrays[index] = numbers
  }

  /**
   * Moves each state of this row that a reservation can make longer from `#numbers` to `#arrays`.
   * @param expire true for a reservation that expires
   */
  openBookings(policies: readonly PolicyEvaluation[], row: number, expire: boolean): void {
    for (let n = 0; n < policies.length; n++) {
      const policy = policies[n] as PolicyEvaluation
      const { algorithm, s, i } = policy
      if (algorithm.bookingNumbers === 0 || (algorithm.expiring && !expire) || Array.isArray(s)) continue
      const booked = Array.from(s.subarray(i, i + algorithm.slots))
      this.#setArray(row, n, booked)
      policy.s = booked
      policy.i = 0
    }
  }

  /** The states in a row. The next call may overwrite the returned array. */
  read(row: number): readonly State[] {
    if (this.shared) return this.lists[row] ?? none
    if (this.mixed && this.lists[row] !== undefined) return this.lists[row] as readonly State[]
    this.point(this.#found, row)
    return this.#found
  }

  clear(row: number): void {
    if (this.shared || this.mixed) this.#setList(row, undefined)
    if (this.shared) return
    this.#numbers.fill(0, row * this.#width, (row + 1) * this.#width)
    if (this.#arrayed === 0 && !this.#hasLogs) return
    for (const [n, { policy }] of this.#found.entries()) {
      this.#setArray(row, n, this.#isLog(policy) ? new Array(policy.algorithm.slots).fill(0) : undefined)
    }
  }

  /** Copies states of another table to a row that was cleared. */
  copy(states: readonly State[], row: number, now: number): void {
    if (this.shared || this.mixed) {
      this.#setList(row, listOf(states, now, this.#condensed))
      return
    }
    const own = this.read(row)
    for (const [n, state] of states.entries()) {
      if (!this.#condensed && isBooked(state)) {
        this.#setArray(row, n, numbersOf(state))
        continue
      }
      const { s, i } = own[n] as State
      copyState(state, s, i, now, this.#condensed)
    }
  }

  /** Stores the states that a call changed. Removes states that have their full quota and belong to other plans (sets of policies). */
  keep(policies: readonly PolicyEvaluation[], row: number, now: number): void {
    for (let n = 0; n < policies.length; n++) {
      const evaluation = policies[n] as PolicyEvaluation
      if (evaluation.wrote && !holds(this.lists[row] ?? none, evaluation.s)) {
        this.#keepOne(evaluation, policies, row, now)
      }
    }
  }

  #keepOne({ policy, s }: PolicyEvaluation, policies: readonly PolicyEvaluation[], row: number, now: number): void {
    const isKept = (state: State) => state.policy.name !== policy.name && isWanted(state, policies, now)
    this.#setList(row, [...this.read(row).filter(isKept), { policy, s, i: 0 }])
  }

  #setList(row: number, list: readonly State[] | undefined): void {
    if (this.#condensed) this.#bytes += bytesOfList(list) - bytesOfList(this.lists[row])
    this.lists[row] = list
  }
}

function isWanted(state: State, policies: readonly PolicyEvaluation[], now: number): boolean {
  return policies.some(({ policy }) => policy.name === state.policy.name) || quotaLeft([state], now) < 1
}
