import { gcra, leakyBucket, tokenBucket } from '../algorithms/buckets/index.ts'
import { type Policy, type Recipe, recipeOf } from '../algorithms/index.ts'
import { slidingLog } from '../algorithms/logs/index.ts'
import { fixedWindow, segmentedWindow, slidingWindow } from '../algorithms/windows/index.ts'
import { HeadgateError, shown } from '../common/index.ts'

/** An override as the JSON document has it. An override for `'*'` has neither `key` nor `prefix`. */
export interface OverrideRecord {
  readonly id: string
  /** Absent for `'*'`. But an override with `policies` always has a scope, whose policies it replaces. */
  readonly scope?: string | undefined
  readonly key?: string | undefined
  readonly prefix?: string | undefined
  readonly policy?: string | undefined
  readonly limit?: number | undefined
  readonly add?: number | undefined
  readonly policies?: readonly Recipe[] | undefined
  readonly scale?: number | undefined
  /** In milliseconds since the epoch. Absent for an override without an end. */
  readonly until?: number | undefined
  readonly reason?: string | undefined
  readonly since: number
}

/** An override of a limiter. An override for all keys (`'*'`) has neither `key` nor `prefix`. */
export interface Override extends Omit<OverrideRecord, 'policies'> {
  /** Identifies the override in `removeOverride` and in `decision.override`. Example: `'7'`. */
  readonly id: string
  /** The scope (kind of key) of `key`, of `prefix` or of `policies`. Example: `'user'`. */
  readonly scope?: string
  /** The key for which the override applies. */
  readonly key?: string
  /** The override applies to all keys that begin with this text. */
  readonly prefix?: string
  /** The name of the policy that the override changes. Absent for `policies`, and for a `scale` of all policies. */
  readonly policy?: string
  /** The limit in place of the policy's limit. */
  readonly limit?: number
  /** How many units are added to the policy's limit. */
  readonly add?: number
  /** The policies that replace the policies of the scope. */
  readonly policies?: readonly Policy[]
  /** The factor by which limits and bursts are multiplied. The result is rounded up, and is at least 1. */
  readonly scale?: number
  /** When the override ends, in milliseconds since the epoch by the clock of each process. Absent for an override without an end. */
  readonly until?: number
  readonly reason?: string
  /** When the override was written, in milliseconds since the epoch. */
  readonly since: number
  /**
   * False if the override changes nothing in this limiter: no policy has the name or the scope of the override, or the limiter cannot have
   * the policies or the numbers.
   */
  readonly effective: boolean
}

/** All overrides of a limiter. */
export interface OverrideDocument {
  /** The id that was given last, as a number. The next override gets the next number, so an id is never used again. */
  readonly last: number
  readonly overrides: readonly OverrideRecord[]
}

/** @throws HeadgateError `HEADGATE_STORE_RECORD` if the text is not a document of overrides */
export function parseDocument(text: string): OverrideDocument {
  if (text === '') return { last: 0, overrides: [] }
  try {
    const { last, overrides } = JSON.parse(text) as OverrideDocument
    if (Number.isSafeInteger(last) && overrides.every(({ id }) => typeof id === 'string')) return { last, overrides }
  } catch {}
  throw new HeadgateError(
    'HEADGATE_STORE_RECORD',
    `The overrides in the store have another form: ${shown(text)}. Run the version that wrote them, or delete them in the store.`,
  )
}

type Constructor = (options: never) => Policy

/** The constructors that make a policy from options that JSON can represent. */
const constructors: ReadonlyMap<string, Constructor> = new Map<string, Constructor>(
  Object.entries({ slidingWindow, fixedWindow, segmentedWindow, slidingLog, tokenBucket, leakyBucket, gcra }),
)

/** The constructor and the options that make this policy again, in the scope. Undefined for a policy that JSON cannot represent. */
export function packPolicy(policy: Policy, scope: string): Recipe | undefined {
  const [made, options] = recipeOf(policy) ?? []
  return made !== undefined && constructors.has(made) ? [made, { ...options, scope }] : undefined
}

/** The policy; undefined if only another version of headgate can make it. */
export function unpackPolicy([made, options]: Recipe): Policy | undefined {
  try {
    return constructors.get(made)?.(options as never)
  } catch {
    return undefined
  }
}
