import type { Algorithm } from '../algorithms/algorithm.ts'
import { carry, type StateRule } from '../algorithms/carry.ts'
import { sameDefinition } from '../algorithms/revive.ts'
import { Weighing } from '../algorithms/step.ts'
import { left, type Rows } from './states.ts'

/**
 * Rows of a limiter whose policies vary: in each row the states by the name of their policy, and under which numbers each
 * was written. One that is asked for under others is carried over, and kept so only if the call writes it.
 */
export class VariedStates implements Rows {
  readonly #rows: (Map<string, Weighing> | undefined)[] = []

  /** Points the weighings to the states in that row as they are under the weighings' numbers. */
  look(weighings: readonly Weighing[], row: number, now: number, rule: StateRule): void {
    const kept = this.#rows[row]
    for (const weighing of weighings) {
      weighing.i = 0
      pointTo(kept?.get(weighing.policy.name), weighing, now, rule)
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

function pointTo(kept: Weighing | undefined, weighing: Weighing, now: number, rule: StateRule): void {
  const { algorithm } = weighing
  weighing.carried = false
  if (kept === undefined) weighing.s = fresh(algorithm)
  else if (kept.algorithm === algorithm || sameDefinition(kept.algorithm, algorithm)) weighing.s = kept.s
  else {
    weighing.s = carry(Array.from(kept.s), kept.algorithm, algorithm, now, rule)
    weighing.carried = rule !== 'retune'
  }
}

function fresh(algorithm: Algorithm): number[] {
  return new Array(algorithm.slots).fill(0)
}
