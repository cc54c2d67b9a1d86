/*
 * The whole script of the store, assembled from its parts. The part of an algorithm has the same functions in the same order as
 * the TypeScript file of the same name.
 */
import type { Kind } from '../../../algorithms/index.ts'
import { bans, spentQuota } from './bans.ts'
import { carry } from './carry.ts'
import { defaults } from './defaults.ts'
import { evaluation } from './evaluate-policies.ts'
import { luaOf } from './kinds.ts'
import { main } from './main.ts'
import { verbs } from './other-verbs.ts'
import { records } from './records.ts'
import { states } from './states.ts'
import { bookings, exactMath, expiringReservations, smooth } from './steps/index.ts'
import { leases } from './take-leases.ts'
import { triedCosts } from './tried-costs.ts'

export type ScriptPart =
  | Kind
  | 'exactMath'
  | 'records'
  | 'states'
  | 'evaluation'
  | 'verbs'
  | 'triedCosts'
  | 'spentQuota'
  | 'bans'
  | 'carry'
  | 'leases'
  | 'bookings'
  | 'expiringReservations'
  | 'others'
  | 'defaults'
  | 'smooth'
  | 'endOfOthers'
  | 'main'

/** The parts of the script by name. A part may use only the parts before it. */
export const parts: Readonly<Record<ScriptPart, string>> = {
  exactMath,
  records,
  states,
  evaluation,
  verbs,
  triedCosts,
  spentQuota,
  bans,
  carry,
  leases,
  bookings,
  ...luaOf(true),
  // The rarely used algorithms are inside one function that is called when needed, because most calls need none of them.
  others: 'function makers.others()\n',
  defaults,
  smooth,
  expiringReservations,
  ...luaOf(false),
  endOfOthers: 'end\n',
  main,
}

/**
 * Assembles the script from its parts.
 * @param changed parts that replace the parts of the same name, for tests
 */
export function assemble(changed: Readonly<Partial<Record<ScriptPart, string>>>): string {
  return compact(Object.values({ ...parts, ...changed }).join(''))
}

/** Removes comments, empty lines and indentation from Lua text, so that the server gets a shorter script. */
export function compact(text: string): string {
  return text.replace(/^\s*(--.*)?\n/gm, '').replace(/^ +/gm, '')
}

export const script: string = assemble(parts)
