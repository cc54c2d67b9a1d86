import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { isPromise, misplaced } from '../src/common/index.ts'
import {
  type Cost,
  createGuard,
  type Framework,
  type Guard,
  type GuardOptions,
  type LimiterOf,
  ownOptions,
  type Policies,
  type RateLimitArgument,
  type RequestDecision,
  routeName,
} from '../src/http/index.ts'
import { isIncomplete, isUnixSocket, type TrustedProxies, trustedProxiesOption } from '../src/http/keys/index.ts'
import type { RateLimiter } from '../src/limiter/index.ts'
import { type DeclaredRoute, declaredMethod } from './express-route.ts'
import { type NodeResponse, nodeResponse } from './node-response.ts'
import { addressView } from './web/index.ts'

export type { NodeResponse }

declare module 'node:http' {
  interface IncomingMessage {
    /** The decision of the rate limiter that decided last about this request. Undefined if no limiter has decided. */
    rateLimit: RequestDecision
  }
}

declare module 'node:http2' {
  interface Http2ServerRequest {
    /** The decision of the rate limiter that decided last about this request. Undefined if no limiter has decided. */
    rateLimit: RequestDecision
  }
}

/** A request of node:http, or of node:http2 in its compatibility API. */
export type NodeRequest = IncomingMessage | Http2ServerRequest

/** Properties that routers such as Polka and Restify add to a request. */
interface Routed {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly route?: (DeclaredRoute & { readonly method?: string | undefined }) | undefined
}

/**
 * The address of a request's socket. Undefined for a stream of HTTP/2 that was reset: the stream has no socket, and reading the
 * address throws.
 */
function addressOf(request: NodeRequest): string | undefined {
  try {
    return request.socket.remoteAddress
  } catch {
    return undefined
  }
}

/** The options of `rateLimit` that exist only in this adapter. */
interface NodeOwnOptions {
  /**
   * How many proxies are in front of the server, or their addresses and ranges. The client's address is then read from
   * X-Forwarded-For, starting at the end of the list. Default: no proxies, and X-Forwarded-For is ignored. Example: `1`, or
   * `['10.0.0.0/8']`.
   */
  trustedProxies?: TrustedProxies | undefined
}

const finder = {
  peer: addressOf,
  unaddressed({ stream, socket }: NodeRequest & { stream?: { destroyed: boolean } }) {
    return !stream?.destroyed && isUnixSocket(socket)
  },
  incomplete: isIncomplete,
  header: ({ headers }: NodeRequest, name: string) => headers[name]?.toString(),
}

/** The functions that the guard (code for all frameworks) needs from node:http and node:http2. */
export const nodeFramework: Framework<NodeRequest, NodeResponse> = {
  ...addressView<NodeRequest>(undefined, finder),
  param(request, name) {
    const { params } = request as Routed
    return params && Object.hasOwn(params, name) ? params[name] : undefined
  },
  route(request) {
    const { route = {} } = request as Routed
    return routeName(route.method ?? declaredMethod(request.method ?? 'GET', route), route.path?.toString())
  },
  attach(request, _response, decision) {
    request.rateLimit = decision
  },
  attached: (request) => request.rateLimit,
  ...nodeResponse,
}

/**
 * Middleware `(request, response, next)`. A call without `next` returns a promise, which resolves to true if the request is admitted, and
 * to false if the request is refused.
 */
interface NodeHandler {
  /** Calls `next()` if the request is admitted, and `next(error)` after an error. If the request is refused, sends the response. */
  (request: NodeRequest, response: NodeResponse, next: (error?: unknown) => void): void
  /** Resolves to true if the request is admitted. Resolves to false after the refusal was sent. */
  (request: NodeRequest, response: NodeResponse): Promise<boolean>
}

/** A limiter for servers of Node, which `rateLimit` returns. */
export interface NodeRateLimit<Limiter = RateLimiter> extends NodeHandler {
  /**
   * The same limit for a route with another cost. The cost is a number, a record with a number for each policy, a list of records, or a
   * function of the request, as in the option `cost`. If the limit has already counted the request, as with `app.use(limit)`, the units of
   * the first decision are given back. A second decision then takes the cost of the route, or refuses the request and takes nothing. If a
   * request passes several such handlers, the last handler sets the cost. Call `cost` once, when the application starts.
   * Example: `const five = limit.cost(5)`, and in the handler `if (await five(request, response)) response.end('found')`.
   * @throws HeadgateError `HEADGATE_COST` if the cost is invalid, or if every request would be refused
   */
  cost(cost: Cost<NodeRequest, NodeResponse>): NodeHandler
  /** The limiter, for `peek`, `reset`, `ban` and `health()`. */
  readonly limiter: Limiter
}

