import type { FastifyReply, FastifyRequest } from 'fastify'
import ms from 'ms'
import type { Counting } from './counting.ts'
import { normalizeIP, type Settings } from './settings.ts'
import type { Hits, RateLimitOptions, RateLimitResult } from './types.ts'

/** One limit: its settings, and where it counts. */
export interface Limit {
  readonly settings: Settings
  readonly counting: Counting
}

async function keyOf({ keyGenerator, ipv6Subnet }: Settings, request: FastifyRequest): Promise<string> {
  const key = keyGenerator === undefined ? normalizeIP(request.ip, ipv6Subnet) : await keyGenerator(request)
  const group = (request.routeOptions.config as { rateLimit?: RateLimitOptions } | undefined)?.rateLimit?.groupId
  return group ? `${key}${group}` : (key as string)
}

async function isExempt({ allowList }: Settings, request: FastifyRequest, key: string): Promise<boolean> {
  if (typeof allowList === 'function') return Boolean(await allowList(request, key))
  return allowList?.includes(key) === true
}

/** Counts a request, unless it is exempt. */
export async function apply(
  { settings, counting }: Limit,
  request: FastifyRequest,
  increments = true,
): Promise<RateLimitResult> {
  const key = await keyOf(settings, request)
  if (settings.allowList && (await isExempt(settings, request, key))) return { isAllowed: true, key }
  const max = typeof settings.max === 'number' ? settings.max : await settings.max(request, key)
  const given = settings.timeWindow
  const timeWindow = typeof given === 'number' ? given : await given(request, key)
  const { current, ttl } = await hitsOf({ settings, counting }, String(key), timeWindow, max, increments)
  return {
    isAllowed: false,
    key,
    max,
    timeWindow,
    remaining: Math.max(0, max - current),
    ttl,
    ttlInSeconds: Math.ceil(ttl / 1000),
    isExceeded: current > max,
    isBanned: settings.ban !== -1 && current - max > settings.ban,
  }
}

async function hitsOf(
  { settings, counting }: Limit,
  key: string,
  timeWindow: number,
  max: number,
  increments: boolean,
): Promise<Hits> {
  try {
    return await (increments ? counting.hit(key, timeWindow, max) : counting.read(key, timeWindow, max))
  } catch (error) {
    if (!settings.skipOnError || (!increments && error instanceof Error && /has no read/.test(error.message)))
      throw error
    return { current: 0, ttl: 0 }
  }
}

type Mark = { [ran: symbol]: boolean }

/** The hook of a limit. One request is counted once, by the first limit of the plugin that it meets. */
export function hookOf(limit: Limit, ran: symbol): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const { settings } = limit
  return async (request, reply) => {
    const marked = request as unknown as Mark
    if (marked[ran]) return
    marked[ran] = true
    const result = await apply(limit, request)
    if (result.isAllowed === true) return
    setHeaders(settings, reply, result)
    if (!result.isExceeded) settings.onExceeding?.(request, result.key)
    else throw refusal(settings, request, result)
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

function refusal(
  settings: Settings,
  request: FastifyRequest,
  { key, max, ttl, ttlInSeconds, isBanned }: Counted,
): object {
  settings.onExceeded?.(request, key)
  if (isBanned) settings.onBanReach?.(request, key)
  const after = ms(ttlInSeconds * 1000, { long: true })
  const statusCode = isBanned ? 403 : 429
  const context = { statusCode, ban: isBanned, max, ttl, after }
  if (settings.errorResponseBuilder !== undefined) return settings.errorResponseBuilder(request, context)
  return Object.assign(new Error(`Rate limit exceeded, retry in ${after}`), { statusCode })
}
