import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import {
  asError,
  createGuard,
  type Framework,
  type GuardOptions,
  isUnixSocket,
  type PlanLimiter,
  type PlanOptions,
  type PolicyArgument,
  type RateLimitArgument,
  type RateLimiter,
  type RequestDecision,
  routeName,
  whenEnded,
} from '../src/http/index.ts'

declare module 'node:http' {
  interface IncomingMessage {
    /** The decision of the last rate limiter that this request passed. */
    rateLimit?: RequestDecision
  }
}

declare module 'node:http2' {
  interface Http2ServerRequest {
    /** The decision of the last rate limiter that this request passed. */
    rateLimit?: RequestDecision
  }
}

/** A request of node:http, or of the same interface of node:http2. */
export type NodeRequest = IncomingMessage | Http2ServerRequest
/** A response of node:http, or of the same interface of node:http2. */
export type NodeResponse = ServerResponse | Http2ServerResponse

/** What routers such as Polka and Restify add to a request. */
interface Routed {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly route?: { readonly path?: unknown } | undefined
}

/** The socket of a request. A stream of HTTP/2 that was reset has none, and says so with an error. */
function addressOf(request: NodeRequest): string | undefined {
  try {
    return request.socket.remoteAddress
  } catch {
    return undefined
  }
}

/** The functions that the guard needs from node:http and node:http2. */
export const nodeFramework: Framework<NodeRequest, NodeResponse> = {
  address: addressOf,
  peer: addressOf,
  unaddressed({ stream, socket }: NodeRequest & { stream?: { destroyed: boolean } }) {
    return !stream?.destroyed && isUnixSocket(socket)
  },
  trustsProxy: () => false,
  param(request, name) {
    const { params } = request as Routed
    return params && Object.hasOwn(params, name) ? params[name] : undefined
  },
  header: ({ headers }, name) => headers[name]?.toString(),
  route: (request) => routeName(request.method, (request as Routed).route?.path?.toString()),
  attach(request, _response, decision) {
    request.rateLimit = decision
  },
  attached: (request) => request.rateLimit,
  headersSent: (response) => response.headersSent,
  complete: (response) => response.writableEnded,
  ended: (response, done) => whenEnded(response as ServerResponse, done),
  setHeader: (response, name, value) => void response.setHeader(name, value),
  responseHeader: (response, name) => response.getHeader(name)?.toString(),
  setStatus(response, status) {
    response.statusCode = status
  },
  send(response, type, body) {
    response.setHeader('Content-Type', type)
    response.end(body)
  },
}

/** A middleware `(request, response, next)`, and without `next` a promise. */
export interface NodeRateLimit<Limiter = RateLimiter> {
  /** Calls `next` if the request may go on, or with an Error. A refused request is answered. */
  (request: NodeRequest, response: NodeResponse, next: (error?: unknown) => void): void
  /** Resolves to true if the request may go on. If it resolves to false, the request is answered. */
  (request: NodeRequest, response: NodeResponse): Promise<boolean>
  /** The limiter, for `peek`, `reset` and `health()`. */
  readonly limiter: Limiter
}

type Options = GuardOptions<NodeRequest, NodeResponse>

/**
 * A limiter for servers of node:http and node:http2, and for Polka, Restify, Connect and all others whose middleware is
 * `(request, response, next)`. The decision is on `request.rateLimit`. A refused request gets status 429. Behind a proxy,
 * pass `keys: byIp({ trustedProxies: 1 })`. The middleware has its `limiter`; if the policies are a function of the
 * request, that is a `PlanLimiter`.
 *
 *     const limit = rateLimit('100/15m')
 *     createServer(async (request, response) => {
 *       if (await limit(request, response)) response.end('hello')
 *     })
 *
 * @throws HeadgateError if a policy or an option is invalid
 */
export function rateLimit(limit: PolicyArgument<NodeRequest, NodeResponse>, options?: Options): NodeRateLimit
/** The policies are a function of the request. */
export function rateLimit(limit: PlanOptions<NodeRequest, NodeResponse>, options?: Options): NodeRateLimit<PlanLimiter>
export function rateLimit(
  limit: RateLimitArgument<NodeRequest, NodeResponse>,
  options?: Options,
): NodeRateLimit<RateLimiter | PlanLimiter>
export function rateLimit(
  limit: RateLimitArgument<NodeRequest, NodeResponse>,
  options?: Options,
): NodeRateLimit<RateLimiter | PlanLimiter> {
  const guard = createGuard(nodeFramework, limit, options)
  const check = async (request: NodeRequest, response: NodeResponse): Promise<boolean> => {
    try {
      return await guard.check(request, response)
    } catch (error) {
      throw asError(error)
    }
  }
  const middleware = (request: NodeRequest, response: NodeResponse, next?: (error?: unknown) => void) => {
    return next === undefined ? check(request, response) : guard.handle(request, response, next)
  }
  return Object.assign(middleware as NodeRateLimit, { limiter: guard.limiter })
}
