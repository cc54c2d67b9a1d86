import type { StateRule } from '../algorithms/carry.ts'
import type { Weighing } from '../algorithms/step.ts'
import { refuses, type Scope } from './memory-scope.ts'
import { type Room, tableIn } from './room.ts'
import { type Found, nothing } from './sketch.ts'
import { isNew, type State, States, timeOf } from './states.ts'
import { blank, type Table } from './table.ts'
import { VariedRows } from './varied-rows.ts'
import { VariedScope } from './varied-scope.ts'

/** Under the same policies for ever: their states side by side in one array of numbers. */
export class FixedScope implements Scope {
  readonly table: Table
  private readonly states: States
  private readonly weighings: readonly Weighing[]
  private readonly room: Room
  private row = blank
  private found: Found = nothing

  constructor(weighings: readonly Weighing[], room: Room) {
    const policies = weighings.map(({ policy }) => policy)
    this.weighings = weighings
    this.room = room
    this.states = new States(policies, false)
    this.table = tableIn(room, this.states, () => [new States(policies, true), new States(policies, true)])
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
      const weighing = this.weighings[n] as Weighing
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

  retuned(weighings: readonly Weighing[], now: number): FixedScope {
    const next = new FixedScope(weighings, this.room)
    next.table.takeOver(this.table, now, (states) => adopted(states, weighings, now))
    return next
  }

  varied(rule: StateRule, now: number): VariedScope {
    const rows = new VariedRows(this.room)
    rows.table.takeOver(this.table, now, (states) => states.filter((state) => !isNew(state)))
    return new VariedScope(this.weighings, rows, rule)
  }
}

function adopted(states: readonly State[], weighings: readonly Weighing[], now: number): readonly State[] {
  for (const [n, state] of states.entries()) {
    const { algorithm } = weighings[n] as Weighing
    algorithm.adopt?.(state.s, state.i, timeOf(state, now), state.policy.algorithm)
  }
  return states
}
