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
/** The type of the function `onLimitReached` in earlier versions of express-rate-limit. */
export type RateLimitReachedEventHandler = (request: Request, response: Response, optionsUsed: Options) => void

export type { ClientRateLimitInfo }
/** The result of `increment` of a store. */
export type IncrementResponse = ClientRateLimitInfo
/** The number of hits of a client in memory, and the time at which the client's window ends. */
export interface Client {
  totalHits: number
  resetTime: Date
}
/** The function to which a store with the interface before version 6 passes a count. */
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

/** The drafts of the IETF whose rate limit fields a response can have. */
export type DraftHeadersVersion = 'draft-6' | 'draft-7' | 'draft-8'
/** Writes an error or a warning. */
export type LoggerFn = (error: unknown, message?: string) => void
/** Writes errors and warnings. Default: the console. */
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
  /** The draft whose response fields are set. True means `'draft-6'`, and false sets no fields. Default false. */
  standardHeaders: boolean | DraftHeadersVersion
  /** The name of the policy in the fields of draft-8. Default: the limit and the window, such as `'5-in-1min'`. */
  identifier: string | ValueDeterminingMiddleware<string>
  /** The value of the field `Retry-After`, in seconds. Default: the seconds until the window ends. */
  retryAfter?: number | ValueDeterminingMiddleware<number>
  /** The name of the request's property that has the hits and the limit. Default `'rateLimit'`. */
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
  /** Which checks of the configuration run, by name. True means that all checks run, and false none. Default: all. */
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
/** A request after it was counted. Its property `rateLimit`, or `requestPropertyName`, has the hits and the limit. */
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
