import type { StateRule } from '../../algorithms/carry.ts'
import type { PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { type Capacity, tableIn } from './capacity.ts'
import { FlatStates, isNew, type State, timeOf } from './flat-states.ts'
import { blank, type KeyTable } from './key-table.ts'
import { MultiPlanScope } from './multi-plan.ts'
import { MultiPlanRows } from './multi-plan-rows.ts'
import { type Found, nothing } from './overflow.ts'
import { refuses, type Scope } from './scope.ts'

/** Under the same policies for ever: their states side by side in one array of numbers. */
export class SinglePlanScope implements Scope {
  readonly table: KeyTable
  private readonly states: FlatStates
  private readonly weighings: readonly PolicyEvaluation[]
  private readonly room: Capacity
  private row = blank
  private found: Found = nothing

  constructor(weighings: readonly PolicyEvaluation[], room: Capacity) {
    const policies = weighings.map(({ policy }) => policy)
    this.weighings = weighings
    this.room = room
    this.states = new FlatStates(policies, false)
    this.table = tableIn(room, this.states, () => [new FlatStates(policies, true), new FlatStates(policies, true)])
  }

  find(key: string, now: number): boolean {
    const row = this.table.find(key)
    this.row = row
    this.states.point(this.weighings, row)
    return row !== blank || this.recall(key, now)
  }

  private recall(key: string, now: number): boolean {
    this.found = this.table.recall(key)
    if (this.found === nothing) return false
    const states = this.table.statesOf(this.found, now)
    for (let n = 0; n < states.length; n++) {
      const { s, i } = states[n] as State
      const weighing = this.weighings[n] as PolicyEvaluation
      weighing.s = s
      weighing.i = i
    }
    return false
  }

  claim(key: string, now: number): void {
    if (this.row === blank) this.claimRow(key, now)
  }

  private claimRow(key: string, now: number): void {
    this.row = this.table.claim(key, this.found, now)
    this.states.point(this.weighings, this.row)
  }

  claimKnown(key: string, now: number): void {
    if (this.found !== nothing) this.claim(key, now)
  }

  keep(): void {}

  forget(key: string, now: number): void {
    this.table.forget(key, now)
  }

  noteRefused(): void {
    const { table, row } = this
    if (row !== blank && !table.refused(row) && refuses(this.weighings)) table.noteRefused(row)
  }

  retuned(weighings: readonly PolicyEvaluation[], now: number): SinglePlanScope {
    const next = new SinglePlanScope(weighings, this.room)
    next.table.takeOver(this.table, now, (states) => adopted(states, weighings, now))
    return next
  }

  varied(rule: StateRule, now: number): MultiPlanScope {
    const rows = new MultiPlanRows(this.room)
    rows.table.takeOver(this.table, now, (states) => states.filter((state) => !isNew(state)))
    return new MultiPlanScope(this.weighings, rows, rule)
  }
}

function adopted(states: readonly State[], weighings: readonly PolicyEvaluation[], now: number): readonly State[] {
  for (const [n, state] of states.entries()) {
    const { algorithm } = weighings[n] as PolicyEvaluation
    algorithm.adopt?.(state.s, state.i, timeOf(state, now), state.policy.algorithm)
  }
  return states
}
