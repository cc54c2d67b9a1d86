/*
 * Cells that several keys share if the overflow table has no free place for them: a count-min sketch in which the
 * counters are states. A key is merged into two cells. Each cell is at least as strict as every key that was merged into the cell. So a key
 * that continues from the more permissive of its two cells is never admitted too often. Such a key may be refused too early, because of
 * other keys in the cells.
 */

import { PolicyEvaluation } from '../../algorithms/evaluation/index.ts'
import { type Policy, Report } from '../../algorithms/index.ts'
import { copyState, isUnused, quotaLeft, type State, stateTime } from './state.ts'
import { StateRows } from './state-rows.ts'

const report = new Report()
const otherReport = new Report()

export class SharedCells {
  #states: StateRows
  #found: readonly PolicyEvaluation[]
  #other: readonly PolicyEvaluation[]
  /** For each cell (states for several keys), 1 if a key was merged into the cell, else 0. */
  readonly #inUse: Uint8Array
  /** How many cells (states for several keys) have at least one key merged into them. */
  used = 0

  constructor(policies: readonly Policy[], cells: number) {
    this.#states = new StateRows(policies, true)
    this.#states.resize(cells)
    this.#found = evaluationsOf(policies)
    this.#other = evaluationsOf(policies)
    this.#inUse = new Uint8Array(cells)
  }

  /** True if a key may have been merged into these two cells (states for several keys). */
  has(one: number, other: number): boolean {
    return this.#inUse[one] === 1 && this.#inUse[other] === 1
  }

  /**
   * Merges the states of a key into a cell. After the merge, the cell admits no more than before, and no more than the states of the key.
   */
  merge(states: readonly State[], cell: number, now: number): void {
    if (this.#inUse[cell] === 0) this.used++
    this.#inUse[cell] = 1
    this.#states.point(this.#other, cell)
    for (const [n, state] of states.entries()) {
      const to = this.#other[n] as PolicyEvaluation
      if (isUnused(to)) copyState(state, to.s, to.i, now, true)
      else to.algorithm.merge(to.s, to.i, Math.max(stateTime(state, now), stateTime(to, now)), state.s, state.i)
    }
  }

  /** For each policy, the more permissive state of the two cells (each for several keys). The next call overwrites the returned array. */
  leastUsed(one: number, other: number, now: number): readonly State[] {
    this.#states.point(this.#found, one)
    this.#states.point(this.#other, other)
    for (const [n, found] of this.#found.entries()) {
      const rival = this.#other[n] as PolicyEvaluation
      found.algorithm.report(found.s, found.i, stateTime(found, now), report)
      rival.algorithm.report(rival.s, rival.i, stateTime(rival, now), otherReport)
      const more = otherReport.remaining - report.remaining
      if (more < 0 || (more === 0 && otherReport.reset >= report.reset)) continue
      found.i = rival.i
    }
    return this.#found
  }

  /** Clears the cell (states for several keys) if its states have their full quota again. */
  prune(cell: number, now: number): void {
    if (this.#inUse[cell] === 0 || quotaLeft(this.#states.read(cell), now) < 1) return
    this.#states.clear(cell)
    this.#inUse[cell] = 0
    this.used--
  }

  retune(policies: readonly Policy[], now: number): void {
    this.#states = this.#states.retuned(policies, now)
    this.#found = evaluationsOf(policies)
    this.#other = evaluationsOf(policies)
  }
}

function evaluationsOf(policies: readonly Policy[]): readonly PolicyEvaluation[] {
  return policies.map((policy) => new PolicyEvaluation(policy))
}
