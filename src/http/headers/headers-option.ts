import { anything, flag, HeadgateError, readOptions, shown } from '../../common/index.ts'
import type { Key } from '../../limiter/index.ts'
import type { Decision } from '../../policy/index.ts'
import type { Dialect } from './dialect.ts'
import { drafts } from './drafts.ts'
import type { LegacyOptions } from './legacy.ts'
import type { PartitionKeyOptions } from './partition-keys.ts'

const dialectNames = ['legacy', ...Object.keys(drafts)] as readonly Dialect[]

/** The option `headers` as an object with all settings. */
export interface HeadersOptions {
  /**
   * The dialects (sets of names and formats) of the fields to send. Default `'legacy'`. If two dialects in the list have the
   * same field, the later dialect sets the field. Example: `['legacy', 'draft-11']`.
   */
  dialects?: Dialect | readonly Dialect[] | undefined
  /** True to set the fields only on a refusal, or if at least 80 per cent of a policy's burst are used. Default false. */
  near?: boolean | undefined
  /**
   * The names of the legacy fields, and the format of the reset time. Default: the `X-RateLimit-*` names and seconds since 1970.
   * Example: `{ resetAs: 'delta' }`.
   */
  legacy?: LegacyOptions | undefined
  /** Adds `pk`, a salted hash of the key, to the fields of draft-8 and draft-11. Default: no `pk`. Example: `{ salt: secret }`. */
  pk?: PartitionKeyOptions | undefined
}

/**
 * A function that sets your own fields. Must not be async. The arguments are the decision, a function `set`, and the key. The decision
 * contains its time `at`. Example: `(decision, set) => set('X-Quota-Left', String(decision.remaining))`.
 */
export type HeaderWriter = (decision: Decision, set: (name: string, value: string) => void, key: Key) => void

/**
 * The option `headers`: one or several dialects (sets of field names); `'near'` to set the legacy fields only near the limit; an object
 * with all settings; a function that sets your own fields; or false for no fields.
 */
export type HeadersOption = Dialect | readonly Dialect[] | 'near' | HeadersOptions | HeaderWriter | false

export type ReadHeaders = Omit<HeadersOptions, 'dialects'> & {
  readonly dialects: readonly Dialect[]
  readonly near: boolean
}

/** Reads the option `headers`. @throws HeadgateError `HEADGATE_OPTION` for an unknown dialect (set of field names) or setting */
export function readHeaders(option: Exclude<HeadersOption, HeaderWriter>): ReadHeaders {
  if (option === false) return { dialects: [], near: false }
  if (option === 'near') return { dialects: ['legacy'], near: true }
  if (typeof option !== 'object' || option === null || Array.isArray(option)) {
    return { dialects: dialectsOf(option), near: false }
  }
  const options = option as HeadersOptions
  const readers = { dialects: anything, near: flag(), legacy: anything, pk: anything }
  const { dialects = 'legacy', near } = readOptions('headers', options, readers)
  return { ...options, dialects: dialectsOf(dialects), near }
}

function dialectsOf(wanted: unknown): readonly Dialect[] {
  const list: readonly unknown[] = Array.isArray(wanted) && wanted.length > 0 ? wanted : [wanted]
  const unknown = list.findIndex((name) => !dialectNames.includes(name as Dialect))
  if (unknown === -1) return list as readonly Dialect[]
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `headers must be ${dialectNames.map(shown).join(', ')}, 'near', a list of dialects, { dialects, near, legacy, pk }, ` +
      `a function or false, got ${shown(list[unknown])}. Leave it out for 'legacy'.`,
  )
}
