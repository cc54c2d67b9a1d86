import type { StateRule } from '../../algorithms/carry.ts'
import type { PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { FlatStates } from './flat-states.ts'
import { blank, type Capacity, KeyTable } from './key-table.ts'
import { MultiPlanScope, multiPlanTable } from './multi-plan-scope.ts'
import { cells, nothing, type OverflowLocation, OverflowTable } from './overflow-table.ts'
import { refuses, type Scope } from './scope.ts'
import { SharedCells } from './shared-cells.ts'
import { isUnused, type State, timeOf } from './state.ts'

/** The keys of one scope while the ledger has one plan: the layout of a row never changes. */
export class SinglePlanScope implements Scope {
  readonly table: KeyTable<FlatStates>
  private readonly states: FlatStates
  private readonly policies: readonly PolicyEvaluation[]
  private readonly capacity: Capacity
  private row = blank
  private found: OverflowLocation = nothing

  constructor(policies: readonly PolicyEvaluation[], capacity: Capacity) {
    const all = policies.map(({ policy }) => policy)
    this.policies = policies
    this.capacity = capacity
    this.states = new FlatStates(all, false)
    this.table = new KeyTable(this.states, capacity, (maxKeys, seed, replaced) => {
      return new OverflowTable(new FlatStates(all, true), new SharedCells(all), maxKeys, seed, replaced)
    })
  }

  find(key: string, now: number): boolean {
    const row = this.table.find(key)
    this.row = row
    this.states.point(this.policies, row)
    return row !== blank || this.recall(key, now)
  }

  private recall(key: string, now: number): boolean {
    this.found = this.table.recall(key)
    if (this.found === nothing) return false
    for (const [n, { s, i }] of this.table.recalled(this.found, now).entries()) {
      const policy = this.policies[n] as PolicyEvaluation
      policy.s = s
      policy.i = i
    }
    return false
  }

  claim(key: string, now: number): void {
    if (this.row === blank) this.claimRow(key, now)
  }

  private claimRow(key: string, now: number): void {
    this.row = this.table.claim(key, this.found, now)
    this.states.point(this.policies, this.row)
    if (this.found !== cells) return
    for (const policy of this.policies) policy.algorithm.reopen?.(policy.s, policy.i, timeOf(policy, now))
  }

  claimKnown(key: string, now: number): void {
    if (this.found !== nothing) this.claim(key, now)
  }

  openBookings(): void {
    this.states.openBookings(this.policies, this.row)
  }

  keep(): void {}

  forget(key: string, now: number): void {
    this.table.forget(key, now)
  }

  noteRefused(): void {
    const { table, row } = this
    if (row !== blank && !table.isRefused(row) && refuses(this.policies)) table.noteRefused(row)
  }

  retuned(policies: readonly PolicyEvaluation[], now: number): SinglePlanScope {
    const next = new SinglePlanScope(policies, this.capacity)
    next.table.takeOver(this.table, now, (states) => adopted(states, policies, now))
    return next
  }

  shared(rule: StateRule, now: number): MultiPlanScope {
    const table = multiPlanTable(this.capacity)
    table.takeOver(this.table, now, (states) => states.filter((state) => !isUnused(state)))
    return new MultiPlanScope(this.policies, table, rule)
  }
}

function adopted(states: readonly State[], policies: readonly PolicyEvaluation[], now: number): readonly State[] {
  for (const [n, state] of states.entries()) {
    const { algorithm } = policies[n] as PolicyEvaluation
    algorithm.adopt?.(state.s, state.i, timeOf(state, now), state.policy.algorithm)
  }
  return states
}
