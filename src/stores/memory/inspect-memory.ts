/*
 * What a memory store returns for `inspect` and `scan`: copies of states, from the rows of its key table, or from the overflow
 * table, which has the keys that a full store has evicted from the rows.
 */
import type { KeptKey, KeptState, KeyPage } from '../../inspection/index.ts'
import { keyName, keyOfName } from './key-name.ts'
import { blank, type KeyTable } from './key-table.ts'
import type { MemoryBans } from './memory-bans.ts'
import { cells, nothing } from './overflow-table.ts'
import type { Scope } from './scope-states.ts'
import { isUnused, numbersOf, type State, stateTime } from './state.ts'

/** How many rows (each for one key) one page of a scan lists. */
const pageSize = 200

export function keptKey({ table, name }: Scope, bans: MemoryBans, key: string, now: number): KeptKey {
  return { ...statesOf(table, key, now), ban: bans.look(name, keyName(key)) }
}

function statesOf(table: KeyTable, key: string, now: number): KeptKey {
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

/**
 * Lists the keys of one scope (kind of key): first the keys that have a row in the key table, then the keys that have only a ban.
 * @param from where the page starts: a row, or the names of the banned keys that were not listed yet
 */
export function keptPage(scope: Scope, bans: MemoryBans, from: unknown, now: number): KeyPage {
  if (Array.isArray(from)) return bannedPage(scope, bans, from, now)
  const { table } = scope
  const { rows, next } = table.rowsFrom((from as number | undefined) ?? 0, pageSize)
  const keys = rows.map(({ name, row }) => ({
    ...keyOfName(name),
    kept: { now, states: keptStates(table.states.read(row)), ban: bans.look(scope.name, name) },
  }))
  if (next !== undefined) return { keys, next }
  const names = bans.names(scope.name).filter((name) => !table.has(name))
  return { keys, next: names.length === 0 ? undefined : names }
}

function bannedPage(scope: Scope, bans: MemoryBans, names: readonly string[], now: number): KeyPage {
  const keys = names.slice(0, pageSize).map((name) => {
    const key = keyOfName(name)
    const { states } = 'key' in key ? statesOf(scope.table, key.key, now) : { states: [] }
    return { ...key, kept: { now, states, ban: bans.look(scope.name, name) } }
  })
  return { keys, next: names.length > pageSize ? names.slice(pageSize) : undefined }
}

/**
 * Copies the states that are not all zeros.
 * @param reopening the present time, if several keys were merged into these states. The copies are then what a call of one of these keys
 *   would find now
 */
function keptStates(states: readonly State[], reopening?: number): KeptState[] {
  return states
    .filter((state) => !isUnused(state))
    .map((state) => {
      const { name, algorithm } = state.policy
      const { kind, span, parameters } = algorithm
      const s = numbersOf(state)
      if (reopening !== undefined) algorithm.reopen?.(s, 0, stateTime(state, reopening))
      return { name, definition: { kind, span, parameters }, s }
    })
}
