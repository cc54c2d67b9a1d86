import type { Context, MiddlewareHandler } from 'hono'
import { type HeadgateError, misplaced, tooOld } from '../src/common/index.ts'
import {
  createGuard,
  functionOption,
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
import { type Answer, answerOf } from './web/index.ts'

export { type ConnInfo, honoFramework }

/** The variables that a limiter sets: `new Hono<{ Variables: RateLimitVariables }>()`. */
export interface RateLimitVariables {
  /** The decision of the last rate limiter that this request passed. Undefined if it was not limited. */
  rateLimit: RequestDecision | undefined
}

/** A middleware with its limiter, for `peek`, `reset`, `ban` and `health()`. */
export type HonoMiddleware<Limiter = RateLimiter> = MiddlewareHandler<{ Variables: RateLimitVariables }> & {
  readonly limiter: Limiter
}

/** The options of `rateLimit` for Hono, beside the policies. */
export type HonoOptions = GuardOptions<Context, Context> & HonoOwnOptions

/**
 * Hono middleware. The decision is `c.var.rateLimit`. A refused request gets status 429; `refuse` returns a Response or a
 * text. An error of a function in the options, or of a synchronous store, goes to `app.onError`. If another store fails,
 * `onStoreError` decides. The middleware has its `limiter`; if the policies are a function of the request, that is a
 * `PlanLimiter`.
 *
 *     import { getConnInfo } from '@hono/node-server/conninfo'
 *
 *     const limit = rateLimit('100/15m', { connInfo: getConnInfo })
 *     app.use(limit)
 *
 * @throws HeadgateError if a policy or an option is invalid, and for a limit by address without `connInfo` or `address`
 */
export function rateLimit<Given extends Policies<Context, Context> | undefined>(
  first: RateLimitArgument<Context, Context, Given, HonoOwnOptions>,
  second?: HonoOptions,
): HonoMiddleware<LimiterOf<Given>> {
  const { own, limit, options } = ownOptions(checks, first, second)
  const guard = createGuard(honoFramework(own), limit, options)
  const middleware: MiddlewareHandler = async (context, next) => {
    if (context.req?.routeIndex === undefined) throw unfit(context)
    const admitted = guard.check(context, context)
    const goesOn = typeof admitted === 'boolean' ? admitted : await admitted
    if (!goesOn) return refused(context)
    const answer = answerOf(context)
    try {
      await answer.make(next)
    } catch (error) {
      answer.end(500, false)
      throw error
    }
    if (context.finalized) addFields(context, answer)
    else answer.end(500, false) // a handler has returned nothing, which Hono takes for an error
    return undefined
  }
  return Object.assign(middleware, { limiter: guard.limiter })
}

const checks = {
  connInfo: functionOption('getConnInfo'),
  address: functionOption("(c) => c.req.header('x-real-ip')"),
  trustedProxies: trustedProxiesOption,
}

/** The error for an old version of Hono, or for another framework. */
function unfit({ req }: Context): HeadgateError {
  return typeof req?.header === 'function' ? tooOld('headgate/hono', 'hono', '3.11') : misplaced('headgate/hono')
}

/** A context with a response goes no further: a middleware before this one has answered. */
function refused(context: Context): Response | undefined {
  return context.finalized ? undefined : answerOf(context).refused(context.req)
}

/**
 * Puts the fields on the response once it exists: Hono would not add them to a Response that a handler has made itself.
 * On Node, the fields go on Node's own response, which sends them with the fields of Hono's Response. Setting them on a
 * Response would take twice as long.
 */
function addFields(context: Context, answer: Answer): void {
  const node = honoNodePair(context)?.res
  if (node?.headersSent === false) {
    answer.setOn(node)
    return
  }
  const given = context.res
  const response = answer.apply(given, context.req)
  if (response === given) return
  // Hono would copy the headers of the old response onto the new one.
  context.res = undefined
  context.res = response
}
