import type { FastifyRequest, RouteOptions } from 'fastify'
import type { MaybePromise } from '../../../src/common/index.ts'
import type { Store } from '../../../src/stores/contract/index.ts'

/** The callback of a store. `current` is the number of hits of the key, and `ttl` the milliseconds until the key's window ends. */
type Callback = (error: Error | null, result?: { current: number; ttl: number }) => void

/** The interface of the stores that were written for @fastify/rate-limit. */
export interface FastifyRateLimitStore {
  incr(key: string, callback: Callback, timeWindow: number, max: number): void
  /** Reads the hits of a key without counting a hit. Required for `{ increment: false }`; other calls need no `read`. */
  read?(key: string, callback: Callback, timeWindow: number, max: number): void
  child(routeOptions: RouteOptions & { path: string; prefix: string }): FastifyRateLimitStore
}

// biome-ignore lint/suspicious/noEmptyInterface: @fastify/rate-limit has this interface, and stores extend it
export interface FastifyRateLimitOptions {}

/** The constructor of a store that was written for @fastify/rate-limit. */
export interface FastifyRateLimitStoreCtor {
  new (options: FastifyRateLimitOptions): FastifyRateLimitStore
}

/** The argument of `errorResponseBuilder`: the facts about a refused request. */
export interface errorResponseBuilderContext {
  statusCode: number
  ban: boolean
  after: string
  max: number
  ttl: number
}

/** The options of `app.createRateLimit`. */
export interface CreateRateLimitOptions {
  /** Where hits are counted: a store class of @fastify/rate-limit, or a store of headgate. Default: the memory of this process. */
  store?: FastifyRateLimitStoreCtor | Store
  /** True to admit requests if the store fails. Default false: the error goes to the error handler. */
  skipOnError?: boolean
  /** How many requests a client may make in one window. Default 1000. */
  max?: number | ((request: FastifyRequest, key: string) => MaybePromise<number>)
  /** The length of a window: a number of milliseconds, or a text such as `'1 minute'`. Default one minute. */
  timeWindow?: number | string | ((request: FastifyRequest, key: string) => MaybePromise<number>)
  /** The keys that are not limited. A function returns true for a request that is not limited. Default: none. */
  allowList?: string[] | ((request: FastifyRequest, key: string) => MaybePromise<boolean>)
  /** Returns the key of the client. Default: the IPv4 address, or the network of the IPv6 address. */
  keyGenerator?: (request: FastifyRequest) => MaybePromise<string | number>
  /** The length of an IPv6 network's prefix in bits. All addresses of the network share one key. Default 64. */
  ipv6Subnet?: number
  /** The number of refusals with status 429 in one window. Further refusals have status 403. Default: all refusals have status 429. */
  ban?: number
}

/** The hooks of Fastify in which a limit can run. */
export type RateLimitHook = 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler'

/** The options of a limit on a route. */
export interface RateLimitOptions extends CreateRateLimitOptions {
  /** The hook of Fastify in which the limit runs. Default `'onRequest'`. */
  hook?: RateLimitHook
  /** How many keys are held in memory. 0 means a million. Default 5000. */
  cache?: number
  /** True to start a client's window again at each refused request of the client. Default false. */
  continueExceeding?: boolean
  /** True to make the window longer at each refusal, each time by a factor of 2. Default false. */
  exponentialBackoff?: boolean
  onBanReach?: (request: FastifyRequest, key: string) => void
  /** A text that is appended to the key, so that routes with the same text share their counts. */
  groupId?: string
  /** Returns the error with which the plugin answers a refused request. */
  errorResponseBuilder?: (request: FastifyRequest, context: errorResponseBuilderContext) => object
  /** True to set the header fields of the IETF's draft 6, such as `ratelimit-limit`, in place of `x-ratelimit-*`. Default false. */
  enableDraftSpec?: boolean
  onExceeding?: (request: FastifyRequest, key: string) => void
  onExceeded?: (request: FastifyRequest, key: string) => void
}

type Field = `${'x-' | ''}ratelimit-${'limit' | 'remaining' | 'reset'}` | 'retry-after'
type HeaderFlags = { [Name in Field]?: boolean }

/** The options of the plugin, for all routes. */
export interface RateLimitPluginOptions extends RateLimitOptions {
  /** False to limit only the routes that have their own limit. Default true. */
  global?: boolean
  /** A client of Redis: of ioredis, or any other client that `redisStore` accepts. Default: hits are counted in memory. */
  // biome-ignore lint/suspicious/noExplicitAny: the type of a client depends on its package
  redis?: any
  /** The prefix of the keys in Redis, or the name of the limiter in a store of headgate. Default `'fastify-rate-limit-'`. */
  nameSpace?: string
  /** False for each header field that responses to refused requests leave out. Default: true for all fields. */
  addHeaders?: HeaderFlags
  /** False for each header field that responses to admitted requests leave out. Default: true for all fields. */
  addHeadersOnExceeding?: HeaderFlags
}

/** The result of a limiter that `createRateLimit` made. `isAllowed` is true only for a key on `allowList`. */
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

/** Counts a request. With `increment: false`, reads the count of the request's key without a change. */
export type RateLimitCheck = (request: FastifyRequest, options?: { increment?: boolean }) => Promise<RateLimitResult>
