/*
 * Reads the limits that a server reports, in every dialect in use:
 *
 *     X-RateLimit-Limit, -Remaining, -Reset       epoch seconds, or seconds from now; also X-Rate-Limit-*
 *     RateLimit-Limit, -Remaining, -Reset         draft 6: seconds from now
 *     RateLimit: limit=2, remaining=1, reset=900  draft 7
 *     RateLimit: "name";r=1;t=900                 draft 8 and later; also the names `a` and `w` that are proposed next
 *
 * A malformed field is ignored.
 */
import { type InnerList, type Item, parseDictionary, parseList } from 'structured-headers'

/** Header fields: the `Headers` of fetch, or an object with names in lower case such as Node's. */
export type HeaderFields =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | number | undefined>>

/** One limit of a server. A number that the server does not send is undefined. */
export interface Quota {
  readonly name: string | undefined
  /** The unit that the server counts. Default `'requests'`. */
  readonly unit: string
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** Milliseconds. */
  readonly window: number | undefined
  /** Milliseconds until units come back. With `t=30` it is 30000. */
  readonly resetAfter: number | undefined
}

export interface RateLimitInfo {
  /** The newest dialect that was understood. Undefined if there was none. */
  readonly dialect: 'list' | 'dictionary' | 'fields' | 'legacy' | undefined
  readonly quotas: readonly Quota[]
  /** The time that `Retry-After` names, in milliseconds from now. It takes precedence over quotas. */
  readonly retryAfter: number | undefined
}

/** A larger number is epoch seconds (September 2001 and later). */
const epochSeconds = 1e9
/** A larger number is epoch milliseconds. */
const epochMilliseconds = 1e12

/**
 * Reads `Retry-After` and the rate limit fields of a response. It never throws: a malformed field is ignored.
 *
 * Example: `parseRateLimit(response.headers).quotas[0]?.remaining`.
 * @param now milliseconds since the epoch, to read dates and epoch seconds by
 */
export function parseRateLimit(fields: HeaderFields, now: number = Date.now()): RateLimitInfo {
  const read = reader(fields)
  const retryAfter = parseRetryAfter(read('retry-after'), now)
  for (const [dialect, parse] of dialects) {
    const quotas = parse(read, now)
    if (quotas.length > 0) return { dialect, quotas, retryAfter }
  }
  return { dialect: undefined, quotas: [], retryAfter }
}

/** Milliseconds from now, for whole seconds or a date. A past date is now. */
function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\s*\d+\s*$/.test(text)) return capped(Number(text) * 1000)
  const date = httpDate(text.trim())
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const months = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
const days = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const time = '\\d{2}:\\d{2}:\\d{2}'
/** `Sun, 06 Nov 1994 08:49:37 GMT`, and `Sunday, 06-Nov-94 08:49:37 GMT`, which is obsolete. */
const datesWithZone = new RegExp(
  `^(?:${days}, \\d{2} ${months} \\d{4}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \\d{2}-${months}-\\d{2}) ${time} GMT$`,
)
/** `Sun Nov  6 08:49:37 1994`, which is obsolete. It means GMT and does not say so. */
const dateWithoutZone = new RegExp(`^${days} ${months} [ \\d]\\d ${time} \\d{4}$`)

/** The dates of RFC 9110, 5.6.7, in milliseconds; else NaN. `Date.parse` alone reads "foo 5", "-5" and "1.5" as dates, too. */
function httpDate(text: string): number {
  if (datesWithZone.test(text)) return Date.parse(text)
  return dateWithoutZone.test(text) ? Date.parse(`${text} GMT`) : Number.NaN
}

/** A number of any length stays finite. */
function capped(number: number): number {
  return Math.min(number, Number.MAX_SAFE_INTEGER)
}

type Read = (name: string) => string | undefined
type Parse = (read: Read, now: number) => readonly Quota[]

/** The newest dialect first. */
const dialects: readonly (readonly ['list' | 'dictionary' | 'fields' | 'legacy', Parse])[] = [
  ['list', list],
  ['dictionary', dictionary],
  ['fields', (read) => separateFields(read, 'ratelimit-', (seconds) => seconds * 1000)],
  ['legacy', legacy],
]

