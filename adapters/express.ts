import type { NextFunction, Request, Response } from 'express'
import { misplaced } from '../src/common/index.ts'
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
} from '../src/http/index.ts'
import { isIncomplete, isUnixSocket, reportedAddress } from '../src/http/keys/index.ts'
import type { RateLimiter } from '../src/limiter/index.ts'
import { expressRoute } from './express-route.ts'
import { nodeResponse } from './node-response.ts'

declare global {
  namespace Express {
    interface Request {
      /** The decision of the last rate limiter that this request passed. Undefined on a route without a limiter. */
      rateLimit: RequestDecision
    }
  }
}

/**
 * An address that no computer has (RFC 5737). If the proxy setting trusts this address as the thousandth proxy of a request, the
 * setting trusts every proxy.
 */
const anyAddress = '192.0.2.1'

function forwardedAddress(request: Request, settings: Record<string, unknown>): string | undefined {
  if (isIncomplete(request)) return undefined
  const trusts = settings['trust proxy fn'] as (address: string, hop: number) => boolean
  const text = trusts(anyAddress, 1000) ? (request.ips.at(-1) ?? request.socket.remoteAddress) : request.ip
  return reportedAddress(text)
}

/** The functions that the guard (code for all frameworks: src/http/guard.ts) needs from Express 4 and 5. */
export const expressFramework: Framework<Request, Response> = {
  address(request) {
    // Without a trusted proxy, read the client's address from the socket, because `request.ip` would parse X-Forwarded-For needlessly.
    const settings: Record<string, unknown> | undefined = request.app?.settings
    return settings?.['trust proxy'] ? forwardedAddress(request, settings) : request.socket.remoteAddress
  },
  peer: (request) => request.socket.remoteAddress,
  unaddressed: ({ socket }) => isUnixSocket(socket),
  incomplete: isIncomplete,
  trustsProxy: ({ app }) => Boolean(app?.settings['trust proxy']),
  param({ params }, name) {
    const value = params && Object.hasOwn(params, name) ? params[name] : undefined
    return Array.isArray(value) ? value.join('/') : value?.toString() // in Express 5, a wildcard is a list
  },
  header: (request, name) => request.headers[name]?.toString(),
  route: expressRoute,
  attach(request, _response, decision) {
    request.rateLimit = decision
  },
  attached: (request) => request.rateLimit,
  ...nodeResponse,
}

/**
 * Admits or refuses a request. If the decision is asynchronous, returns a promise that resolves after `next` was called or a response was
 * sent. `Params` may be any type, so that a route still has the types of its own parameters.
 */
type Handler = <Params>(request: Request<Params>, response: Response, next: NextFunction) => void | Promise<void>

/** The middleware that `rateLimit` returns. */
export interface ExpressMiddleware<Limiter = RateLimiter> extends Handler {
  /**
   * The same limit for a route with another cost. The cost is a number, a record with a number for each policy, a list of records, or a
   * function of the request, as in the option `cost`. If the limit has already counted the request, as with `app.use(limit)`, the units of
   * the first decision are given back. A second decision then takes the cost of the route, or refuses the request and takes nothing. If a
   * request passes several such handlers, the last handler sets the cost. Example: `app.get('/search', limit.cost(5), search)`.
   * @throws HeadgateError `HEADGATE_COST` if the cost is invalid, or if every request would be refused
   */
  cost(cost: Cost<Request, Response>): Handler
  /** The limiter, for `peek`, `reset`, `ban` and `health()`. */
  readonly limiter: Limiter
}

type Options = GuardOptions<Request, Response>

/**
 * Middleware for Express 4 and 5. The decision is on `req.rateLimit`. A refused request gets status 429. An error of a synchronous store,
 * or of a function in the options such as `keys`, goes to `next(error)`. If an asynchronous store fails, `onStoreError` decides about the
 * request. The limiter is `limit.limiter`. If the policies are a function of the request, `limit.limiter` is a `PlanLimiter`, with a
 * limiter for each set of policies.
 *
 *     const limit = rateLimit('100/15m')
 *     app.use(limit)
 *     await limit.limiter.reset('203.0.113.7')
 *
 * @throws HeadgateError if a policy or an option is invalid
 */
export function rateLimit<Given extends Policies<Request, Response> | undefined>(
  limit: RateLimitArgument<Request, Response, Given>,
  options?: Options,
): ExpressMiddleware<LimiterOf<Given>> {
  const guard = createGuard(expressFramework, limit, options)
  const cost = (units: Cost<Request, Response>) => handlerOf(guard.withCost(units))
  return Object.assign(handlerOf(guard), { limiter: guard.limiter, cost })
}

function handlerOf(guard: Pick<Guard<Request, Response>, 'handle'>): Handler {
  return (request, response, next) => {
    if (typeof next !== 'function' || response.setHeader === undefined) throw misplaced('headgate/express')
    return guard.handle(request as unknown as Request, response, next)
  }
}
