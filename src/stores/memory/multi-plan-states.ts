import type { PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { numbersOf, quotaLeft, type State, type StateRows } from './state.ts'

const none: readonly State[] = []

/**
 * Rows of states under several plans. Each row has its states by the names of their policies, with the numbers each was
 * written under. Rows have no common layout, so each row is an object and each state an array of its own.
 */
export class MultiPlanStates implements StateRows {
  protected readonly rows: (readonly State[] | undefined)[] = []

  resize(_rows: number): void {}

  clear(row: number): void {
    this.rows[row] = undefined
  }

  read(row: number): readonly State[] {
    return this.rows[row] ?? none
  }

  copy(states: readonly State[], row: number, _now: number): void {
    this.rows[row] = states.map((state) => ({ policy: state.policy, s: numbersOf(state), i: 0 }))
  }

  /** Keeps what a commit wrote. States of policies that this plan does not have go once they have their full quota. */
  keep(policies: readonly PolicyEvaluation[], row: number, now: number): void {
    for (const { policy, s, wrote } of policies) {
      if (!wrote) continue
      const states = this.read(row)
      if (states.some((state) => state.s === s)) continue
      const others = states.filter((state) => state.policy.name !== policy.name && isWanted(state, policies, now))
      this.rows[row] = [...others, { policy, s, i: 0 }]
    }
  }
}

function isWanted(state: State, policies: readonly PolicyEvaluation[], now: number): boolean {
  return policies.some(({ policy }) => policy.name === state.policy.name) || quotaLeft([state], now) < 1
}
