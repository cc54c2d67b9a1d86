/*
 * The fields of servers that count several units, mostly those of language models: one limit for requests and others
 * for tokens. No standard defines these fields.
 *
 *     x-ratelimit-remaining-tokens: 149984            OpenAI, Azure OpenAI, Groq, xAI; reset as a duration or in seconds
 *     x-ratelimit-remaining-tokens-minute: 4999911    Mistral (no reset) and Cerebras (reset in seconds)
 *     ratelimitbysize-remaining: 499900               Mistral before: tokens, reset in seconds
 *     anthropic-ratelimit-tokens-remaining: 79000     Anthropic; reset as a date
 *
 * OpenAI and Anthropic give units back little by little, and their reset is the time when all units are back. No field says when the first
 * unit is back. So a request waits until the reset, and thus longer than necessary. Anthropic rounds the number of tokens left to
 * thousands, so up to 500 tokens fewer than reported may be left.
 */
import { capped, parseReset } from './parse-times.ts'
import type { Quota, Read } from './quota.ts'

/** The names of the header fields that report one limit. */
interface Fields {
  readonly unit: string
  readonly window?: number
  readonly limit: string
  readonly remaining: string
  readonly reset: string
  readonly cost?: string
}

const day = 24 * 60 * 60 * 1000
/** Suffixes of field names, and the window that each suffix means, in milliseconds. A month counts as 31 days. */
const windows = { '': undefined, '-minute': 60_000, '-hour': 3_600_000, '-day': day, '-month': 31 * day }
const units = ['requests', 'tokens', 'input-tokens', 'output-tokens']

const fields: readonly Fields[] = [
  ...Object.entries(windows).flatMap(([suffix, window]) =>
    [...units, 'req'].map((name) => suffixed('x-ratelimit-', `-${name}${suffix}`, name, window)),
  ),
  suffixed('ratelimitbysize-', '', 'tokens'),
  suffixed('x-ratelimitbysize-', '-minute', 'tokens', windows['-minute']),
  suffixed('x-ratelimitbysize-', '-month', 'tokens', windows['-month']),
  ...units.map((unit) => {
    const prefix = `anthropic-ratelimit-${unit}-`
    return { unit, limit: `${prefix}limit`, remaining: `${prefix}remaining`, reset: `${prefix}reset` }
  }),
]

function suffixed(prefix: string, suffix: string, name: string, window?: number | undefined): Fields {
  return {
    unit: name === 'req' ? 'requests' : name,
    ...(window !== undefined && { window }),
    limit: `${prefix}limit${suffix}`,
    remaining: `${prefix}remaining${suffix}`,
    reset: `${prefix}reset${suffix}`,
    ...(name === 'tokens' && {
      cost: prefix === 'x-ratelimit-' ? `${prefix}tokens-query-cost` : `${prefix}query-cost`,
    }),
  }
}

/** The quotas that the server reports in fields for each unit, such as tokens. */
export function unitQuotas(read: Read, now: number): readonly Quota[] {
  return fields.flatMap(({ unit, window, limit: limitField, remaining: remainingField, reset, cost }) => {
    const limit = parseCount(read(limitField))
    const remaining = parseCount(read(remainingField))
    if (limit === undefined && remaining === undefined) return []
    // Azure OpenAI writes the reset field with the prefix `x-rate-limit-`.
    const text = read(reset) ?? read(reset.replace('x-ratelimit-', 'x-rate-limit-')) ?? ''
    const resetAfter = parseReset(text, now)
    const taken = cost === undefined ? undefined : parseCount(read(cost))
    return [{ name: undefined, unit, limit, remaining, window, resetAfter, cost: taken }]
  })
}

/** Parses a number of units. In draft 6 a list of policies may follow the limit: `2, 2;w=900` is read as 2. */
export function parseCount(text: string | undefined): number | undefined {
  if (text === undefined || !/^\s*\d+(\.\d+)?\s*(,|;|$)/.test(text)) return undefined
  return capped(Number.parseFloat(text))
}
