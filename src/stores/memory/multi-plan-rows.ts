import { type Capacity, tableIn } from './capacity.ts'
import type { KeyTable } from './key-table.ts'
import { MultiPlanPlaces, MultiPlanStates } from './multi-plan-states.ts'
import { SharedCells } from './shared-cells.ts'

/** The keys of one scope under policies that vary. */
export class MultiPlanRows {
  readonly states: MultiPlanStates = new MultiPlanStates()
  readonly table: KeyTable

  constructor(room: Capacity) {
    this.table = tableIn(room, this.states, () => [new MultiPlanPlaces(), new SharedCells()])
  }
}
