import type { StateRule } from '../../algorithms/carry.ts'
import type { PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { type State, timeOf } from './flat-states.ts'
import { blank, type KeyTable } from './key-table.ts'
import { lookUp } from './look-up.ts'
import type { MultiPlanRows } from './multi-plan-rows.ts'
import { type Found, nothing } from './overflow.ts'
import { refuses, type Scope } from './scope.ts'

/** Under policies that vary: each state as it was last written, and carried over to the numbers of the call. */
export class MultiPlanScope implements Scope {
  readonly rows: MultiPlanRows
  readonly #rule: StateRule
  #weighings: readonly PolicyEvaluation[]
  #row = blank
  #found: Found = nothing
  /** Those that point to states which keys shared, and nobody has written since. */
  #shared: PolicyEvaluation[] = []

  constructor(weighings: readonly PolicyEvaluation[], rows: MultiPlanRows, rule: StateRule) {
    this.#weighings = weighings
    this.rows = rows
    this.#rule = rule
  }

  get table(): KeyTable {
    return this.rows.table
  }

  find(key: string, now: number): boolean {
    this.#row = this.table.find(key)
    if (this.#row === blank) this.#recall(key, now)
    else this.#point(this.rows.states.read(this.#row), now)
    return this.#row !== blank && this.#shared.length === 0
  }

  #recall(key: string, now: number): void {
    this.#found = this.table.recall(key)
    this.#point(this.table.statesOf(this.#found, now), now)
  }

  #point(states: readonly State[], now: number): void {
    this.#shared = this.#weighings.filter((weighing) => lookUp(weighing, states, now, this.#rule))
  }

  claim(key: string, now: number): void {
    if (this.#row === blank) {
      this.#row = this.table.claim(key, this.#found, now)
      this.#point(this.rows.states.read(this.#row), now)
    }
    for (const weighing of this.#shared) weighing.algorithm.reopen?.(weighing.s, weighing.i, timeOf(weighing, now))
  }

  claimKnown(key: string, now: number): void {
    if (this.#row !== blank || this.#found !== nothing) this.claim(key, now)
  }

  keep(now: number): void {
    if (this.#row !== blank) this.rows.states.keep(this.#weighings, this.#row, now)
  }

  forget(key: string, now: number): void {
    this.table.forget(key, now)
  }

  noteRefused(): void {
    if (this.#row !== blank && refuses(this.#weighings)) this.table.noteRefused(this.#row)
  }

  /** Nothing has to be done now: each state is carried over by the rule when it is next asked for. */
  retuned(weighings: readonly PolicyEvaluation[]): this {
    this.#weighings = weighings
    return this
  }

  varied(): this {
    return this
  }
}