/** The options of `rateLimit` for servers of Node, other than the policies. */
export type NodeOptions = GuardOptions<NodeRequest, NodeResponse> & NodeOwnOptions

/**
 * A limiter for servers of node:http and node:http2, and for Polka, Restify, Connect and all other frameworks with middleware `(request,
 * response, next)`. The decision is on `request.rateLimit`. A refused request gets status 429. Behind a proxy, pass `trustedProxies: 1`.
 * The limiter is `limit.limiter`. If the policies are a function of the request, `limit.limiter` is a `PlanLimiter`, with a limiter for
 * each set of policies.
 *
 *     const limit = rateLimit('100/15m')
 *     createServer(async (request, response) => {
 *       if (await limit(request, response)) response.end('hello')
 *     })
 *
 * @throws HeadgateError if a policy or an option is invalid
 */
export function rateLimit<Given extends Policies<NodeRequest, NodeResponse> | undefined>(
  first: RateLimitArgument<NodeRequest, NodeResponse, Given, NodeOwnOptions>,
  second?: NodeOptions,
): NodeRateLimit<LimiterOf<Given>> {
  const { own, limit, options } = ownOptions({ trustedProxies: trustedProxiesOption }, first, second)
  const framework = { ...nodeFramework, ...addressView<NodeRequest>(own.trustedProxies, finder) }
  const guard = createGuard(framework, limit, options)
  const cost = (units: Cost<NodeRequest, NodeResponse>) => handlerOf(guard.withCost(units))
  return Object.assign(handlerOf(guard), { limiter: guard.limiter, cost })
}

function handlerOf(guard: Pick<Guard<NodeRequest, NodeResponse>, 'check' | 'handle'>): NodeHandler {
  const check = async (request: NodeRequest, response: NodeResponse) => guard.check(request, response)
  const handler = (request: NodeRequest, response: NodeResponse, next?: (error?: unknown) => void) => {
    if (response?.setHeader === undefined) throw misplaced('headgate/node')
    if (next === undefined) return check(request, response)
    // The promise is not returned, because Restify would call the next handler when it is fulfilled, also for a refused request.
    if ('startHandlerTimer' in request && isOfRestify(next)) handleInRestify(request, response, next)
    else {
      let passedOn = false
      const decision = guard.handle(request, response, (error) => {
        passedOn = true
        next(error)
      })
      if (isPromise(decision)) holdBack(response, next, decision, () => passedOn)
    }
    return undefined
  }
  // Restify counts a request as in flight until a handler calls `next`. After a response, `next(false)` ends the request.
  const handleInRestify = (request: NodeRequest, response: NodeResponse, next: (error?: unknown) => void) => {
    let passedOn = false
    const waiting = guard.handle(request, response, (error) => {
      passedOn = true
      next(error)
    })
    const end = () => passedOn || nodeResponse.ended(response as never, () => next(false))
    if (isPromise(waiting)) void waiting.then(end)
    else end()
  }
  return handler as NodeHandler
}

/**
 * Keeps h3 1 (of Nuxt) from the next handler until the decision. Its `fromNodeMiddleware` calls `next` when the response closes, so also if
 * the client leaves before the decision. It adds these listeners as soon as the middleware has returned undefined.
 */
function holdBack(
  response: NodeResponse,
  next: (error?: unknown) => void,
  decision: Promise<unknown>,
  passedOn: () => boolean,
): void {
  queueMicrotask(() => {
    if (!response.listeners?.('close').includes(next)) return
    for (const event of ['close', 'error']) response.off(event, next)
    void decision.then(() => passedOn() || nodeResponse.left?.(response) || response.once('close', next))
  })
}

/**
 * True for the function `next` that Restify itself passes. With any other function, `next(false)` may run the next handler. Restify changes
 * the requests of all servers of a process, so a request alone does not tell.
 */
function isOfRestify(next: (error?: unknown) => void): boolean {
  return String(next).includes('req.endHandlerTimer(')
}
