/* Each kind of algorithm, as the script has it. */
import type { Kind } from '../../../algorithms/index.ts'
import {
  bucket,
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
  /** The kind's number in plans and records, from 1 to 30. No number is used again: 9 was a kind that no longer exists. */
  readonly number: number
  /** Restates the algorithm: the same functions in the same order. */
  readonly lua: string
  /** True if most calls use the algorithm. Other algorithms are made on first use. */
  readonly usual?: boolean
  /** True if the span does not follow from the parameters. */
  readonly spans?: boolean
  /** True if the numbers of a state are not all whole. */
  readonly fractions?: boolean
}

export const kinds: Readonly<Record<Kind, RedisKind>> = {
  bucket: { number: 1, lua: bucket, usual: true },
  intervalBucket: { number: 2, lua: intervalBucket, usual: true },
  slidingWindow: { number: 3, lua: slidingWindow, usual: true, spans: true },
  slidingLog: { number: 5, lua: slidingLog, usual: true, spans: true },
  segmentedWindow: { number: 4, lua: segmentedWindow, spans: true },
  concurrency: { number: 10, lua: concurrency, spans: true },
  smoothBursty: { number: 6, lua: smoothBursty, fractions: true },
  smoothWarmingUp: { number: 7, lua: smoothWarmingUp, fractions: true },
  penalty: { number: 8, lua: penalty },
}

const names = Object.keys(kinds) as Kind[]

/** The kind of that number; undefined for a number of another build. */
export function kindOf(number: number): Kind | undefined {
  return names.find((name) => kinds[name].number === number)
}

/** The Lua of the usual kinds, or of the unusual ones, by the name of the kind. */
export function luaOf(usual: boolean): Readonly<Record<Kind, string>> {
  const some = names.filter((name) => (kinds[name].usual ?? false) === usual)
  return Object.fromEntries(some.map((name) => [name, kinds[name].lua])) as Record<Kind, string>
}

/** The names of the kinds in Lua, by their numbers. */
export const luaNames: string = `{ ${names.map((name) => `[${kinds[name].number}] = '${name}'`).join(', ')} }`
