import type { NextFunction, Request, Response } from 'express'
import { whenEnded } from '../src/http/ended.ts'
import { type Framework, type RequestDecision, routeName } from '../src/http/framework.ts'
import type { GuardOptions, RateLimitArgument } from '../src/http/options.ts'
import { guardOf } from '../src/http/plans.ts'

declare global {
  namespace Express {
    interface Request {
      /** The decision of the last rate limiter that this request passed. */
      rateLimit?: RequestDecision
    }
  }
}

/** Any address: whoever trusts this one as the thousandth hop trusts everybody. TEST-NET-1 of RFC 5737. */
const anybody = '192.0.2.1'

function forwarded(request: Request, settings: Record<string, unknown>): string | undefined {
  const trusts = settings['trust proxy fn'] as (address: string, hop: number) => boolean
  return trusts(anybody, 1000) ? (request.ips.at(-1) ?? request.socket.remoteAddress) : request.ip
}

const express: Framework<Request, Response> = {
  address(request) {
    // Read from the settings: `request.ip` parses forwarded addresses even where no proxy is trusted.
    const settings: Record<string, unknown> | undefined = request.app?.settings
    return settings?.['trust proxy'] ? forwarded(request, settings) : request.socket.remoteAddress
  },
  peer: (request) => request.socket.remoteAddress,
  trustsProxy: ({ app }) => Boolean(app?.settings['trust proxy']),
  param: ({ params }, name) => (params && Object.hasOwn(params, name) ? params[name]?.toString() : undefined),
  header: (request, name) => request.headers[name]?.toString(),
  // Not `baseUrl`: that is the client's text, in any letter case and with any parameters.
  route: (request) => routeName(request.method, request.route?.path?.toString()),
  attach(request, response, decision) {
    request.rateLimit = decision
    if (decision.settle !== undefined) response.locals.rateLimit = decision
  },
  headersSent: (response) => response.headersSent,
  complete: (response) => response.writableEnded,
  ended: whenEnded,
  setHeader: (response, name, value) => void response.setHeader(name, value),
  setStatus(response, status) {
    response.statusCode = status
  },
  send(response, type, body) {
    response.setHeader('Content-Type', type)
    response.end(body)
  },
}

/** Says nothing of the route's parameters, so that a route keeps their types. */
export type ExpressMiddleware = <Params>(request: Request<Params>, response: Response, next: NextFunction) => void

/**
 * Express middleware (4 and 5). The decision is on `req.rateLimit`; a refusal is answered with 429, an error of a key
 * extractor or of the store goes to `next(error)`.
 *
 *     app.use(rateLimit('100/15m'))
 *
 * @throws HeadgateError for a policy or option that cannot be what it is
 */
export function rateLimit(
  what: RateLimitArgument<Request, Response>,
  options?: GuardOptions<Request, Response>,
): ExpressMiddleware {
  const guard = guardOf(express, what, options)
  return (request, response, next) => guard.run(request as unknown as Request, response, next)
}
