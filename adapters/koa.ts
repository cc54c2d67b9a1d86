import type { Context, Middleware, Next } from 'koa'
import { type MaybePromise, misplaced } from '../src/common/index.ts'
import { forgetStatus } from '../src/http/held/index.ts'
import {
  type Cost,
  createGuard,
  type Framework,
  type Guard,
  type GuardOptions,
  type LimiterOf,
  type Policies,
  type RateLimitArgument,
  type RequestDecision,
  routeName,
} from '../src/http/index.ts'
import { isIncomplete, isUnixSocket, reportedAddress } from '../src/http/keys/index.ts'
import type { RateLimiter } from '../src/limiter/index.ts'
import { nodeResponse } from './node-response.ts'

declare module 'koa' {
  interface DefaultState {
    /** The decision of the rate limiter that decided last about this request. Undefined on a route without a limiter. */
    rateLimit: RequestDecision
  }
}

/**
 * The client's address in X-Forwarded-For. If `maxIpsCount` is set (to the number of proxies), `ips` has only that many entries from
 * the end of the field, so the first entry is the client's address. Without `maxIpsCount`, a client can write every entry except the
 * last, so the last entry is used.
 */
function forwardedAddress({ app, ips, req }: Context): string | undefined {
  if (isIncomplete(req)) return undefined
  const text = app.maxIpsCount > 0 ? ips[0] : ips.at(-1)
  return reportedAddress(text ?? req.socket.remoteAddress)
}

/** A layer of @koa/router. A layer with methods is a route. A layer without methods is middleware. */
interface Layer {
  readonly path: string | RegExp
  readonly methods: readonly string[]
}

/**
 * The route that matched. Inside `router.use`, @koa/router reports the middleware's pattern as `_matchedRoute`, so the last
 * route in `matched` is used.
 */
function matchedRoute({ matched = [], _matchedRoute, method }: Context): Partial<Layer> {
  const routes = (matched as readonly Layer[]).filter(({ methods }) => methods.includes(method))
  const current = routes.find(({ path }) => path === _matchedRoute)
  if (current !== undefined) return current
  const isMiddleware = (matched as readonly Layer[]).some(({ path }) => path === _matchedRoute)
  return isMiddleware ? (routes.at(-1) ?? {}) : { path: _matchedRoute }
}

/**
 * The names of the response fields that limiters have set in this process. There are few names: they come from options, not from
 * requests.
 */
const keptFields = new Set<string>()

/**
 * Replaces Koa's `context.onerror`, which removes all response fields. The new function preserves the fields that limiters have set, as
 * other frameworks do. Fields in `error.headers` take precedence.
 * @param original the `onerror` of Koa, of the application, or of the context from which this one is derived
 */
function keepingFields(original: Context['onerror']): Context['onerror'] {
  return function onerror(this: Context, error: Error & { headers?: Record<string, unknown> }): void {
    if (!(error instanceof Error) || this.res.headersSent) {
      original.call(this, error)
      return
    }
    const own = error.headers
    const kept = [...keptFields].filter((name) => this.res.hasHeader(name))
    const headers = { ...Object.fromEntries(kept.map((name) => [name, this.res.getHeader(name)])), ...own }
    // False if the error is frozen, or has `headers` that cannot be changed, as the errors of Octokit.
    const changed = Reflect.set(error, 'headers', headers)
    original.call(this, error)
    // Restore the original `error.headers`, because an application may throw the same error object for another request.
    if (changed && own === undefined) Reflect.deleteProperty(error, 'headers')
    else if (changed) Reflect.set(error, 'headers', own)
  }
}

