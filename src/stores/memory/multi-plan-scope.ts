import { pointTo, type StateRule } from '../../algorithms/carry.ts'
import type { PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { blank, type Capacity, KeyTable } from './key-table.ts'
import { MultiPlanPlaces } from './multi-plan-places.ts'
import { MultiPlanStates } from './multi-plan-states.ts'
import { nothing, type OverflowLocation, OverflowTable } from './overflow-table.ts'
import { refuses, type Scope } from './scope.ts'
import { numbersOf, type State } from './state.ts'

/** The keys of one scope under one of several plans. All plans share the states, which are carried over as needed. */
export class MultiPlanScope implements Scope {
  readonly table: KeyTable<MultiPlanStates>
  readonly #rule: StateRule
  #policies: readonly PolicyEvaluation[]
  #row = blank
  #found: OverflowLocation = nothing

  constructor(policies: readonly PolicyEvaluation[], table: KeyTable<MultiPlanStates>, rule: StateRule) {
    this.#policies = policies
    this.table = table
    this.#rule = rule
  }

  find(key: string, now: number): boolean {
    this.#row = this.table.find(key)
    this.#found = this.#row === blank ? this.table.recall(key) : nothing
    this.#point(now)
    return this.#row !== blank
  }

  #point(now: number): void {
    const { states } = this.table
    const known = this.#row === blank ? this.table.recalled(this.#found, now) : states.read(this.#row)
    for (const evaluation of this.#policies) {
      const left = known.find(({ policy }) => policy.name === evaluation.policy.name)
      pointTo(evaluation, left && { definition: left.policy.algorithm, s: left.s }, now, this.#rule, () =>
        numbersOf(left as State),
      )
    }
  }

  claim(key: string, now: number): void {
    if (this.#row !== blank) return
    this.#row = this.table.claim(key, this.#found, now)
    this.#point(now)
  }

  claimKnown(key: string, now: number): void {
    if (this.#found !== nothing) this.claim(key, now)
  }

  /** Every state has an array of its own. */
  openBookings(): void {}

  keep(now: number): void {
    if (this.#row !== blank) this.table.states.keep(this.#policies, this.#row, now)
  }

  forget(key: string, now: number): void {
    this.table.forget(key, now)
  }

  noteRefused(): void {
    if (this.#row !== blank && refuses(this.#policies)) this.table.noteRefused(this.#row)
  }

  /** Nothing has to be done now: each state is carried over by the rule when it is next needed. */
  retuned(policies: readonly PolicyEvaluation[]): this {
    this.#policies = policies
    return this
  }

  shared(): this {
    return this
  }
}

/** A table for the keys of one scope, which all plans share. */
export function multiPlanTable(capacity: Capacity): KeyTable<MultiPlanStates> {
  return new KeyTable(new MultiPlanStates(), capacity, (maxKeys, seed, replaced) => {
    return new OverflowTable(new MultiPlanPlaces(), undefined, maxKeys, seed, replaced)
  })
}
