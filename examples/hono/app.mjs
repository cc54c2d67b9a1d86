import { byHeader, byIp, combine, RateLimiter } from 'headgate'
import { rateLimit } from 'headgate/hono'
import { Hono } from 'hono'

/** @param connInfo `getConnInfo` of the runtime */
export function createApp(connInfo) {
  const app = new Hono()

  // Every route: 100 requests in 15 minutes for each client address.
  app.use(rateLimit('100/15m', { connInfo }))

  // A limit of its own, by address and API key, whose limiter other code can ask and reset.
  const search = new RateLimiter({ name: 'search', policies: '3/1m sliding-log' })
  const keys = combine(byIp(), byHeader('x-api-key'))
  app.get('/search', rateLimit({ limiter: search, keys }, { connInfo }), (c) => {
    return c.json({ found: [], left: c.var.rateLimit.remaining })
  })

  app.get('/', (c) => c.text('Hello.\n'))
  return app
}
