import type { FastifyRequest, RouteOptions } from 'fastify'
import ms from 'ms'
import { type MaybePromise, whole } from '../../../src/common/index.ts'
import type { WindowCount } from '../counters.ts'
import { networkOf } from '../network.ts'
import type { RateLimitOptions, RateLimitPluginOptions } from './types.ts'

/**
 * The key of an IP address. For IPv4, the key is the address. For IPv6, the key is the first address of its network. For any other
 * text, the key is the text in lower case. Undefined if `ip` is undefined.
 * @param ipv6Subnet the length of the network's prefix in bits
 */
export function normalizeIP(ip: string, ipv6Subnet = 64): string {
  return networkOf(ip, ipv6Subnet)?.address ?? ip?.toLowerCase()
}

type Resolved<Value> = number | ((request: FastifyRequest, key: string) => MaybePromise<Value>)

export type Settings = Required<Pick<RateLimitOptions, 'ipv6Subnet' | 'ban' | 'hook' | 'cache'>> &
  Omit<RateLimitPluginOptions, 'max' | 'timeWindow' | 'nameSpace'> & {
    readonly nameSpace: string
    readonly max: Resolved<number>
    readonly timeWindow: Resolved<number>
    readonly labels: ReturnType<typeof labelsOf>
    readonly addHeaders: Readonly<Record<string, boolean>>
    readonly addHeadersOnExceeding: Readonly<Record<string, boolean>>
    readonly routeInfo?: Partial<RouteOptions>
  }

function labelsOf({ enableDraftSpec }: RateLimitOptions) {
  const start = enableDraftSpec === true ? 'ratelimit' : 'x-ratelimit'
  return {
    rateLimit: `${start}-limit`,
    rateRemaining: `${start}-remaining`,
    rateReset: `${start}-reset`,
    retryAfter: 'retry-after',
  }
}

function isCount(value: unknown): value is number {
  return Number.isFinite(value) && (value as number) >= 0
}

function maxOf({ max }: RateLimitOptions): Settings['max'] {
  if (isCount(max)) return Math.trunc(max)
  return typeof max === 'function' ? max : 1000
}

function windowOf({ timeWindow }: RateLimitOptions): Settings['timeWindow'] {
  if (isCount(timeWindow)) return Math.trunc(timeWindow)
  if (typeof timeWindow === 'function') return timeWindow
  if (typeof timeWindow !== 'string') return 60_000
  const window = ms(timeWindow as ms.StringValue)
  if (isCount(window)) return window
  throw new TypeError(`timeWindow is no duration: ${timeWindow}. Write '1 minute'.`)
}

function subnetOf({ ipv6Subnet }: RateLimitOptions): number {
  return isCount(ipv6Subnet) && ipv6Subnet <= 128 ? Math.trunc(ipv6Subnet) : 64
}

/** How many keys are held in memory: `cache`, or a million for `cache: 0`. In the original, `cache: 0` has no bound. */
function cacheOf({ cache }: RateLimitOptions): number {
  return whole(5000, { least: 0 })(cache, 'cache') || 1_000_000
}

export function settingsOf(options: RateLimitPluginOptions): Settings {
  const labels = labelsOf(options)
  const { rateLimit, rateRemaining, rateReset, retryAfter } = labels
  const shown = { [rateLimit]: true, [rateRemaining]: true, [rateReset]: true }
  return {
    ...options,
    ...numbersOf(options),
    // In the options of the plugin, only the value true turns on the two options below. In the options of a route, any truthy value turns
    // the two options on. @fastify/rate-limit reads both in the same way.
    continueExceeding: options.continueExceeding === true,
    exponentialBackoff: options.exponentialBackoff === true,
    hook: options.hook || 'onRequest', // JavaScript may give false
    nameSpace: options.nameSpace ?? 'fastify-rate-limit-',
    labels,
    addHeaders: { ...shown, [retryAfter]: true, ...options.addHeaders },
    addHeadersOnExceeding: { ...shown, ...options.addHeadersOnExceeding },
  }
}

function numbersOf(options: RateLimitOptions): Pick<Settings, 'max' | 'timeWindow' | 'ban' | 'ipv6Subnet' | 'cache'> {
  const { ban } = options
  return {
    max: maxOf(options),
    timeWindow: windowOf(options),
    ban: isCount(ban) ? Math.trunc(ban) : -1,
    ipv6Subnet: subnetOf(options),
    cache: cacheOf(options),
  }
}

/**
 * The settings of one limit of the plugin, such as the limit of a route. An option in `own` takes precedence over the same
 * option of the plugin, which is in `settings`.
 */
export function merged(settings: Settings, own: RateLimitOptions, routeInfo: Partial<RouteOptions>): Settings {
  const all = { ...settings, ...own } as RateLimitPluginOptions
  if (all.groupId !== undefined && typeof all.groupId !== 'string') throw new Error('groupId must be a string')
  return { ...settings, ...own, ...numbersOf(all), routeInfo } as Settings
}

export interface Counting {
  hit(key: string, window: number, max: number): MaybePromise<WindowCount>
  read(key: string, window: number, max: number): MaybePromise<WindowCount>
}
