import { getConnInfo } from '@hono/node-server/conninfo'
import { type RateLimitVariables, rateLimit } from 'headgate/hono'
import { Hono } from 'hono'
import { limits } from './limits.ts'

export const app = new Hono<{ Variables: RateLimitVariables }>()
app.use(rateLimit(limits, { connInfo: getConnInfo, trustedProxies: 1 })) // one proxy in front
app.get('/', (c) => c.json({ left: c.var.rateLimit.remaining }))
