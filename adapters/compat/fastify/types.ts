import type { FastifyRequest, RouteOptions } from 'fastify'
import type { MaybePromise } from '../../../src/common/index.ts'
import type { Store } from '../../../src/stores/contract/index.ts'

/** With the hits of a key, and the milliseconds until its window ends. */
type Callback = (error: Error | null, result?: { current: number; ttl: number }) => void

/** The interface of the stores of @fastify/rate-limit. */
export interface FastifyRateLimitStore {
  incr(key: string, callback: Callback, timeWindow: number, max: number): void
  /** Reads the hits without counting one. Needed for `{ increment: false }`. */
  read?(key: string, callback: Callback, timeWindow: number, max: number): void
  child(routeOptions: RouteOptions & { path: string; prefix: string }): FastifyRateLimitStore
}

// biome-ignore lint/suspicious/noEmptyInterface: the original has it, for stores to extend
export interface FastifyRateLimitOptions {}

/** The constructor of a store of @fastify/rate-limit. */
export interface FastifyRateLimitStoreCtor {
  new (options: FastifyRateLimitOptions): FastifyRateLimitStore
}

/** What `errorResponseBuilder` gets. */
export interface errorResponseBuilderContext {
  statusCode: number
  ban: boolean
  after: string
  max: number
  ttl: number
}

/** The options of `app.createRateLimit`. */
export interface CreateRateLimitOptions {
  /** Where hits are counted: a store class of @fastify/rate-limit, or a store of headgate. Default: memory. */
  store?: FastifyRateLimitStoreCtor | Store
  /** True to let requests pass if the store fails. Default false. */
  skipOnError?: boolean
  /** How many requests a window admits. Default 1000. */
  max?: number | ((request: FastifyRequest, key: string) => MaybePromise<number>)
  /** The length of a window: milliseconds or a text. Default a minute. */
  timeWindow?: number | string | ((request: FastifyRequest, key: string) => MaybePromise<number>)
  /** Keys that are not limited, or a function that returns true for such a request. */
  allowList?: string[] | ((request: FastifyRequest, key: string) => MaybePromise<boolean>)
  /** Who is limited. Default: the address, and for IPv6 its network. */
  keyGenerator?: (request: FastifyRequest) => MaybePromise<string | number>
  /** The length of the network's prefix for IPv6. Default 64. */
  ipv6Subnet?: number
  /** How many refusals are answered with 429 before 403 follows. Default: all. */
  ban?: number
}

/** The hooks of Fastify in which a limit can run. */
export type RateLimitHook = 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler'

/** The options of a route's limit. */
export interface RateLimitOptions extends CreateRateLimitOptions {
  /** Default `'onRequest'`. */
  hook?: RateLimitHook
  /** How many keys are held in memory. Default 5000. */
  cache?: number
  /** True to begin the window anew with each refusal. Default false. */
  continueExceeding?: boolean
  /** True to make the window twice as long with each refusal. Default false. */
  exponentialBackoff?: boolean
  onBanReach?: (request: FastifyRequest, key: string) => void
  /** A text that is added to the key. */
  groupId?: string
  /** Makes the error of a refusal. */
  errorResponseBuilder?: (request: FastifyRequest, context: errorResponseBuilderContext) => object
  /** True to set the fields of draft 6 in place of `x-ratelimit-*`. */
  enableDraftSpec?: boolean
  onExceeding?: (request: FastifyRequest, key: string) => void
  onExceeded?: (request: FastifyRequest, key: string) => void
}

type Field = `${'x-' | ''}ratelimit-${'limit' | 'remaining' | 'reset'}` | 'retry-after'
type HeaderFlags = { [Name in Field]?: boolean }

/** The options of the plugin. */
export interface RateLimitPluginOptions extends RateLimitOptions {
  /** False to limit only routes with a limit of their own. Default true. */
  global?: boolean
  /** A client of Redis: ioredis, or another one that `redisStore` takes. */
  // biome-ignore lint/suspicious/noExplicitAny: each library has a client of its own
  redis?: any
  /** The beginning of the keys in Redis. */
  nameSpace?: string
  /** The response fields of a refusal. Default: all. */
  addHeaders?: HeaderFlags
  /** The response fields of an admitted request. Default: all. */
  addHeadersOnExceeding?: HeaderFlags
}

/** The answer of a limiter that `createRateLimit` made. */
export type RateLimitResult =
  | { isAllowed: true; key: string }
  | {
      isAllowed: false
      key: string
      max: number
      timeWindow: number
      remaining: number
      ttl: number
      ttlInSeconds: number
      isExceeded: boolean
      isBanned: boolean
    }

/** Counts a request, or with `increment: false` only reads its count. */
export type RateLimitCheck = (request: FastifyRequest, options?: { increment?: boolean }) => Promise<RateLimitResult>
