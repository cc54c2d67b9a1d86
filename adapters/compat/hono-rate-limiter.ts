/*
 * The interface of hono-rate-limiter 0.5: change the import, and keep the options, the stores and what clients see.
 *
 * What differs, and why:
 *
 * - Counts are kept in a bounded memory store without timers, so `MemoryStore` has no `interval`, `current` and `previous`, and its
 *   methods return promises.
 * - `RedisStore` and `UnstorageStore` are not here. Import them from hono-rate-limiter, or give a store of headgate.
 * - If every hit of a window is taken back, the next request opens a new window. No hit is taken back after its window
 *   has ended. In hono-rate-limiter, this takes back a hit of the next window.
 * - A window lasts from 1 ms to 366 days.
 * - A `limit` or a `windowMs` that is no number is an error, and so is a limiter without `keyGenerator`: when the
 *   middleware is made, or of the request if the option is a function. In hono-rate-limiter, NaN refuses nobody, and
 *   without `keyGenerator` every request fails.
 * - A request without a key is refused with 403 if its client has left, on a server of Node. There, all such requests share
 *   a count.
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
 * Hono middleware that counts requests in windows, which open with a client's first request, and refuses requests over
 * the limit. With `binding`, Cloudflare counts. An error of a function in the options, or of the store, goes to
 * `app.onError`.
 *
 *     app.use(rateLimiter({ windowMs: 60_000, limit: 100, keyGenerator: (c) => c.req.header('x-api-key') ?? '' }))
 *
 * @throws TypeError without `keyGenerator`, or if the store, `limit` or `windowMs` is invalid; HeadgateError if a store of
 *   headgate already has a limiter of that name
 */
export function rateLimiter<
  E extends Env = Env,
  P extends string = string,
  I extends Input = Input,
  // biome-ignore lint/suspicious/noExplicitAny: as Hono's MiddlewareHandler has it
  R extends HandlerResponse<any> = Response,
>(config: ConfigProps<E, P, I>): MiddlewareHandler<E, P, I, R> {
  // The functions in the options get the context from Hono, so the context has the declared types.
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

/** Takes the hit back if `skipFailedRequests` or `skipSuccessfulRequests` excludes this response. */
async function uncountIfSkipped(options: HonoConfigType, context: AnyContext, { uncount }: Hit): Promise<void> {
  const { skipFailedRequests, skipSuccessfulRequests, requestWasSuccessful } = options
  if (!skipFailedRequests && !skipSuccessfulRequests) return
  if ((await requestWasSuccessful(context)) ? skipSuccessfulRequests : skipFailedRequests) await uncount()
}

function setHeaders(context: AnyContext, options: HonoConfigType, info: RateLimitInfo): void {
  const { standardHeaders, windowMs } = options
  if (!standardHeaders || context.finalized) return
  const fields = draftFields(standardHeaders, info, windowMs)
  // Draft 6 has no reset field without a reset time, or at the end of a window.
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
