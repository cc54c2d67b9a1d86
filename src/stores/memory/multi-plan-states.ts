/*
 * Rows of a limiter whose policies vary: in each the states by the names of their policies, under the numbers each was
 * written with. They have no common layout, so each is an object of its own.
 */
import type { Policy } from '../../algorithms/algorithm.ts'
import type { PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { isNew, left, numbersOf, type Places, type Rows, type State, timeOf } from './flat-states.ts'

/** A state in an array of its own. */
export class OwnState implements State {
  readonly policy: Policy
  readonly s: number[]
  /** Whether it was one that keys share: the first call that it is written by makes it the key's own. */
  shared = false

  constructor(policy: Policy, s: number[]) {
    this.policy = policy
    this.s = s
  }

  get i(): number {
    return 0
  }
}

function ownState(state: State, now: number, condensed: boolean): OwnState {
  const { algorithm } = state.policy
  const s = condensed && algorithm.condense ? new Array(algorithm.condensed).fill(0) : numbersOf(state)
  if (condensed) algorithm.condense?.(state.s, state.i, timeOf(state, now), s, 0)
  const own = new OwnState(state.policy, s)
  own.shared = state instanceof OwnState && state.shared
  return own
}

const none: readonly OwnState[] = []

export class MultiPlanStates implements Rows {
  protected readonly rows: (OwnState[] | undefined)[] = []

  resize(_rows: number): void {}

  clear(row: number): void {
    this.rows[row] = undefined
  }

  read(row: number): readonly OwnState[] {
    return this.rows[row] ?? none
  }

  copy(states: readonly State[], row: number, now: number): void {
    this.fill(states, row, now, false)
  }

  protected fill(states: readonly State[], row: number, now: number, condensed: boolean): void {
    const used = states.filter((state) => !isNew(state))
    this.rows[row] = used.map((state) => ownState(state, now, condensed))
  }

  reopen(row: number): void {
    for (const state of this.read(row) as OwnState[]) state.shared = true
  }

  /** Keeps what the call wrote; what it did not ask for goes once it is like new, when there is something else to keep. */
  keep(weighings: readonly PolicyEvaluation[], row: number, now: number): void {
    for (const { policy, s, wrote } of weighings) {
      if (!wrote) continue
      const states = this.read(row)
      const known = states.find((state) => state.s === s)
      if (known !== undefined) known.shared = false
      else {
        const others = states.filter((state) => state.policy.name !== policy.name && isWanted(state, weighings, now))
        this.rows[row] = [...others, new OwnState(policy, s as number[])]
      }
    }
  }
}

function isWanted(state: State, weighings: readonly PolicyEvaluation[], now: number): boolean {
  return weighings.some(({ policy }) => policy.name === state.policy.name) || left([state], now) < 1
}

/** Bytes of a place (in the array of all rows, its tag, its part of the closed cells), of a row, of a state, of a number. */
const placeBytes = 16
const rowBytes = 48
const stateBytes = 104
const numberBytes = 8

/** With the cells (varied-cells.ts) 128 MiB. */
const mostBytes = 112 * 2 ** 20

/** The same in bounded room, logs condensed. */
export class MultiPlanPlaces extends MultiPlanStates implements Places {
  #bytes = 0

  /** With one bucket in each. */
  get most(): number {
    return mostBytes / (placeBytes + rowBytes + bytesOf(3))
  }

  fits(states: readonly State[]): boolean {
    let bytes = this.#bytes + rowBytes
    for (const { policy } of states) bytes += bytesOf(policy.algorithm.condensed ?? policy.algorithm.slots)
    return bytes <= mostBytes
  }

  /** Every place is there from the start, so that the array stays one of pointers. */
  override resize(rows: number): void {
    for (let row = this.rows.length; row < rows; row++) this.rows.push(undefined)
    this.#bytes = rows * placeBytes
  }

  override copy(states: readonly State[], row: number, now: number): void {
    this.fill(states, row, now, true)
    this.#bytes += this.#bytesOf(row)
  }

  override clear(row: number): void {
    this.#bytes -= this.#bytesOf(row)
    super.clear(row)
  }

  #bytesOf(row: number): number {
    const states = this.rows[row]
    if (states === undefined) return 0
    return states.reduce((bytes, { s }) => bytes + bytesOf(s.length), rowBytes)
  }
}

function bytesOf(numbers: number): number {
  return stateBytes + numberBytes * numbers
}