function reader(fields: HeaderFields): Read {
  if (typeof fields.get === 'function') {
    const { get } = fields as { get(name: string): string | null }
    return (name) => get.call(fields, name) ?? undefined
  }
  const record = fields as Readonly<Record<string, string | readonly string[] | number | undefined>>
  return (name) => {
    const value = Object.hasOwn(record, name) ? record[name] : undefined
    return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
  }
}

/** Draft 8 and later: limits by name, and their policies in a field of its own. */
function list(read: Read): readonly Quota[] {
  const limits = parsed(parseList, read('ratelimit')) ?? []
  const policies = policiesOf(read)
  if (!limits.every(([name]) => typeof name === 'string')) return []
  return limits.flatMap((limit) => {
    const name = limit[0] as string
    const policy = policies.find(([value]) => value === name)
    const remaining = parameter(limit, 'r') ?? parameter(limit, 'a')
    if (remaining === undefined) return []
    const unit = policy?.[1].get('qu')
    return {
      name,
      unit: typeof unit === 'string' ? unit : 'requests',
      limit: policy && parameter(policy, 'q'),
      remaining,
      window: inMilliseconds(policy && parameter(policy, 'w')),
      resetAfter: inMilliseconds(parameter(limit, 't') ?? parameter(limit, 'w')),
    }
  })
}

/** Draft 7. */
function dictionary(read: Read): readonly Quota[] {
  const members = parsed(parseDictionary, read('ratelimit'))
  const value = (name: string) => wholeNumber(members?.get(name)?.[0])
  return quotaOf(read, value('limit'), value('remaining'), inMilliseconds(value('reset')))
}

/** Three fields: draft 6, and what was in use before it, with another prefix. */
function separateFields(read: Read, prefix: string, after: (reset: number) => number): readonly Quota[] {
  const value = (name: string) => {
    const text = read(prefix + name)
    // Draft 6 allows a list of policies after the limit: "2, 2;w=900".
    return text !== undefined && /^\s*\d+(\.\d+)?\s*(,|;|$)/.test(text) ? capped(Number.parseFloat(text)) : undefined
  }
  const reset = value('reset')
  return quotaOf(read, value('limit'), value('remaining'), reset === undefined ? undefined : capped(after(reset)))
}

function legacy(read: Read, now: number): readonly Quota[] {
  const after = (reset: number) => {
    if (reset >= epochMilliseconds) return Math.max(0, reset - now)
    return reset >= epochSeconds ? Math.max(0, reset * 1000 - now) : reset * 1000
  }
  const quotas = separateFields(read, 'x-ratelimit-', after)
  return quotas.length > 0 ? quotas : separateFields(read, 'x-rate-limit-', after)
}

/** The one limit of the dialects that have no names. Drafts 6 and 7 send its window in `RateLimit-Policy: 2;w=900`. */
function quotaOf(
  read: Read,
  limit: number | undefined,
  remaining: number | undefined,
  resetAfter: number | undefined,
): readonly Quota[] {
  if (limit === undefined && remaining === undefined) return []
  const policy = policiesOf(read).find(([value]) => value === limit)
  const window = inMilliseconds(policy && parameter(policy, 'w'))
  return [{ name: undefined, unit: 'requests', limit, remaining, window, resetAfter }]
}

function policiesOf(read: Read): readonly (Item | InnerList)[] {
  return parsed(parseList, read('ratelimit-policy')) ?? []
}

/** A field parsed as a structured field (RFC 9651), or undefined if it is malformed or missing. */
function parsed<Structure>(parse: (text: string) => Structure, text: string | undefined): Structure | undefined {
  try {
    return text === undefined ? undefined : parse(text)
  } catch {
    return undefined
  }
}

function parameter([, parameters]: Item | InnerList, name: string): number | undefined {
  return wholeNumber(parameters.get(name))
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined
}

function inMilliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}
