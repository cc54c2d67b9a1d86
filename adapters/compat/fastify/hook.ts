import type { FastifyReply, FastifyRequest } from 'fastify'
import ms from 'ms'
import { isPromise, shown } from '../../../src/common/index.ts'
import { uncounted, type WindowCount } from '../counters.ts'
import { hasLeft } from '../network.ts'
import { CannotRead } from './counting.ts'
import { type Counting, normalizeIP, type Settings } from './settings.ts'
import type { RateLimitOptions, RateLimitResult } from './types.ts'

/** One limit of the plugin: its settings, and the counter of its hits. */
export interface Limit {
  readonly settings: Settings
  readonly counting: Counting
}

function grouped(key: string | number, request: FastifyRequest): string {
  const group = (request.routeOptions.config as { rateLimit?: RateLimitOptions } | undefined)?.rateLimit?.groupId
  return group ? `${key}${group}` : (key as string)
}

async function isExempt({ allowList }: Settings, request: FastifyRequest, key: string): Promise<boolean> {
  if (typeof allowList === 'function') return Boolean(await allowList(request, key))
  return allowList?.includes(key) === true
}

/** Counts a request, unless `allowList` exempts the request's key. @param increments false to read the key's count without another hit */
export async function apply(
  { settings, counting }: Limit,
  request: FastifyRequest,
  increments = true,
): Promise<RateLimitResult> {
  const { keyGenerator, ipv6Subnet } = settings
  const own = isFunction(keyGenerator) ? await keyGenerator(request) : normalizeIP(request.ip, ipv6Subnet)
  if (!own && hasLeft(request.raw)) throw Object.assign(new Error('Forbidden'), { statusCode: 403 })
  const key = grouped(own, request)
  if (settings.allowList && (await isExempt(settings, request, key))) return { isAllowed: true, key }
  const max = typeof settings.max === 'number' ? settings.max : await settings.max(request, key)
  const given = settings.timeWindow
  const timeWindow = typeof given === 'number' ? given : windowOf(await given(request, key))
  const asked = [String(key), timeWindow, max] as const
  let count: WindowCount = { used: 0, resetAfter: 0 }
  try {
    const counted = increments ? counting.hit(...asked) : counting.read(...asked)
    count = isPromise(counted) ? await counted : counted
  } catch (error) {
    // With `skipOnError`, a failing store refuses no request. But `CannotRead` is thrown: a store without the method `read`
    // is a mistake in the application, not a failure.
    if (!settings.skipOnError || error instanceof CannotRead) throw error
  }
  const { used, resetAfter: ttl } = count
  return {
    isAllowed: false,
    key,
    max,
    timeWindow,
    remaining: Math.max(0, max - used),
    ttl,
    ttlInSeconds: Math.ceil(ttl / 1000),
    isExceeded: used > max,
    isBanned: settings.ban !== -1 && used !== uncounted && used - max > settings.ban,
  }
}

function isFunction<Value>(value: Value): value is Value & ((...args: never[]) => unknown) {
  return typeof value === 'function'
}

function windowOf(milliseconds: unknown): number {
  const window = Number(milliseconds)
  if (Number.isFinite(window) && milliseconds !== null && milliseconds !== '') return window
  throw new TypeError(`timeWindow must return a number of milliseconds, got ${shown(milliseconds)}.`)
}

type Mark = { [ran: symbol]: boolean }

/**
 * The hook that enforces a limit. If several limits of the plugin apply to one request, only the first limit counts the request.
 * @param ran the property that marks a counted request
 */
export function hookOf(limit: Limit, ran: symbol): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const { settings } = limit
  return async (request, reply) => {
    const marked = request as unknown as Mark
    if (marked[ran]) return
    marked[ran] = true
    const result = await apply(limit, request)
    if (result.isAllowed === true) return
    const { onExceeding, onExceeded, onBanReach } = settings
    if (result.isExceeded && isFunction(onExceeded)) await onExceeded(request, result.key)
    setHeaders(settings, reply, result)
    if (result.isExceeded && result.isBanned && isFunction(onBanReach)) await onBanReach(request, result.key)
    if (result.isExceeded) throw refusal(settings, request, result)
    if (isFunction(onExceeding)) await onExceeding(request, result.key)
  }
}

type Counted = Extract<RateLimitResult, { isAllowed: false }>

function setHeaders(
  { labels, addHeaders, addHeadersOnExceeding }: Settings,
  reply: FastifyReply,
  result: Counted,
): void {
  const { isExceeded, max, remaining, ttlInSeconds } = result
  const wanted = isExceeded ? addHeaders : addHeadersOnExceeding
  const set = (name: string, value: number) => wanted[name] && reply.header(name, value)
  set(labels.rateLimit, max)
  set(labels.rateRemaining, remaining)
  set(labels.rateReset, ttlInSeconds)
  if (isExceeded) set(labels.retryAfter, ttlInSeconds)
}

function refusal(settings: Settings, request: FastifyRequest, { max, ttl, ttlInSeconds, isBanned }: Counted): object {
  const { errorResponseBuilder } = settings
  const after = waitText(ttlInSeconds * 1000)
  const statusCode = isBanned ? 403 : 429
  const context = { statusCode, ban: isBanned, max, ttl, after }
  if (isFunction(errorResponseBuilder)) return errorResponseBuilder(request, context)
  return Object.assign(new Error(`Rate limit exceeded, retry in ${after}`), { statusCode })
}

const aYear = 365.25 * 24 * 60 * 60 * 1000

/**
 * The wait as text, such as '1 minute'. Waits of a year or more, which the option `exponentialBackoff` can make, are
 * written in years.
 */
function waitText(milliseconds: number): string {
  const years = Math.round(milliseconds / aYear)
  if (milliseconds < aYear) return ms(milliseconds, { long: true })
  return `${years} ${years === 1 ? 'year' : 'years'}`
}
