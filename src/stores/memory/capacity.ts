import type { Cells, Places, Rows } from './flat-states.ts'
import type { Seed } from './key-hash.ts'
import { KeyTable } from './key-table.ts'
import { OverflowTable } from './overflow.ts'

/** How many keys a scope holds, and, unless they are forgotten, what places those that have to give way. */
export interface Capacity {
  readonly maxKeys: number
  readonly seed: Seed | undefined
}

/** @param parts what its sketch is made of, when it is first needed */
export function tableIn({ maxKeys, seed }: Capacity, rows: Rows, parts: () => readonly [Places, Cells]): KeyTable {
  return new KeyTable(rows, maxKeys, seed && ((like) => new OverflowTable(...parts(), maxKeys, seed, like)))
}
