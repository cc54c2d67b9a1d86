import type { Algorithm, Numbers } from '../algorithms/algorithm.ts'
import { type CarryRule, carry } from '../algorithms/carry.ts'
import { sameDefinition } from '../algorithms/revive.ts'
import { Weighing } from '../algorithms/step.ts'
import { left, type Rows } from './states.ts'

/**
 * Rows of a limiter whose policies vary: in each row the states by the name of their policy, and under which numbers each
 * was written. One that is asked for under others is carried over, and kept so only if the call writes.
 */
export class VariedStates implements Rows {
  readonly #rows: (Map<string, Weighing> | undefined)[] = []

  /** Points the weighings to the states in that row as they are under the weighings' numbers. */
  look(weighings: readonly Weighing[], row: number, now: number, rule: CarryRule): void {
    const kept = this.#rows[row]
    for (const weighing of weighings) {
      weighing.i = 0
      weighing.s = stateOf(kept?.get(weighing.policy.name), weighing.algorithm, now, rule)
    }
  }

  /** Keeps what the weighings point to, in a row of this key's own. */
  keep(weighings: readonly Weighing[], row: number): void {
    const kept = this.#rows[row] ?? new Map<string, Weighing>()
    this.#rows[row] = kept
    for (const { policy, s } of weighings) {
      const state = new Weighing(policy)
      state.s = s
      kept.set(policy.name, state)
    }
  }

  resize(): void {}

  point(weighings: readonly Weighing[]): void {
    for (const weighing of weighings) weighing.s = fresh(weighing.algorithm)
  }

  clear(row: number): void {
    this.#rows[row] = undefined
  }

  copy(weighings: readonly Weighing[], row: number): void {
    this.keep(weighings, row)
  }

  reopen(): void {}

  retune(): void {}

  left(row: number, now: number): number {
    return left([...(this.#rows[row]?.values() ?? [])], now)
  }

  idle(row: number, now: number): number {
    const states = [...(this.#rows[row]?.values() ?? [])]
    return now - Math.max(...states.map(({ s }) => s[0] as number))
  }
}

function stateOf(kept: Weighing | undefined, algorithm: Algorithm, now: number, rule: CarryRule): Numbers {
  if (kept === undefined) return fresh(algorithm)
  if (kept.algorithm === algorithm || sameDefinition(kept.algorithm, algorithm)) return kept.s
  return carry(Array.from(kept.s), kept.algorithm, algorithm, now, rule)
}

function fresh(algorithm: Algorithm): number[] {
  return new Array(algorithm.slots).fill(0)
}
