/*
 * The one script of the store, put together from its parts. Each algorithm restates the TypeScript of the same name: the
 * same functions in the same order.
 */
import type { Kind } from '../../../algorithms/index.ts'
import { bans } from './bans.ts'
import { carry } from './carry.ts'
import { defaults } from './defaults.ts'
import { evaluation } from './evaluate-policies.ts'
import { luaOf } from './kinds.ts'
import { main } from './main.ts'
import { verbs } from './other-verbs.ts'
import { records } from './records.ts'
import { states } from './states.ts'
import { bookings, exactMath, smooth } from './steps/index.ts'
import { leases } from './take-leases.ts'

export type ScriptPart =
  | Kind
  | 'exactMath'
  | 'records'
  | 'states'
  | 'evaluation'
  | 'verbs'
  | 'bans'
  | 'carry'
  | 'leases'
  | 'bookings'
  | 'others'
  | 'defaults'
  | 'smooth'
  | 'endOfOthers'
  | 'main'

/** The parts of the script by name, in the order in which they need each other. */
export const parts: Readonly<Record<ScriptPart, string>> = {
  exactMath,
  records,
  states,
  evaluation,
  verbs,
  bans,
  carry,
  leases,
  bookings,
  ...luaOf(true),
  // Wraps the makers of the unusual algorithms in one function, because most calls need none of them.
  others: 'function makers.others()\n',
  defaults,
  smooth,
  ...luaOf(false),
  endOfOthers: 'end\n',
  main,
}

/**
 * Puts the parts together.
 * @param changed parts that replace those of the same name; tests change some parts
 */
export function assemble(changed: Readonly<Partial<Record<ScriptPart, string>>>): string {
  return compact(Object.values({ ...parts, ...changed }).join(''))
}

/** The text without comments and indentation, which the server does not need. */
export function compact(text: string): string {
  return text.replace(/^\s*(--.*)?\n/gm, '').replace(/^ +/gm, '')
}

export const script: string = assemble(parts)
