import { getConnInfo } from '@hono/node-server/conninfo'
import { rateLimit } from 'headgate/hono'
import { Hono } from 'hono'
import { rateLimiter as honoPeer } from 'hono-rate-limiter'

/* A fetch handler: Hono, whose `fetch` takes a Request and gives a Response. */

export function headgate(limit, window) {
  return rateLimit({ limit, window }, { connInfo: getConnInfo })
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
