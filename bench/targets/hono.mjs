import { getConnInfo } from '@hono/node-server/conninfo'
import { Hono } from 'hono'
import { rateLimiter as honoPeer } from 'hono-rate-limiter'
import { createGuard, routeName } from '../../dist/src/http/index.js'

/* A fetch handler: Hono, whose `fetch` takes a Request and gives a Response. */

/** As its own getConnInfo has it, without the object. */
const addressOf = ({ env }) => env.incoming.socket.remoteAddress

/** The guard's view of a Hono context on Node, for which there is no adapter in the package; as of Koa, it is both. */
const hono = {
  address: addressOf,
  peer: addressOf,
  trustsProxy: () => false,
  param: ({ req }, name) => req.param(name),
  // Not `req.header`, for which all headers are copied into a Headers first.
  header: ({ env }, name) => env.incoming.headers[name]?.toString(),
  route: ({ req }) => routeName(req.method, undefined),
  attach: (context, _response, decision) => context.set('rateLimit', decision),
  headersSent: ({ finalized }) => finalized,
  complete: ({ finalized }) => finalized,
  ended() {
    throw new Error('a fetch handler is not told when its response has ended')
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
