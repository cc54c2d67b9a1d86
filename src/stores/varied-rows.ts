import { type Room, tableIn } from './room.ts'
import type { Table } from './table.ts'
import { VariedCells } from './varied-cells.ts'
import { VariedPlaces, VariedStates } from './varied-states.ts'

/** The keys of one scope under policies that vary. */
export class VariedRows {
  readonly states: VariedStates = new VariedStates()
  readonly table: Table

  constructor(room: Room) {
    this.table = tableIn(room, this.states, () => [new VariedPlaces(), new VariedCells()])
  }
}
