/*
 * Reads the limits that a server reports, in every dialect (set of fields) in use:
 *
 *     X-RateLimit-Limit, -Remaining, -Reset       epoch seconds, or seconds from now; also X-Rate-Limit-*
 *     X-RateLimit-Reset-After                     seconds from now, with fractions (Discord); read before -Reset
 *     X-RateLimit-Remaining-Tokens, and others    a limit for each unit: unit-quotas.ts
 *     RateLimit-Limit, -Remaining, -Reset         draft 6: seconds from now; some send epoch seconds (GitLab)
 *     RateLimit: limit=2, remaining=1, reset=900  draft 7
 *     RateLimit: "name";r=1;t=900                 draft 8 and later; also the names `a` and `w` of the next proposal
 *
 * A malformed field is ignored.
 */
import { type InnerList, type Item, parseDictionary, parseList } from 'structured-headers'
import { decimal, parseReset, parseRetryAfter } from './parse-times.ts'
import type { HeaderFields, ParsedRateLimit, Quota, Read } from './quota.ts'
import { parseCount, unitQuotas } from './unit-quotas.ts'

/**
 * Reads `Retry-After` and the rate limit fields of a response. Never throws: a malformed field is ignored.
 *
 * Example: `parseRateLimit(response.headers).quotas[0]?.remaining`.
 * @param now the present time in milliseconds since the epoch, to compute how far away dates and epoch seconds are
 */
export function parseRateLimit(fields: HeaderFields, now: number = Date.now()): ParsedRateLimit {
  const read = reader(fields)
  const retryAfter = waitOf(read, now)
  const units = unitQuotas(read, now)
  for (const [dialect, parse] of dialects) {
    const quotas = parse(read, now)
    if (quotas.length > 0) return { dialect, quotas: [...quotas, ...units], retryAfter }
  }
  return { dialect: units.length > 0 ? 'units' : undefined, quotas: units, retryAfter }
}

/**
 * The wait that a response names. `Retry-After-Ms` (OpenAI, Azure) takes precedence over `Retry-After`, because `Retry-After`
 * has only whole seconds.
 */
function waitOf(read: Read, now: number): number | undefined {
  const exact = decimal(read('retry-after-ms') ?? '', 1)
  const text = read('retry-after')
  return exact ?? (text === undefined ? undefined : parseRetryAfter(text, now))
}

type Parse = (read: Read, now: number) => readonly Quota[]

/** The ways in which servers write limits, the newest way first. */
const dialects: readonly (readonly ['list' | 'dictionary' | 'fields' | 'legacy', Parse])[] = [
  ['list', list],
  ['dictionary', dictionary],
  ['fields', (read, now) => separateFields(read, 'ratelimit-', now)],
  ['legacy', legacy],
]

/** A value that cannot be read as text is a malformed field. A response without fields has none. */
function reader(fields: HeaderFields): Read {
  // `get` of a Headers object checks the name at each call, which is slow for dozens of names. A Map is faster.
  const found = fields instanceof Headers ? new Map(fields) : Object(fields)
  return (name) => {
    try {
      const hasGet = typeof found.get === 'function'
      const value: unknown = hasGet ? found.get(name) : Object.hasOwn(found, name) ? found[name] : undefined
      if (value === undefined || value === null) return undefined
      return Array.isArray(value) ? value.join(', ') : String(value)
    } catch {
      return undefined
    }
  }
}

/** Reads draft 8 and later: `RateLimit` has the limits by name, and `RateLimit-Policy` has their windows. */
function list(read: Read): readonly Quota[] {
  const limits = parsed(parseList, read('ratelimit')) ?? []
  const policies = policiesOf(read)
  if (!limits.every(([name]) => typeof name === 'string')) return []
  return limits.flatMap((limit, n) => {
    const name = limit[0] as string
    // Two limits on one response may have the same name. Both fields list them in the same order.
    const named = policies.filter(([value]) => value === name)
    const policy = named[limits.slice(0, n).filter(([value]) => value === name).length] ?? named[0]
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
      cost: undefined,
    }
  })
}

/** Reads the field `RateLimit` of draft 7. */
function dictionary(read: Read): readonly Quota[] {
  const members = parsed(parseDictionary, read('ratelimit'))
  const value = (name: string) => wholeNumber(members?.get(name)?.[0])
  return quotaOf(read, value('limit'), value('remaining'), inMilliseconds(value('reset')))
}

/** Reads separate fields for limit, remaining and reset: the fields of draft 6, or the fields named `x-ratelimit-*`. */
function separateFields(read: Read, prefix: string, now: number): readonly Quota[] {
  const after = decimal(read(`${prefix}reset-after`) ?? '', 1000)
  const reset = after ?? parseReset(read(`${prefix}reset`) ?? '', now)
  return quotaOf(read, parseCount(read(`${prefix}limit`)), parseCount(read(`${prefix}remaining`)), reset)
}

function legacy(read: Read, now: number): readonly Quota[] {
  const quotas = separateFields(read, 'x-ratelimit-', now)
  return quotas.length > 0 ? quotas : separateFields(read, 'x-rate-limit-', now)
}

/**
 * The limit that a response reports in a dialect (format of fields) without names of limits. Empty if the response reports no limit. Drafts
 * 6 and 7 send the window as `RateLimit-Policy: 2;w=900`.
 */
function quotaOf(
  read: Read,
  limit: number | undefined,
  remaining: number | undefined,
  resetAfter: number | undefined,
): readonly Quota[] {
  if (limit === undefined && remaining === undefined) return []
  const policy = policiesOf(read).find(([value]) => value === limit)
  const window = inMilliseconds(policy && parameter(policy, 'w'))
  return [{ name: undefined, unit: 'requests', limit, remaining, window, resetAfter, cost: undefined }]
}

function policiesOf(read: Read): readonly (Item | InnerList)[] {
  return parsed(parseList, read('ratelimit-policy')) ?? []
}

/** Parses a structured field (RFC 9651). Returns undefined if the field is malformed or missing. */
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
