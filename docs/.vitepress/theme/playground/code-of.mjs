/** The code that enforces a policy, for each framework. */
export function codeOf(text) {
  const policy = `'${text.replaceAll("'", '')}'`
  return {
    Express: `import express from 'express'
import { rateLimit } from 'headgate/express'

const app = express()
app.use(rateLimit(${policy}))
app.get('/', (request, response) => response.send('hello'))
app.listen(3000)`,
    Fastify: `import fastify from 'fastify'
import { rateLimit } from 'headgate/fastify'

const app = fastify()
await app.register(rateLimit(${policy}))
app.get('/', async () => 'hello')
await app.listen({ port: 3000 })`,
    Koa: `import Koa from 'koa'
import { rateLimit } from 'headgate/koa'

const app = new Koa()
app.use(rateLimit(${policy}))
app.use((context) => {
  context.body = 'hello'
})
app.listen(3000)`,
    Hono: `import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { Hono } from 'hono'
import { rateLimit } from 'headgate/hono'

const app = new Hono()
app.use(rateLimit(${policy}, { connInfo: getConnInfo }))
app.get('/', (context) => context.text('hello'))
serve({ fetch: app.fetch, port: 3000 })`,
    'No framework': `import { RateLimiter } from 'headgate'

const limiter = new RateLimiter({ policies: ${policy} })
const { allowed, retryAfter } = await limiter.consume('client')`,
  }
}