/** The functions that the guard (code for all frameworks) needs from Koa. The context of Koa is both the request and the response. */
export const koaFramework: Framework<Context, Context> = {
  // Check `app.proxy` first: `ctx.ips` reads a header and makes a list even if there is no proxy.
  address: (context) => (context.app.proxy ? forwardedAddress(context) : context.req.socket.remoteAddress),
  peer: ({ req }) => req.socket.remoteAddress,
  unaddressed: ({ req }) => isUnixSocket(req.socket),
  incomplete: ({ req }) => isIncomplete(req),
  trustsProxy: ({ app }) => app.proxy,
  param: ({ params }, name) => (params && Object.hasOwn(params, name) ? params[name] : undefined),
  header: ({ req }, name) => req.headers[name]?.toString(),
  cookie: ({ cookies }, name) => cookies.get(name, { signed: false }),
  route(context) {
    const { methods, path } = matchedRoute(context)
    return routeName(methods, path?.toString())
  },
  attach(context, _response, decision) {
    context.state.rateLimit = decision
    if (!Object.hasOwn(context, 'onerror')) context.onerror = keepingFields(context.onerror)
  },
  attached: ({ state }) => state.rateLimit,
  headersSent: ({ res }) => res.headersSent,
  complete: ({ res }) => res.writableEnded,
  ended: ({ res }, done) => nodeResponse.ended(res, done),
  left: ({ res }) => nodeResponse.left(res),
  setHeader({ res }, name, value) {
    if (name !== 'Cache-Control') keptFields.add(name)
    res.setHeader(name, value)
  },
  responseHeader: ({ res }, name) => res.getHeader(name)?.toString(),
  setStatus(context, status) {
    context.status = status
  },
  ownStatus: ({ response, status }) =>
    (response as { _explicitStatus?: boolean })._explicitStatus ? status : undefined,
  clearRefusal({ req, response, res }) {
    nodeResponse.clearRefusal(res)
    if (req.httpVersionMajor < 2) res.statusMessage = ''
    // Restore Koa's first status of a response: if a body is set later, Koa changes 404 to 200.
    res.statusCode = 404
    forgetStatus(res)
    Object.assign(response, { _explicitStatus: false })
  },
  send(context, type, body) {
    context.res.setHeader('Content-Type', type)
    context.body = body
  },
}

/** A middleware of Koa. Its property `limiter` has `peek`, `reset`, `ban` and `health()`. */
export type KoaMiddleware<Limiter = RateLimiter> = Middleware & {
  readonly limiter: Limiter
  /**
   * The same limit for a route with another cost. The cost is a number, a record with a number for each policy, a list of records, or a
   * function of the request, as in the option `cost`. If the limit has already counted the request, as with `app.use(limit)`, the units of
   * the first decision are given back. A second decision then takes the cost of the route, or refuses the request and takes nothing. If a
   * request passes several such middlewares, the last middleware sets the cost. Example: `router.get('/search', limit.cost(5), search)`.
   * @throws HeadgateError `HEADGATE_COST` if the cost is invalid, or if every request would be refused
   */
  cost(cost: Cost<Context, Context>): Middleware
}

/**
 * Middleware for Koa. The decision is on `ctx.state.rateLimit`. A refused request gets status 429. An error of a synchronous store, or of a
 * function in the options such as `keys`, makes the promise of the middleware reject. Koa's error handling then gets the error. If an
 * asynchronous store fails, `onStoreError` decides about the request. The limiter is `limit.limiter`. If the policies are a function of the
 * request, `limit.limiter` is a `PlanLimiter`, with a limiter for each set of policies.
 *
 *     const limit = rateLimit('100/15m')
 *     app.use(limit)
 *     await limit.limiter.reset('203.0.113.7')
 *
 * @throws HeadgateError if a policy or an option is invalid
 */
export function rateLimit<Given extends Policies<Context, Context> | undefined>(
  limit: RateLimitArgument<Context, Context, Given>,
  options?: GuardOptions<Context, Context>,
): KoaMiddleware<LimiterOf<Given>> {
  const guard = createGuard(koaFramework, limit, options)
  const cost = (units: Cost<Context, Context>) => middlewareOf(guard.withCost(units))
  return Object.assign(middlewareOf(guard), { limiter: guard.limiter, cost })
}

function middlewareOf(guard: Pick<Guard<Context, Context>, 'check'>): Middleware {
  // The function is not `async`, because `async` would create one more promise for each request.
  return (context, next) => {
    if (typeof next !== 'function' || context.state === undefined) throw misplaced('headgate/koa')
    let admitted: MaybePromise<boolean>
    try {
      admitted = guard.check(context, context)
    } catch (error) {
      return Promise.reject(error)
    }
    if (admitted === true) return next()
    return admitted === false ? refused : nextLater(admitted, next)
  }
}

const refused = Promise.resolve()

async function nextLater(admitted: Promise<boolean>, next: Next): Promise<void> {
  if (await admitted) await next()
}
