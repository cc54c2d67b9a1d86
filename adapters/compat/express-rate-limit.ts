/*
 * The interface of express-rate-limit 8: change the import, and keep the options and the stores. Clients get the same responses.
 *
 * What differs, and why:
 *
 * - `MemoryStore` holds a bounded number of keys and needs no timers, so it has no `interval`, `current` or `previous`.
 * - With `skipFailedRequests`, a request whose client hangs up still counts. Otherwise a client could escape its limit by hanging up.
 * - If all hits of a window are removed, for example by `skipFailedRequests`, the next request opens a new window.
 * - A window lasts from 1 ms to 366 days.
 * - With a store of headgate, a key is converted to text. If a client has disconnected and its request has no key, the request is
 *   refused with status 403. In express-rate-limit, all requests without a key are counted together, under the key 'undefined'.
 * - If `limit` or `windowMs` is not a number, `rateLimit` throws. If `limit` is a function that returns no number, the request fails.
 *   In express-rate-limit, a limit of NaN refuses no request.
 * - `validate` warns of mistakes that change which requests are counted. `validate` does not inspect the source of functions.
 * - The middleware calls `next` synchronously, unless the store or an option returns a promise.
 */
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { whenEnded } from '../../src/http/held/index.ts'
import { checkedLimit, MemoryStore, secondsLeft, undoOf } from './counter-store.ts'
import { type Config, configOf, ipKeyGenerator, resolved, setHeaders } from './express/index.ts'
import {
  type ClientRateLimitInfo,
  DAY,
  HOUR,
  MINUTE,
  type Options,
  type RateLimitInfo,
  type RateLimitRequestHandler,
  SECOND,
} from './express/types.ts'
import { hasLeft } from './network.ts'

export type { EnabledValidations, Validations } from './express/index.ts'
export type * from './express/types.ts'

export { DAY, HOUR, ipKeyGenerator, MemoryStore, MINUTE, SECOND }

/** Removes the hit of this request after the response, if `skipFailedRequests` or `skipSuccessfulRequests` excludes the request. */
function uncount(config: Config, request: Request, response: Response, info: RateLimitInfo): void {
  const { skipFailedRequests, skipSuccessfulRequests, store, logger } = config
  const undo = undoOf(store, info.key, info)
  const failed = (error: unknown) => logger.error(error, 'express-rate-limit: the store failed to decrement.')
  const takeBack = () => undo().catch(failed)
  // When a client resets its HTTP/2 stream, the response emits 'finish' too, so only `aborted` shows that the client has disconnected.
  whenEnded(response, async (_status, aborted) => {
    if (aborted) return
    try {
      const success = await config.requestWasSuccessful(request, response)
      if (success ? skipSuccessfulRequests : skipFailedRequests) await takeBack()
    } catch (error) {
      logger.error(error, 'express-rate-limit: requestWasSuccessful failed.')
    }
  })
  if (skipFailedRequests) response.once('error', takeBack)
}

/** True if the request may continue to `next`. False if a response was sent, or if `handler` got the request. */
async function check(
  config: Config,
  options: Options,
  request: Request,
  response: Response,
  next: NextFunction,
): Promise<boolean> {
  const { store, validations, windowMs } = config
  const skips = config.skip(request, response)
  if (typeof skips === 'boolean' ? skips : await skips) return true
  const found = config.keyGenerator(request, response)
  const key = typeof found === 'string' ? found : await found
  if (!key && hasLeft(request)) {
    response.statusCode = 403
    response.end()
    return false
  }
  let hits: ClientRateLimitInfo
  try {
    hits = await store.increment(key)
  } catch (error) {
    if (!config.passOnStoreError) throw error
    config.logger.error(error, 'express-rate-limit: error from store, allowing request without rate-limiting.')
    return true
  }
  const { totalHits } = hits
  validations.count(request, store, key, totalHits)
  const wanted = resolved(config.limit, request, response)
  const limit = checkedLimit(typeof wanted === 'number' ? wanted : await wanted)
  validations.warn('limit', limit === 0, 'WRN_ERL_MAX_ZERO', 'A limit of 0 refuses every request.')
  const resetTime = hits.resetTime ? new Date(hits.resetTime) : undefined
  const info = { limit, used: totalHits, remaining: Math.max(limit - totalHits, 0), resetTime, key }
  Object.defineProperty(info, 'current', { enumerable: false, value: totalHits })
  Object.assign(request, { [config.requestPropertyName]: info })
  await setHeaders(config, request, response, info)
  if (config.skipFailedRequests || config.skipSuccessfulRequests) uncount(config, request, response, info)
  // If `increment` of the store returns no number, the request is admitted, and a validation logs the mistake.
  if (!(totalHits > limit)) return true
  if ((config.legacyHeaders || config.standardHeaders) && !response.headersSent) {
    const seconds = config.retryAfter === undefined ? undefined : await resolved(config.retryAfter, request, response)
    response.setHeader('Retry-After', String(seconds ?? secondsLeft(resetTime, windowMs)))
  }
  await config.handler(request, response, next, options)
  return false
}

function initStore({ store, logger }: Config, options: Options): void {
  const failed = (kind: string) => (error: unknown) =>
    logger.error(error, `express-rate-limit: ${kind} during store initialization.`)
  try {
    const started = store.init?.(options)
    if (started instanceof Promise) started.catch(failed('async error'))
  } catch (error) {
    failed('error')(error)
  }
}

/**
 * Express middleware that refuses requests over the limit. The middleware counts the requests of each client in windows. The
 * window of a client opens with the client's first request.
 * @throws TypeError if the store, the logger or the limit is invalid
 * @throws HeadgateError if a limiter with the same name uses the store of headgate already
 */
export function rateLimit(passedOptions: Partial<Options> = {}): RateLimitRequestHandler {
  const config = configOf(passedOptions ?? {})
  const { validations: _, ...options } = config
  const { store } = config
  initStore(config, options)
  const middleware = async (request: Request, response: Response, next: NextFunction) => {
    try {
      if (await check(config, options, request, response, next)) next()
    } catch (error) {
      next(error)
    }
  }
  const getKey = store.get?.bind(store) ?? unreadable
  return Object.assign(middleware as RequestHandler, { resetKey: store.resetKey.bind(store), getKey })
}

function unreadable(): never {
  throw new Error('The current store does not support the get/getKey method')
}

/** The function is also the default export, as in express-rate-limit. @alias */
export default rateLimit

/** `require` of this module returns the function `rateLimit`. The other exports are properties of this function. */
Object.assign(rateLimit, { default: rateLimit, rateLimit, MemoryStore, ipKeyGenerator, SECOND, MINUTE, HOUR, DAY })

export { rateLimit as 'module.exports' }
