/* What a memory store shows of keys (`Ledger.inspect` and `Ledger.list`): copies of the states, wherever they are. */
import type { KeptKey, KeptState, KeyPage } from '../../inspection/kept-key.ts'
import { keyOfName } from './key-name.ts'
import { blank, type KeyTable } from './key-table.ts'
import { cells, nothing } from './overflow-table.ts'
import { isUnused, numbersOf, type State, timeOf } from './state.ts'

/** How many rows are listed at once. */
const pageSize = 200

export function keptKey(table: KeyTable, key: string, now: number): KeptKey {
  const row = table.find(key)
  if (row !== blank) return { now, states: keptStates(table.states.read(row)) }
  const found = table.recall(key)
  if (found === nothing) return { now, states: [] }
  const states = table.recalled(found, now)
  if (found === cells) return { now, states: keptStates(states, now), atMost: true, notes: [shared] }
  const isLog = states.some(({ policy }) => policy.algorithm.grows)
  return { now, states: keptStates(states), ...(isLog && { notes: [condensed] }) }
}

const shared =
  'The memory store is full, and has merged this key with others: its numbers are those of all of them, so the key itself ' +
  'may have used less. Raise maxKeys.'
const condensed =
  'The key is in the overflow table of a full memory store, where times of a log are rounded up. Raise maxKeys.'

/** @param from the row where the page before ended */
export function keptPage(table: KeyTable, from: unknown, now: number): KeyPage {
  const { rows, next } = table.rowsFrom((from as number | undefined) ?? 0, pageSize)
  const keys = rows.map(({ name, row }) => ({
    ...keyOfName(name),
    kept: { now, states: keptStates(table.states.read(row)) },
  }))
  return { keys, next }
}

/** @param reopening the time, if the states are those of shared cells, which the key would continue from now on */
function keptStates(states: readonly State[], reopening?: number): KeptState[] {
  return states
    .filter((state) => !isUnused(state))
    .map((state) => {
      const { name, algorithm } = state.policy
      const { kind, span, parameters } = algorithm
      const s = numbersOf(state)
      if (reopening !== undefined) algorithm.reopen?.(s, 0, timeOf(state, reopening))
      return { name, definition: { kind, span, parameters }, s }
    })
}
