import { getConnInfo } from '@hono/node-server/conninfo'
import { createGuard, routeName } from 'headgate/http'
import { Hono } from 'hono'
import { rateLimiter as honoPeer } from 'hono-rate-limiter'

/* A fetch handler: Hono, whose `fetch` takes a Request and gives a Response. */

/** Like Hono's getConnInfo, without the object. */
const addressOf = ({ env }) => env.incoming.socket.remoteAddress

/** The guard's table for a Hono context on Node, which the package has no adapter for. The context is request and response, as in Koa. */
const hono = {
  address: addressOf,
  peer: addressOf,
  trustsProxy: () => false,
  param: ({ req }, name) => req.param(name),
  // Not `req.header`, which first copies all headers into a Headers object.
  header: ({ env }, name) => env.incoming.headers[name]?.toString(),
  route: ({ req }) => routeName(req.method, undefined),
  attach: (context, _response, decision) => context.set('rateLimit', decision),
  headersSent: ({ finalized }) => finalized,
  complete: ({ finalized }) => finalized,
  ended() {
    throw new Error('a fetch handler cannot see when its response has ended')
  },
  setHeader: (context, name, value) => context.header(name, value),
  setStatus: (context, status) => context.status(status),
  send(context, type, body) {
    context.header('Content-Type', type)
    context.res = context.body(body)
  },
}

export function headgate(limit, window) {
  const guard = createGuard(hono, { limit, window })
  return async (context, next) => {
    const admitted = guard.check(context, context)
    if (admitted === true || (await admitted)) await next()
  }
}

export function honoRateLimiter(limit, windowMs) {
  return honoPeer({ limit, windowMs, keyGenerator: (context) => getConnInfo(context).remote.address ?? 'unknown' })
}

export function honoApp(middleware) {
  const app = new Hono()
  if (middleware) app.use(middleware)
  app.get('/', (context) => context.text('hello'))
  return app
}
