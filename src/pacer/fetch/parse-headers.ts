/*
 * Reads what a server says of its limits, in every dialect that is about:
 *
 *     X-RateLimit-Limit, -Remaining, -Reset       epoch seconds, or seconds from now; also X-Rate-Limit-*
 *     RateLimit-Limit, -Remaining, -Reset         draft 6: seconds from now
 *     RateLimit: limit=2, remaining=1, reset=900  draft 7
 *     RateLimit: "name";r=1;t=900                 draft 8 and later; also the names `a` and `w` that are proposed next
 *
 * A value that is malformed is as if it were not there.
 */
import { type Item, parseDictionary, parseList } from './structured.ts'

/** Fields by name: `Headers` of fetch, or an object with names in lower case as Node's. */
export type Fields =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | number | undefined>>

/** One limit, as far as it is told. Times are milliseconds. */
export interface Quota {
  readonly name: string | undefined
  /** What is counted: `'requests'` unless the policy says otherwise. */
  readonly unit: string
  readonly limit: number | undefined
  readonly remaining: number | undefined
  readonly window: number | undefined
  /** How long until there is more, or all, again. */
  readonly resetAfter: number | undefined
}

export interface RateLimitInfo {
  /** How it was told, the newest that was understood; undefined if nothing was. */
  readonly dialect: 'list' | 'dictionary' | 'fields' | 'legacy' | undefined
  readonly quotas: readonly Quota[]
  /** What `Retry-After` says, in milliseconds from now. It takes precedence. */
  readonly retryAfter: number | undefined
}

/** Numbers beyond are epoch seconds (September 2001 and later), beyond the second epoch milliseconds. */
const epochSeconds = 1e9
const epochMilliseconds = 1e12

/** @param now milliseconds since the epoch, for dates and epoch seconds */
export function parseRateLimit(fields: Fields, now: number = Date.now()): RateLimitInfo {
  const read = reader(fields)
  const retryAfter = parseRetryAfter(read('retry-after'), now)
  for (const [dialect, parse] of dialects) {
    const quotas = parse(read, now)
    if (quotas.length > 0) return { dialect, quotas, retryAfter }
  }
  return { dialect: undefined, quotas: [], retryAfter }
}

/** Milliseconds from now; undefined if it is neither whole seconds nor a date. A date that is past is now. */
function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\s*\d+\s*$/.test(text)) return Number(text) * 1000
  // Dates only (RFC 9110, 5.6.7): Date.parse takes "-5" and "1.5" for years.
  const date = /^\s*[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

type Read = (name: string) => string | undefined
type Parse = (read: Read, now: number) => readonly Quota[]

const dialects: readonly (readonly ['list' | 'dictionary' | 'fields' | 'legacy', Parse])[] = [
  ['list', list],
  ['dictionary', dictionary],
  ['fields', (read) => separate(read, 'ratelimit-', (seconds) => seconds * 1000)],
  ['legacy', legacy],
]

function reader(fields: Fields): Read {
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

/** Draft 8 and later: limits by name, their promises beside them. */
function list(read: Read): readonly Quota[] {
  const limits = parseList(read('ratelimit') ?? '')
  const policies = parseList(read('ratelimit-policy') ?? '') ?? []
  if (limits === undefined || !limits.every(({ value }) => typeof value === 'string')) return []
  return limits.flatMap((item) => {
    const policy = policies.find(({ value }) => value === item.value)
    const remaining = whole(item, 'r') ?? whole(item, 'a')
    if (remaining === undefined) return []
    const unit = policy?.parameters.get('qu')
    return {
      name: item.value as string,
      unit: typeof unit === 'string' ? unit : 'requests',
      limit: policy && whole(policy, 'q'),
      remaining,
      window: times1000(policy && whole(policy, 'w')),
      resetAfter: times1000(whole(item, 't') ?? whole(item, 'w')),
    }
  })
}

function whole({ parameters }: Item, name: string): number | undefined {
  const value = parameters.get(name)
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined
}

function times1000(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}

/** Draft 7. */
function dictionary(read: Read): readonly Quota[] {
  const members = parseDictionary(read('ratelimit') ?? '') ?? []
  const value = (name: string) => {
    const found = members.findLast(({ key }) => key === name)?.value
    return typeof found === 'number' && Number.isInteger(found) && found >= 0 ? found : undefined
  }
  return told(value('limit'), value('remaining'), times1000(value('reset')), windowOf(read, value('limit')))
}

/** Three fields: draft 6, and with another start what was there before. */
function separate(read: Read, start: string, after: (reset: number) => number): readonly Quota[] {
  const value = (name: string) => {
    const text = read(start + name)
    // Draft 6 allows a list of policies behind the limit: "2, 2;w=900".
    return text !== undefined && /^\s*\d+(\.\d+)?\s*(,|;|$)/.test(text) ? Number.parseFloat(text) : undefined
  }
  const reset = value('reset')
  const resetAfter = reset === undefined ? undefined : after(reset)
  return told(value('limit'), value('remaining'), resetAfter, windowOf(read, value('limit')))
}

function legacy(read: Read, now: number): readonly Quota[] {
  const after = (reset: number) => {
    if (reset >= epochMilliseconds) return Math.max(0, reset - now)
    return reset >= epochSeconds ? Math.max(0, reset * 1000 - now) : reset * 1000
  }
  const quotas = separate(read, 'x-ratelimit-', after)
  return quotas.length > 0 ? quotas : separate(read, 'x-rate-limit-', after)
}

/** `RateLimit-Policy: 2;w=900` of drafts 6 and 7: the window of that limit. */
function windowOf(read: Read, limit: number | undefined): number | undefined {
  const policies = parseList(read('ratelimit-policy') ?? '') ?? []
  const policy = policies.find(({ value }) => value === limit)
  return policy && times1000(whole(policy, 'w'))
}

function told(
  limit: number | undefined,
  remaining: number | undefined,
  resetAfter: number | undefined,
  window: number | undefined,
): readonly Quota[] {
  if (limit === undefined && remaining === undefined) return []
  return [{ name: undefined, unit: 'requests', limit, remaining, window, resetAfter }]
}
