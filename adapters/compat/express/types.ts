import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { Store as HeadgateStore } from '../../../src/stores/contract/index.ts'
import type { ClientRateLimitInfo, HitInfo, HitStore } from '../counter-store.ts'
import type { EnabledValidations } from './validation-names.ts'

/** A function that computes the value of an option for a request. */
export type ValueDeterminingMiddleware<T> = (request: Request, response: Response) => T | Promise<T>
/** A function that sends the response to a request over the limit. */
export type RateLimitExceededEventHandler = (
  request: Request,
  response: Response,
  next: NextFunction,
  optionsUsed: Options,
) => void
/** The type of the option `onLimitReached`, which express-rate-limit had in earlier versions. */
export type RateLimitReachedEventHandler = (request: Request, response: Response, optionsUsed: Options) => void

export type { ClientRateLimitInfo }
/** The result of `increment` of a store. */
export type IncrementResponse = ClientRateLimitInfo
/** The number of hits of a client in memory, and the time at which the client's window ends. */
export interface Client {
  totalHits: number
  resetTime: Date
}
/** The callback of `incr` of a store in the interface before version 6: it receives an error, or the hits of the key. */
export type IncrementCallback = (error: Error | undefined, totalHits: number, resetTime: Date | undefined) => void

/** The interface of the stores of express-rate-limit before version 6. */
export interface LegacyStore {
  incr: (key: string, callback: IncrementCallback) => void
  decrement: (key: string) => void
  resetKey: (key: string) => void
  resetAll?: () => void
}

/** The interface of the stores of express-rate-limit. */
export type Store = HitStore<ClientRateLimitInfo>

/** The IETF drafts that define rate limit fields of a response. */
export type DraftHeadersVersion = 'draft-6' | 'draft-7' | 'draft-8'
/** Writes an error or a warning. */
export type LoggerFn = (error: unknown, message?: string) => void
/** The interface of the option `logger`, which writes errors and warnings. `console` is the default. */
export interface Logger {
  error: LoggerFn
  warn: LoggerFn
}

/** The options of `rateLimit`. */
export interface Options {
  /** The length of a window in milliseconds. Default 60,000. */
  windowMs: number
  /** How many requests a client may make in one window. Default 5. */
  limit: number | ValueDeterminingMiddleware<number>
  /** The body of the response to a refused request. Default: a sentence in English. */
  // biome-ignore lint/suspicious/noExplicitAny: `response.send` accepts any value
  message: any | ValueDeterminingMiddleware<any>
  /** The status of the response to a refused request. Default 429. */
  statusCode: number
  /** True to set the response fields `X-RateLimit-*`. Default true. */
  legacyHeaders: boolean
  /** The IETF draft whose rate limit fields the response gets. True means `'draft-6'`, and false sets no fields. Default false. */
  standardHeaders: boolean | DraftHeadersVersion
  /** The name of the policy in the response fields of draft-8. Default: the limit and the window, such as `'5-in-1min'`. */
  identifier: string | ValueDeterminingMiddleware<string>
  /** The value of the field `Retry-After`, in seconds. Default: the seconds until the window ends. */
  retryAfter?: number | ValueDeterminingMiddleware<number>
  /** The name of the property of a request in which the middleware stores the client's hits and limit. Default `'rateLimit'`. */
  requestPropertyName: string
  /** True if failed requests do not count. Default false: failed requests count. */
  skipFailedRequests: boolean
  /** True if successful requests do not count. Default false: successful requests count. */
  skipSuccessfulRequests: boolean
  /** Returns the key of the client. Default: the IPv4 address, or the network of the IPv6 address. */
  keyGenerator: ValueDeterminingMiddleware<string>
  /** The length in bits of the IPv6 prefix whose addresses share one key. With false, each address has its own key. Default 56. */
  ipv6Subnet: number | ValueDeterminingMiddleware<number> | false
  /** Sends the response to a request over the limit. Default: sends `message` with `statusCode`. */
  handler: RateLimitExceededEventHandler
  /** Returns true for a request that is neither counted nor refused. Default: never. */
  skip: ValueDeterminingMiddleware<boolean>
  /** Returns true if the response is a success. Default: true for a status below 400. */
  requestWasSuccessful: ValueDeterminingMiddleware<boolean>
  /** Where hits are counted: a store of express-rate-limit or of headgate. Default: the memory of this process. */
  store: Store | LegacyStore | HeadgateStore
  /** The name of this limiter in a store of headgate. Each limiter of that store needs another name. Default `'default'`. */
  name?: string
  /** Which validations run. True means all validations, false none. An object turns validations on or off by name. Default true. */
  validate: boolean | EnabledValidations
  /** The former name of `legacyHeaders`. */
  headers?: boolean
  /** The former name of `limit`. */
  max?: number | ValueDeterminingMiddleware<number>
  /** True to admit requests if the store fails. Default false: the error goes to `next`. */
  passOnStoreError: boolean
  /** Writes errors and warnings. Default: the console. */
  logger: Logger
}

/** The hits and the limit of a client: the value of the property `rateLimit` of the client's request. */
export interface RateLimitInfo extends HitInfo {
  key: string
}
/**
 * A request that the middleware has counted. The client's hits and limit are in the property `rateLimit`, or in the property that the
 * option `requestPropertyName` names.
 */
export type AugmentedRequest = Request & { [key: string]: RateLimitInfo }
/** The middleware that `rateLimit` returns. */
export type RateLimitRequestHandler = RequestHandler & {
  /** Removes all hits of a key. */
  resetKey: (key: string) => void
  /** The hits of a key. Undefined if the key has no hits. */
  getKey: (key: string) => Promise<ClientRateLimitInfo | undefined> | ClientRateLimitInfo | undefined
}

/** A second in milliseconds. */
export const SECOND = 1000
/** A minute in milliseconds. */
export const MINUTE: number = 60 * SECOND
/** An hour in milliseconds. */
export const HOUR: number = 60 * MINUTE
/** A day in milliseconds. */
export const DAY: number = 24 * HOUR
