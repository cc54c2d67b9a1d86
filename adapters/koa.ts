import type { Context, Middleware, Next } from 'koa'
import { whenEnded } from '../src/http/ended.ts'
import { type Framework, type RequestDecision, routeName } from '../src/http/framework.ts'
import type { GuardOptions, RateLimitArgument } from '../src/http/options.ts'
import { guardOf } from '../src/http/plans.ts'

declare module 'koa' {
  interface DefaultState {
    /** The decision of the last rate limiter that this request passed. */
    rateLimit?: RequestDecision
  }
}

/** `ctx.ip` is the leftmost forwarded address unless `maxIpsCount` says how many proxies there are: take the nearest's. */
function forwarded({ app, ips }: Context): string | undefined {
  return app.maxIpsCount > 0 ? ips[0] : ips.at(-1)
}

const koa: Framework<Context, Context> = {
  // `ctx.ips` reads a header and makes a list whether or not there is a proxy.
  address: (context) => (context.app.proxy ? forwarded(context) : undefined) ?? context.req.socket.remoteAddress,
  peer: ({ req }) => req.socket.remoteAddress,
  trustsProxy: ({ app }) => app.proxy,
  param: ({ params }, name) => (params && Object.hasOwn(params, name) ? params[name] : undefined),
  header: ({ req }, name) => req.headers[name]?.toString(),
  route: ({ method, _matchedRoute }) => routeName(method, _matchedRoute?.toString()),
  attach({ state }, _response, decision) {
    state.rateLimit = decision
  },
  headersSent: ({ res }) => res.headersSent,
  complete: ({ res }) => res.writableEnded,
  ended: ({ res }, done) => whenEnded(res, done),
  setHeader: ({ res }, name, value) => void res.setHeader(name, value),
  setStatus(context, status) {
    context.status = status
  },
  send(context, type, body) {
    context.res.setHeader('Content-Type', type)
    context.body = body
  },
}

/**
 * Koa middleware. The decision is on `ctx.state.rateLimit`; a refusal is answered with 429, an error of a key extractor
 * or of the store is thrown.
 *
 *     app.use(rateLimit('100/15m'))
 *
 * @throws HeadgateError for a policy or option that cannot be what it is
 */
export function rateLimit(
  what: RateLimitArgument<Context, Context>,
  options?: GuardOptions<Context, Context>,
): Middleware {
  const guard = guardOf(koa, what, options)
  // An async function would add a promise to those that Koa makes anyway.
  return (context, next) => {
    try {
      const admitted = guard.check(context, context)
      if (admitted === true) return next()
      return admitted === false ? refused : goOn(admitted, next)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

const refused = Promise.resolve()

async function goOn(admitted: Promise<boolean>, next: Next): Promise<void> {
  if (await admitted) await next()
}
