import type { Context, Env, Input, Next } from 'hono'
import type { StatusCode } from 'hono/utils/http-status'
import type { WSContext } from 'hono/ws'
import type { Store as HeadgateStore } from '../../../src/stores/contract/index.ts'
import type { HitInfo, HitStore } from '../counter-store.ts'

/** The number of hits of one client in its current window, and the time at which the window ends. */
export type ClientRateLimitInfo = {
  totalHits: number
  resetTime?: Date | undefined
}

/** A value, or a promise of the value. */
export type Promisify<T> = T | Promise<T>

/** The hits and the limit of a client, which the middleware sets as a variable of the context. */
export type RateLimitInfo = HitInfo

/** Returns the response to a request over the limit. */
export type RateLimitExceededEventHandler<E extends Env = Env, P extends string = string, I extends Input = Input> = (
  c: Context<E, P, I>,
  next: Next,
  optionsUsed: ConfigType<E, P, I>,
) => void

interface CommonConfigType<E extends Env, P extends string, I extends Input> {
  /** Returns the key of the client. */
  keyGenerator: (c: Context<E, P, I>) => Promisify<string>
  /** The body of the response to a refused request: a text, or an object that is sent as JSON. Default: a sentence in English. */
  message: string | Record<string, unknown> | ((c: Context<E, P, I>) => Promisify<string | Record<string, unknown>>)
  /** The status of the response to a refused request. Default 429. */
  statusCode: StatusCode
  /** Returns the response to a request over the limit. Default: sends `message` with `statusCode`. */
  handler: RateLimitExceededEventHandler<E, P, I>
  /** Returns true for a request that is neither counted nor refused. Default: never. */
  skip: (c: Context<E, P, I>) => Promisify<boolean>
}

/** The options that a user passes. The options named in `Required` must be present, and all other options are optional. */
type Given<Config, Required extends keyof Config> = Pick<Config, Required> & Partial<Config>

type RateLimit = { limit: (options: { key: string }) => Promisify<{ success: boolean }> }

/** The options of a limiter that counts with a binding of Cloudflare, after all defaults are filled in. */
export interface CloudflareConfigType<E extends Env = Env, P extends string = string, I extends Input = Input>
  extends CommonConfigType<E, P, I> {
  /** A rate limit binding of Cloudflare, which counts the requests in place of a store. */
  binding: RateLimit | ((c: Context<E, P, I>) => RateLimit)
}

/** The options that a user passes to a limiter with a binding of Cloudflare. */
export type CloudflareConfigProps<E extends Env = Env, P extends string = string, I extends Input = Input> = Given<
  CloudflareConfigType<E, P, I>,
  'binding' | 'keyGenerator'
>

/** The options of a limiter that counts in a store, after all defaults are filled in. */
export interface HonoConfigType<E extends Env = Env, P extends string = string, I extends Input = Input>
  extends CommonConfigType<E, P, I> {
  /** The length of a window in milliseconds. Default 60,000. */
  windowMs: number
  /** How many requests a client may make in one window. Default 5. */
  limit: number | ((c: Context<E, P, I>) => Promisify<number>)
  /**
   * The IETF draft whose rate limit fields the response gets. True means `'draft-6'`. With false, no response gets these fields.
   * Default `'draft-6'`.
   */
  standardHeaders: boolean | 'draft-6' | 'draft-7'
  /** The name of the context's variable in which the middleware stores the client's hits and limit. Default `'rateLimit'`. */
  requestPropertyName: string
  /** The name of the context's variable in which the middleware stores `getKey` and `resetKey`. Default `'rateLimitStore'`. */
  requestStorePropertyName: string
  /** True if failed requests do not count. Default false: failed requests count. */
  skipFailedRequests: boolean
  /** True if successful requests do not count. Default false: successful requests count. */
  skipSuccessfulRequests: boolean
  /** Returns true if the response is a success. Default: true for a status below 400. */
  requestWasSuccessful: (c: Context<E, P, I>) => Promisify<boolean>
  /** Where hits are counted: a store of hono-rate-limiter or of headgate. Default: the memory of this process. */
  store: Store<E, P, I> | HeadgateStore
  /** The name of this limiter in a store of headgate. Each limiter of that store needs another name. Default `'default'`. */
  name?: string
}

/** The options that a user passes to a limiter that counts in a store. */
export type HonoConfigProps<E extends Env = Env, P extends string = string, I extends Input = Input> = {
  binding?: never
} & Given<HonoConfigType<E, P, I>, 'keyGenerator'>

/** The options of `rateLimiter`, after all defaults are filled in. */
export type ConfigType<E extends Env = Env, P extends string = string, I extends Input = Input> =
  | HonoConfigType<E, P, I>
  | CloudflareConfigType<E, P, I>

/** The options that a user passes to `rateLimiter`. */
export type ConfigProps<E extends Env = Env, P extends string = string, I extends Input = Input> =
  | HonoConfigProps<E, P, I>
  | CloudflareConfigProps<E, P, I>

/** The codes with which the server can close a WebSocket. */
export type WSStatusCode = 1000 | 1001 | 1002 | 1003 | 1004 | 1005 | 1006 | 1007 | 1008 | 1009 | 1010

/** Handles a message over the limit. */
export type WSRateLimitExceededEventHandler<E extends Env = Env, P extends string = string, I extends Input = Input> = (
  event: unknown,
  ws: WSContext,
  optionsUsed: WSConfigType<E, P, I>,
) => void

/** The options of `webSocketLimiter`, after all defaults are filled in. */
export interface WSConfigType<E extends Env = Env, P extends string = string, I extends Input = Input>
  extends Omit<
    HonoConfigType<E, P, I>,
    'statusCode' | 'standardHeaders' | 'requestWasSuccessful' | 'handler' | 'skip'
  > {
  /** The reason that the client receives when the connection is closed. */
  message: string
  /** The code with which the connection is closed. Default 1008. */
  statusCode: WSStatusCode
  /** Handles messages over the limit. Default: closes the connection with `statusCode` and `message`. */
  handler: WSRateLimitExceededEventHandler<E, P, I>
  /** Returns true for a message that is neither counted nor refused. Default: never. */
  skip: (event: unknown, ws: WSContext) => Promisify<boolean>
}

/** The options that a user passes to `webSocketLimiter`. */
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
