import type { Context, Env, Input, Next } from 'hono'
import type { StatusCode } from 'hono/utils/http-status'
import type { WSContext } from 'hono/ws'
import type { Store as HeadgateStore } from '../../../src/stores/contract/index.ts'
import type { HitInfo, HitStore } from '../counter-store.ts'

/** The hits of a client in its window, and when the window ends. */
export type ClientRateLimitInfo = {
  totalHits: number
  resetTime?: Date | undefined
}

/** A value or a promise of it. */
export type Promisify<T> = T | Promise<T>

/** The numbers on a context. */
export type RateLimitInfo = HitInfo

/** Answers a request over the limit. */
export type RateLimitExceededEventHandler<E extends Env = Env, P extends string = string, I extends Input = Input> = (
  c: Context<E, P, I>,
  next: Next,
  optionsUsed: ConfigType<E, P, I>,
) => void

interface CommonConfigType<E extends Env, P extends string, I extends Input> {
  /** Returns who is limited. */
  keyGenerator: (c: Context<E, P, I>) => Promisify<string>
  /** The body of a refusal: a text, or an object for JSON. */
  message: string | Record<string, unknown> | ((c: Context<E, P, I>) => Promisify<string | Record<string, unknown>>)
  /** The status of a refusal. Default 429. */
  statusCode: StatusCode
  /** Answers requests over the limit. Default: sends `message` with `statusCode`. */
  handler: RateLimitExceededEventHandler<E, P, I>
  /** True for a request that is not counted. */
  skip: (c: Context<E, P, I>) => Promisify<boolean>
}

/** The options as the user passes them: the named options are required, all others optional. */
type Given<Config, Required extends keyof Config> = Pick<Config, Required> & Partial<Config>

type RateLimit = { limit: (options: { key: string }) => Promisify<{ success: boolean }> }

/** The options with a binding of Cloudflare, with all defaults. */
export interface CloudflareConfigType<E extends Env = Env, P extends string = string, I extends Input = Input>
  extends CommonConfigType<E, P, I> {
  /** The rate limit of Cloudflare, which counts by itself. */
  binding: RateLimit | ((c: Context<E, P, I>) => RateLimit)
}

/** The options with a binding of Cloudflare, as they are given. */
export type CloudflareConfigProps<E extends Env = Env, P extends string = string, I extends Input = Input> = Given<
  CloudflareConfigType<E, P, I>,
  'binding' | 'keyGenerator'
>

/** The options of a limiter that counts in a store. */
export interface HonoConfigType<E extends Env = Env, P extends string = string, I extends Input = Input>
  extends CommonConfigType<E, P, I> {
  /** The length of a window in milliseconds. Default 60,000. */
  windowMs: number
  /** How many requests a window admits. Default 5. */
  limit: number | ((c: Context<E, P, I>) => Promisify<number>)
  /** The fields of a draft; true for `'draft-6'`, false for none. Default `'draft-6'`. */
  standardHeaders: boolean | 'draft-6' | 'draft-7'
  /** The variable of the context that has the numbers. Default `'rateLimit'`. */
  requestPropertyName: string
  /** The variable of the context that has `getKey` and `resetKey`. Default `'rateLimitStore'`. */
  requestStorePropertyName: string
  /** True if requests that fail do not count. Default false. */
  skipFailedRequests: boolean
  /** True if requests that succeed do not count. Default false. */
  skipSuccessfulRequests: boolean
  /** True if a response is a success. Default: a status below 400. */
  requestWasSuccessful: (c: Context<E, P, I>) => Promisify<boolean>
  /** Where hits are counted: a store of hono-rate-limiter, or of headgate. Default: memory. */
  store: Store<E, P, I> | HeadgateStore
  /** With a store of headgate: the name of this limiter, unique on that store. Default `'default'`. */
  name?: string
}

/** The options with a store, as they are given. */
export type HonoConfigProps<E extends Env = Env, P extends string = string, I extends Input = Input> = {
  binding?: never
} & Given<HonoConfigType<E, P, I>, 'keyGenerator'>

/** The options of `rateLimiter`, with all defaults. */
export type ConfigType<E extends Env = Env, P extends string = string, I extends Input = Input> =
  | HonoConfigType<E, P, I>
  | CloudflareConfigType<E, P, I>

/** The options of `rateLimiter`, as they are given. */
export type ConfigProps<E extends Env = Env, P extends string = string, I extends Input = Input> =
  | HonoConfigProps<E, P, I>
  | CloudflareConfigProps<E, P, I>

/** The codes with which a WebSocket may be closed. */
export type WSStatusCode = 1000 | 1001 | 1002 | 1003 | 1004 | 1005 | 1006 | 1007 | 1008 | 1009 | 1010

/** Answers a message over the limit. */
export type WSRateLimitExceededEventHandler<E extends Env = Env, P extends string = string, I extends Input = Input> = (
  event: unknown,
  ws: WSContext,
  optionsUsed: WSConfigType<E, P, I>,
) => void

/** The options of `webSocketLimiter`. */
export interface WSConfigType<E extends Env = Env, P extends string = string, I extends Input = Input>
  extends Omit<
    HonoConfigType<E, P, I>,
    'statusCode' | 'standardHeaders' | 'requestWasSuccessful' | 'handler' | 'skip'
  > {
  /** The reason that the client gets when the connection is closed. */
  message: string
  /** The code that closes the connection. Default 1008. */
  statusCode: WSStatusCode
  /** Answers messages over the limit. Default: closes the connection with `statusCode` and `message`. */
  handler: WSRateLimitExceededEventHandler<E, P, I>
  /** True for a message that is not counted. */
  skip: (event: unknown, ws: WSContext) => Promisify<boolean>
}

/** The options of `webSocketLimiter`, as they are given. */
export type WSConfigProps<E extends Env = Env, P extends string = string, I extends Input = Input> = Given<
  WSConfigType<E, P, I>,
  'keyGenerator'
>

/** The interface of the stores of hono-rate-limiter. */
export type Store<
  _E extends Env = Env,
  _P extends string = string,
  _I extends Input = Input,
> = HitStore<ClientRateLimitInfo>
