import type { Context, MiddlewareHandler } from 'hono'
import { type HeadgateError, misplaced, tooOld } from '../src/common/index.ts'
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
  type RequestDecision,
} from '../src/http/index.ts'
import { trustedProxiesOption } from '../src/http/keys/index.ts'
import type { RateLimiter } from '../src/limiter/index.ts'
import { type ConnInfo, type HonoOwnOptions, honoFramework, honoNodePair } from './hono-framework.ts'
import { ownResponse } from './node-pair.ts'
import { isStatus } from './response-fields.ts'
import { type Answer, answerOf } from './web/index.ts'

export { type ConnInfo, honoFramework }

/** The variables that a limiter sets on the context. Example: `new Hono<{ Variables: RateLimitVariables }>()`. */
export interface RateLimitVariables {
  /** The decision of the last rate limiter that this request passed. Undefined on a route without a limiter. */
  rateLimit: RequestDecision
}

type Handler = MiddlewareHandler<{ Variables: RateLimitVariables }>

/** A middleware of Hono. Its property `limiter` has `peek`, `reset`, `ban` and `health()`. */
export type HonoMiddleware<Limiter = RateLimiter> = Handler & {
  readonly limiter: Limiter
  /**
   * The same limit for a route with another cost. The cost is a number, a record with a number for each policy, a list of records, or a
   * function of the request, as in the option `cost`. If the limit has already counted the request, as with `app.use(limit)`, the units of
   * the first decision are given back. A second decision then takes the cost of the route, or refuses the request and takes nothing. If a
   * request passes several such middlewares, the last middleware sets the cost. Example: `app.get('/search', limit.cost(5), search)`.
   * @throws HeadgateError `HEADGATE_COST` if the cost is invalid, or if every request would be refused
   */
  cost(cost: Cost<Context, Context>): Handler
}

/** The options of `rateLimit` for Hono, other than the policies. */
export type HonoOptions = GuardOptions<Context, Context> & HonoOwnOptions

/**
 * Middleware for Hono. The decision is on `c.var.rateLimit`. A refused request gets status 429. `refuse` may return a Response or a text.
 * An error of a function in the options, or of a synchronous store, goes to `app.onError`. If an asynchronous store fails, `onStoreError`
 * decides about the request. The limiter is `limit.limiter`. If the policies are a function of the request, `limit.limiter` is a
 * `PlanLimiter`, with a limiter for each set of policies.
 *
 *     import { getConnInfo } from '@hono/node-server/conninfo'
 *
 *     const limit = rateLimit('100/15m', { connInfo: getConnInfo })
 *     app.use(limit)
 *
 * @throws HeadgateError if a policy or an option is invalid, or if a limit by address has neither `connInfo` nor `address`
 */
export function rateLimit<Given extends Policies<Context, Context> | undefined>(
  first: RateLimitArgument<Context, Context, Given, HonoOwnOptions>,
  second?: HonoOptions,
): HonoMiddleware<LimiterOf<Given>> {
  const { own, limit, options } = ownOptions(checks, first, second)
  const guard = createGuard(honoFramework(own), limit, options)
  const cost = (units: Cost<Context, Context>) => handlerOf(guard.withCost(units))
  return Object.assign(handlerOf(guard), { limiter: guard.limiter, cost })
}

function handlerOf(guard: Pick<Guard<Context, Context>, 'check'>): Handler {
  return async (context, next) => {
    if (context.req?.routeIndex === undefined) throw unfit(context)
    let answer: Answer | undefined
    let tell: Answer['tell']
    try {
      const admitted = guard.check(context, context)
      const goesOn = typeof admitted === 'boolean' ? admitted : await admitted
      if (!goesOn) return refused(context)
      answer = answerOf(context)
      tell = answer.takeTell()
      await answer.make(next)
    } catch (error) {
      const failed = answer ?? answerOf(context) // a function in the options may throw after units were taken
      const status = statusOfError(error)
      tell?.(new Response(null, { status }), true)
      failed.end(status, false)
      throw error
    }
    if (context.finalized) {
      tell?.(context.res)
      addFields(context, answer)
    } else {
      // Hono treats a handler that returns nothing as an error, and adds these fields to what `onError` makes by `c`.
      for (const name in answer.fields) context.header(name, answer.fields[name])
      answer.end(500, false)
    }
    return undefined
  }
}

const checks = {
  connInfo: functionOption('getConnInfo'),
  address: functionOption("(c) => c.req.header('x-real-ip')"),
  trustedProxies: trustedProxiesOption,
}

/**
 * The status of an `HTTPException`, or 500 for another error. Errors pass the limit before Hono answers them only behind `every`, `some`
 * and `except` of `hono/combine`, or if they are no Error.
 */
function statusOfError(error: unknown): number {
  const { status, getResponse } = Object(error) as { readonly status?: unknown; readonly getResponse?: unknown }
  return typeof getResponse === 'function' && isStatus(status) && status >= 200 ? status : 500
}

/** The error if the middleware runs in an old version of Hono, or in another framework. */
function unfit({ req }: Context): HeadgateError {
  return typeof req?.header === 'function' ? tooOld('headgate/hono', 'hono', '3.11') : misplaced('headgate/hono')
}

/** The response to a refused request. Undefined if the context already has a response from an earlier middleware. */
function refused(context: Context): Response | undefined {
  return context.finalized ? undefined : answerOf(context).refused(context.req.raw)
}

/**
 * Sets the rate limit fields after the response exists, because Hono does not add fields to a Response that a handler made. On Node, the
 * fields are set on the response of node:http, which also sends the fields of the Response. To set the fields on a Response would take
 * twice as long.
 */
function addFields(context: Context, answer: Answer): void {
  const node = ownResponse(context.req.raw, honoNodePair(context))
  if (node?.headersSent === false && !answer.awaited) {
    answer.setOn(node)
    return
  }
  const given = context.res
  const response = answer.apply(given, context.req.raw)
  if (response === given) return
  // Clear the old response first: otherwise Hono would copy its headers to the new response.
  context.res = undefined
  context.res = response
}
