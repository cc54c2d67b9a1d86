import type { H3Config, H3Event, Middleware } from 'h3'
import * as h3 from 'h3'
import { misplaced, tooOld } from '../src/common/index.ts'
import {
  type Cost,
  createGuard,
  functionOption,
  type Guard,
  type GuardOptions,
  type LimiterOf,
  ownOptions,
  type Policies,
  type RateLimitArgument,
} from '../src/http/index.ts'
import { trustedProxiesOption } from '../src/http/keys/index.ts'
import type { RateLimiter } from '../src/limiter/index.ts'
import { type H3OwnOptions, h3Framework } from './h3-framework.ts'
import { isResponse } from './response-fields.ts'
import { type Answer, answerOf, asksForWebSocket } from './web/index.ts'

export { h3Framework }

/** A middleware of h3. Its property `limiter` has `peek`, `reset`, `ban` and `health()`. */
export type H3Middleware<Limiter = RateLimiter> = Middleware & {
  readonly limiter: Limiter
  /**
   * The same limit for a route with another cost. The cost is a number, a record with a number for each policy, a list of records, or a
   * function of the request, as in the option `cost`. If the limit has already counted the request, as with `app.use(limit)`, the units of
   * the first decision are given back. A second decision then takes the cost of the route, or refuses the request and takes nothing. If a
   * request passes several such middlewares, the last middleware sets the cost.
   * Example: `app.get('/search', search, { middleware: [limit.cost(5)] })`.
   * @throws HeadgateError `HEADGATE_COST` if the cost is invalid, or if every request would be refused
   */
  cost(cost: Cost<H3Event, H3Event>): Middleware
}

/** The options of `rateLimit` for h3, other than the policies. */
export type H3Options = GuardOptions<H3Event, H3Event> & H3OwnOptions

/**
 * Middleware for h3 2 and Nitro 3. The decision is on `event.context.rateLimit`. A refused request gets status 429. `refuse` may return any
 * value that a handler may return. An error of a function in the options, or of a synchronous store, goes to the error handler of the
 * application. If an asynchronous store fails, `onStoreError` decides about the request. The limiter is `limit.limiter`. If the policies
 * are a function of the request, `limit.limiter` is a `PlanLimiter`, with a limiter for each set of policies.
 *
 *     const limit = rateLimit('100/15m')
 *     app.use(limit)
 *
 * @throws HeadgateError if a policy or an option is invalid
 */
export function rateLimit<Given extends Policies<H3Event, H3Event> | undefined>(
  first: RateLimitArgument<H3Event, H3Event, Given, H3OwnOptions>,
  second?: H3Options,
): H3Middleware<LimiterOf<Given>> {
  // Since this version, h3 has `res.errHeaders`, the fields of responses with an error. `removeRoute` came with it.
  if (h3.removeRoute === undefined) throw tooOld('headgate/h3', 'h3', '2.0.1-rc.17')
  const { own, limit, options } = ownOptions(checks, first, second)
  const guard = createGuard(h3Framework(own), limit, options)
  const cost = (units: Cost<H3Event, H3Event>) => middlewareOf(guard.withCost(units))
  return Object.assign(middlewareOf(guard), { limiter: guard.limiter, cost })
}

function middlewareOf(guard: Pick<Guard<H3Event, H3Event>, 'check'>): Middleware {
  return (event, next) => {
    if (typeof next !== 'function' || event.context === undefined) throw misplaced('headgate/h3')
    const reported = event.req.runtime?.node === undefined && reportsStatus(event.app)
    const admitted = guard.check(event, event)
    return typeof admitted === 'boolean'
      ? goOn(admitted, event, next, reported)
      : admitted.then((goesOn) => goOn(goesOn, event, next, reported))
  }
}

const checks = {
  address: functionOption("(event) => event.req.headers.get('cf-connecting-ip')"),
  trustedProxies: trustedProxiesOption,
}

type Next = () => unknown

function goOn(admitted: boolean, event: H3Event, next: Next, reported: boolean): unknown {
  const answer = answerOf(event)
  // Never return undefined, because h3 would call the next handler.
  if (!admitted) return answer.refusal ?? null
  return answer.awaited || asksForWebSocket(event.req.headers) ? answered(event, next, reported) : next()
}

/**
 * Runs the next handler, and awaits the end of the response body. Used if the server has no response object of node:http, so that no
 * event reports the end of the response, and for a request that may open a WebSocket.
 * @param reported true if the hook of the application will report the status of an error
 */
async function answered(event: H3Event, next: Next, reported: boolean): Promise<unknown> {
  const answer = answerOf(event)
  try {
    const value = await answer.make(next)
    if (opensWebSocket(value, event)) {
      // With these fields, h3 would make a copy of the response that lacks `crossws`.
      for (const name of [...event.res.errHeaders.keys()]) event.res.errHeaders.delete(name)
      answer.end(101, true)
      return value
    }
    if (!answer.awaited) return value
    // h3 returns a symbol if no route has matched, or if the response was already sent. A handler that returns undefined has answered.
    if (typeof value !== 'symbol') return answer.apply(await h3.toResponse(value, event), event.req)
    endWithError(event, answer, 404, reported)
    return value
  } catch (error) {
    endWithError(event, answer, (error as { status?: number } | undefined)?.status ?? 500, reported)
    throw error
  }
}

/** The requests whose response is made from an error after all middleware, with what limiters add to it. */
const failed = new WeakMap<H3Event, Answer>()
/** The configurations that have a hook which ends the requests in `failed`. */
const hooked = new WeakSet<H3Config>()

/**
 * Ends a request that failed. The function `onError` of the application runs later, and may give the response another status.
 * @param status the status of the error. Used if no code sets a status
 * @param reported true if the hook of the application will report the status
 */
function endWithError(event: H3Event, answer: Answer, status: number, reported: boolean): void {
  failed.set(event, answer)
  if (reported) return
  const { res } = event
  setTimeout(() => answer.end(res.status ?? status, false), 0)
}

/**
 * True if the hook `onResponse` of the application ends the requests in `failed`, this request too. Adds the hook, which calls the
 * application's own.
 */
function reportsStatus(app: H3Event['app']): boolean {
  if (app === undefined) return false
  if (hooked.has(app.config)) return true
  const own = app.config.onResponse
  const hook: H3Config['onResponse'] = (response, event) => {
    failed.get(event)?.end(response.status, false)
    return own?.(response, event)
  }
  const isSet = Reflect.set(app.config, 'onResponse', hook)
  // `serve` of h3 freezes the configuration, and requests that have begun may keep it.
  if (!isSet) Reflect.set(app, 'config', { ...app.config, onResponse: hook })
  hooked.add(app.config)
  return isSet
}

/** True for the response of `defineWebSocketHandler`: the server opens a WebSocket with the hooks in its property `crossws`. */
function opensWebSocket(value: unknown, { req }: H3Event): boolean {
  return isResponse(value) && 'crossws' in value && asksForWebSocket(req.headers)
}
