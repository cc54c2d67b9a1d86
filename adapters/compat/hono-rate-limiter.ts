/*
 * The interface of hono-rate-limiter 0.5: change the import, and keep the options and the stores. Clients get the same responses.
 *
 * What differs, and why:
 *
 * - `MemoryStore` holds a bounded number of keys and needs no timers, so it has no `interval`, `current` or `previous`. The methods of
 *   `MemoryStore` return promises.
 * - `RedisStore` and `UnstorageStore` are not exported. Import them from hono-rate-limiter, or pass a store of headgate.
 * - If all hits of a window are removed, for example by `skipFailedRequests`, the next request opens a new window. A hit is not removed
 *   after its window has ended. In hono-rate-limiter, a removal after the end of the window removes a hit of the next window.
 * - A window lasts from 1 ms to 366 days.
 * - Making the middleware throws if `keyGenerator` is missing, or if `limit` or `windowMs` is not a number. If `limit` is a function
 *   that returns something other than a number, the request fails. In hono-rate-limiter, a limit of NaN refuses no request, and without
 *   `keyGenerator` every request fails.
 * - If a client of a Node server has disconnected and its request has no key, the request is refused with status 403. In
 *   hono-rate-limiter, all requests without a key share one count.
 */
import type { Env, Input, MiddlewareHandler } from 'hono'
import type { HandlerResponse } from 'hono/types'
import { draftFields, MemoryStore, secondsLeft } from './counter-store.ts'
import { type AnyContext, countHit, type Hit, optionsOf, tooMany } from './hono/index.ts'
import type {
  CloudflareConfigProps,
  CloudflareConfigType,
  ConfigProps,
  ConfigType,
  HonoConfigProps,
  HonoConfigType,
  RateLimitInfo,
} from './hono/types.ts'
import { defined } from './option-values.ts'

export { webSocketLimiter } from './hono/index.ts'
export type * from './hono/types.ts'
export { MemoryStore }

async function answer(context: AnyContext, _next: unknown, { statusCode, message }: ConfigType): Promise<Response> {
  context.status(statusCode)
  const body = typeof message === 'function' ? await message(context) : message
  return typeof body === 'string' ? context.text(body) : context.json(body)
}

/**
 * Hono middleware that refuses requests over the limit. The middleware counts the requests of each client in windows. The window
 * of a client opens with the client's first request. With `binding`, the rate limit of Cloudflare counts the requests. An error
 * of a function in the options, or of the store, goes to `app.onError`.
 *
 *     app.use(rateLimiter({ windowMs: 60_000, limit: 100, keyGenerator: (c) => c.req.header('x-api-key') ?? '' }))
 *
 * @throws TypeError if `keyGenerator` is missing, or if the store, `limit` or `windowMs` is invalid
 * @throws HeadgateError if a limiter with the same name uses the store of headgate already
 */
export function rateLimiter<
  E extends Env = Env,
  P extends string = string,
  I extends Input = Input,
  // biome-ignore lint/suspicious/noExplicitAny: Hono's MiddlewareHandler has the same type parameter
  R extends HandlerResponse<any> = Response,
>(config: ConfigProps<E, P, I>): MiddlewareHandler<E, P, I, R> {
  // The functions in the options expect a context with the types `E`, `P` and `I`. Hono passes such a context, so the casts are
  // safe.
  const middleware =
    config.binding === undefined
      ? countedInStore(config as unknown as HonoConfigProps)
      : countedByCloudflare(config as unknown as CloudflareConfigProps)
  return middleware as unknown as MiddlewareHandler<E, P, I, R>
}

function countedInStore(config: HonoConfigProps): MiddlewareHandler {
  const options = optionsOf<HonoConfigType>(config, {
    statusCode: 429,
    standardHeaders: 'draft-6',
    requestWasSuccessful: ({ res }: AnyContext) => res.status < 400,
    handler: answer,
  })
  const { skip, handler, standardHeaders, windowMs, skipFailedRequests } = options
  return async (context, next) => {
    if (await skip(context)) return next()
    const counted = await countHit(options, context)
    if (counted === undefined) return context.body(null, 403)
    setHeaders(context, options, counted.info)
    if (counted.exceeded) {
      const seconds = secondsLeft(counted.info.resetTime, windowMs)
      if (standardHeaders && !context.finalized) context.header('Retry-After', String(seconds))
      await uncountIfSkipped(options, context, counted)
      return handler(context, next, options) as unknown as Response
    }
    try {
      await next()
      await uncountIfSkipped(options, context, counted)
    } catch (error) {
      if (skipFailedRequests) await counted.uncount()
      throw error
    }
    return undefined
  }
}

/**
 * Removes the hit of a request that does not count: the request failed and `skipFailedRequests` is true, or the request
 * succeeded and `skipSuccessfulRequests` is true.
 */
async function uncountIfSkipped(options: HonoConfigType, context: AnyContext, { uncount }: Hit): Promise<void> {
  const { skipFailedRequests, skipSuccessfulRequests, requestWasSuccessful } = options
  if (!skipFailedRequests && !skipSuccessfulRequests) return
  if ((await requestWasSuccessful(context)) ? skipSuccessfulRequests : skipFailedRequests) await uncount()
}

function setHeaders(context: AnyContext, options: HonoConfigType, info: RateLimitInfo): void {
  const { standardHeaders, windowMs } = options
  if (!standardHeaders || context.finalized) return
  const fields = draftFields(standardHeaders, info, windowMs)
  // hono-rate-limiter leaves out the field `RateLimit-Reset` of draft 6 if the store reports no reset time, or if the window
  // ends now.
  if (info.resetTime === undefined || fields['RateLimit-Reset'] === '0') delete fields['RateLimit-Reset']
  for (const [name, value] of Object.entries(fields)) context.header(name, value)
}

function countedByCloudflare(config: CloudflareConfigProps): MiddlewareHandler {
  const all = { message: tooMany, statusCode: 429, skip: () => false, handler: answer, ...defined(config) }
  const { binding: found, keyGenerator, skip, handler } = all as unknown as CloudflareConfigType
  return async (context, next) => {
    const binding = typeof found === 'function' ? found(context) : found
    if (await skip(context)) return next()
    const { success } = await binding.limit({ key: await keyGenerator(context) })
    if (success) return next()
    return handler(context, next, { ...all, binding } as CloudflareConfigType) as unknown as Response
  }
}
