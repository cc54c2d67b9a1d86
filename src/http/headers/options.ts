import { HeadgateError, shown } from '../../errors.ts'
import { knownOptions } from '../../options.ts'
import type { LegacyOptions } from './legacy.ts'
import type { PartitionKeyOptions } from './partition-key.ts'

/**
 * The dialects of the response fields: `'legacy'` is X-RateLimit-Limit, -Remaining and -Reset, the others are the drafts
 * of draft-ietf-httpapi-ratelimit-headers by number.
 */
export type Dialect = 'legacy' | 'draft-6' | 'draft-7' | 'draft-8' | 'draft-11'

const dialectNames: readonly Dialect[] = ['legacy', 'draft-6', 'draft-7', 'draft-8', 'draft-11']

interface HeadersOptions {
  /** Default `'legacy'`. Where two of a list write the same field, the later one does. */
  dialects?: Dialect | readonly Dialect[]
  /** Only on refusals and from 80 per cent used of any policy. */
  near?: boolean
  /** Names of the legacy fields, and how their reset is told. */
  legacy?: LegacyOptions
  /** Adds `pk` to draft-8 and draft-11: a salted digest of the key. */
  pk?: PartitionKeyOptions
}

/** Dialects, `'near'` for the legacy one near the limit only, all of it in an object, or false for no fields. */
export type HeadersOption = Dialect | readonly Dialect[] | 'near' | HeadersOptions | false

export type ReadHeaders = HeadersOptions & { readonly dialects: readonly Dialect[] }

/** @throws HeadgateError `HEADGATE_OPTION` for a dialect or option that does not exist */
export function readHeaders(wanted: HeadersOption): ReadHeaders {
  if (wanted === false) return { dialects: [] }
  if (wanted === 'near') return { dialects: ['legacy'], near: true }
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted)) {
    return { dialects: dialectsOf(wanted) }
  }
  const options = wanted as HeadersOptions
  knownOptions('headers', options, ['dialects', 'near', 'legacy', 'pk'])
  if (options.near !== undefined && typeof options.near !== 'boolean') {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `headers.near must be true or false, got ${shown(options.near)}. Give a boolean.`,
    )
  }
  return { ...options, dialects: dialectsOf(options.dialects ?? 'legacy') }
}

function dialectsOf(wanted: unknown): readonly Dialect[] {
  const list: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted]
  const unknown = list.findIndex((name) => !dialectNames.includes(name as Dialect))
  if (unknown === -1) return list as readonly Dialect[]
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `headers must be ${dialectNames.map(shown).join(', ')}, 'near', a list of dialects, { dialects, near, legacy, pk } ` +
      `or false, got ${shown(list[unknown])}. Leave it out for 'legacy'.`,
  )
}
