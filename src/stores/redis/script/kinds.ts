/* For each kind of algorithm: its number in packed plans (sets of policies) and stored states, and its Lua code. */
import type { Kind } from '../../../algorithms/index.ts'
import {
  bucket,
  calendarWindow,
  concurrency,
  intervalBucket,
  penalty,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  smoothBursty,
  smoothWarmingUp,
} from './steps/index.ts'

export interface RedisKind {
  /**
   * The kind's number in packed plans (sets of policies) and stored states, from 1 to 30. The number 9 is not used, because a removed kind
   * had that number.
   */
  readonly number: number
  /** The Lua code of the algorithm. Its functions have the names of the TypeScript methods. */
  readonly lua: string
  /** True for a frequently used algorithm. The Lua functions of other algorithms are created when a call first needs them. */
  readonly usual?: boolean
  /**
   * True if the stored definition of a policy also contains the span (one full refill, or one window), because the span cannot
   * be computed from the parameters of this kind.
   */
  readonly spans?: boolean
  /** True if a state may contain numbers with fractions. */
  readonly fractions?: boolean
}

export const kinds: Readonly<Record<Kind, RedisKind>> = {
  bucket: { number: 1, lua: bucket, usual: true },
  intervalBucket: { number: 2, lua: intervalBucket, usual: true },
  slidingWindow: { number: 3, lua: slidingWindow, usual: true, spans: true },
  slidingLog: { number: 5, lua: slidingLog, usual: true, spans: true },
  segmentedWindow: { number: 4, lua: segmentedWindow, spans: true },
  concurrency: { number: 10, lua: concurrency, spans: true },
  calendarWindow: { number: 11, lua: calendarWindow, spans: true },
  smoothBursty: { number: 6, lua: smoothBursty, fractions: true },
  smoothWarmingUp: { number: 7, lua: smoothWarmingUp, fractions: true },
  penalty: { number: 8, lua: penalty },
}

const names = Object.keys(kinds) as Kind[]

/** The kind with this number; undefined if only another version of headgate has a kind with this number. */
export function kindOf(number: number): Kind | undefined {
  return names.find((name) => kinds[name].number === number)
}

/** The Lua code of each kind, by the kind's name. @param usual true for only the frequently used kinds, false for only the other kinds */
export function luaOf(usual: boolean): Readonly<Record<Kind, string>> {
  const some = names.filter((name) => (kinds[name].usual ?? false) === usual)
  return Object.fromEntries(some.map((name) => [name, kinds[name].lua])) as Record<Kind, string>
}

/** A Lua table: the name of each kind, by the number of the kind. */
export const luaNames: string = `{ ${names.map((name) => `[${kinds[name].number}] = '${name}'`).join(', ')} }`
