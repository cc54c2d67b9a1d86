import type { Seed } from './key-hash.ts'
import { Sketch } from './sketch.ts'
import type { Cells, Places, Rows } from './states.ts'
import { Table } from './table.ts'

/** How many keys a scope holds, and, unless they are forgotten, what places those that have to give way. */
export interface Room {
  readonly maxKeys: number
  readonly seed: Seed | undefined
}

/** @param parts what its sketch is made of, when it is first needed */
export function tableIn({ maxKeys, seed }: Room, rows: Rows, parts: () => readonly [Places, Cells]): Table {
  return new Table(rows, maxKeys, seed && ((like) => new Sketch(...parts(), maxKeys, seed, like)))
}
