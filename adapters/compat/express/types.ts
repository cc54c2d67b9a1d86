import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { Store as HeadgateStore } from '../../../src/stores/contract/index.ts'
import type { ClientRateLimitInfo, HitInfo, HitStore } from '../counter-store.ts'
import type { EnabledValidations } from './validation-names.ts'

/** A value that depends on the request. */
export type ValueDeterminingMiddleware<T> = (request: Request, response: Response) => T | Promise<T>
/** Answers a request over the limit. */
export type RateLimitExceededEventHandler = (
  request: Request,
  response: Response,
  next: NextFunction,
  optionsUsed: Options,
) => void
/** The type of `onLimitReached` in earlier versions. */
export type RateLimitReachedEventHandler = (request: Request, response: Response, optionsUsed: Options) => void

export type { ClientRateLimitInfo }
/** What `increment` of a store returns. */
export type IncrementResponse = ClientRateLimitInfo
/** A client's record in memory. */
export interface Client {
  totalHits: number
  resetTime: Date
}
/** How a store of the old interface returns a count. */
export type IncrementCallback = (error: Error | undefined, totalHits: number, resetTime: Date | undefined) => void

/** The interface of the stores before version 6. */
export interface LegacyStore {
  incr: (key: string, callback: IncrementCallback) => void
  decrement: (key: string) => void
  resetKey: (key: string) => void
  resetAll?: () => void
}

/** The interface of the stores of express-rate-limit. */
export type Store = HitStore<ClientRateLimitInfo>

/** The drafts whose header fields can be sent. */
export type DraftHeadersVersion = 'draft-6' | 'draft-7' | 'draft-8'
/** Writes an error or a warning. */
export type LoggerFn = (error: unknown, message?: string) => void
/** Where errors and warnings go. Default: the console. */
export interface Logger {
  error: LoggerFn
  warn: LoggerFn
}

/** The options of `rateLimit`. */
export interface Options {
  /** The length of a window in milliseconds. Default 60,000. */
  windowMs: number
  /** How many requests a window admits. Default 5. */
  limit: number | ValueDeterminingMiddleware<number>
  /** The body of a refusal. */
  // biome-ignore lint/suspicious/noExplicitAny: what `response.send` takes
  message: any | ValueDeterminingMiddleware<any>
  /** The status of a refusal. Default 429. */
  statusCode: number
  /** The fields `X-RateLimit-*`. Default true. */
  legacyHeaders: boolean
  /** The draft whose response fields are set; true for `'draft-6'`. Default false. */
  standardHeaders: boolean | DraftHeadersVersion
  /** The name of the policy in draft-8. Default: from limit and window, such as `'5-in-1min'`. */
  identifier: string | ValueDeterminingMiddleware<string>
  /** `Retry-After` in seconds. Default: until the window ends. */
  retryAfter?: number | ValueDeterminingMiddleware<number>
  /** The property of the request that has the numbers. Default `'rateLimit'`. */
  requestPropertyName: string
  /** True if requests that fail do not count. Default false. */
  skipFailedRequests: boolean
  /** True if requests that succeed do not count. Default false. */
  skipSuccessfulRequests: boolean
  /** Returns who is limited. Default: the address, and for IPv6 its network. */
  keyGenerator: ValueDeterminingMiddleware<string>
  /** The length of the network's prefix for IPv6; false for the whole address. Default 56. */
  ipv6Subnet: number | ValueDeterminingMiddleware<number> | false
  /** Answers requests over the limit. Default: sends `message` with `statusCode`. */
  handler: RateLimitExceededEventHandler
  /** True for a request that is not counted. */
  skip: ValueDeterminingMiddleware<boolean>
  /** True if a response is a success. Default: a status below 400. */
  requestWasSuccessful: ValueDeterminingMiddleware<boolean>
  /** Where hits are counted: a store of express-rate-limit, or of headgate. Default: memory. */
  store: Store | LegacyStore | HeadgateStore
  /** With a store of headgate: the name of this limiter, unique on that store. Default `'default'`. */
  name?: string
  /** Which validations run. Default: all. */
  validate: boolean | EnabledValidations
  /** The former name of `legacyHeaders`. */
  headers?: boolean
  /** The former name of `limit`. */
  max?: number | ValueDeterminingMiddleware<number>
  /** True to let requests pass if the store fails. Default false. */
  passOnStoreError: boolean
  /** Where errors and warnings go. Default: the console. */
  logger: Logger
}

/** The numbers on a request. */
export interface RateLimitInfo extends HitInfo {
  key: string
}
/** A request with the limit that it was counted under. */
export type AugmentedRequest = Request & { [key: string]: RateLimitInfo }
/** The middleware. */
export type RateLimitRequestHandler = RequestHandler & {
  /** Forgets a key. */
  resetKey: (key: string) => void
  /** The hits of a key. */
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
