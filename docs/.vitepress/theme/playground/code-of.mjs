import { isQuota } from '../../../../lab/engine/is-quota.mjs'

/** The code that enforces a policy, for each framework. */
export function codeOf(text) {
  const written = `'${text.replaceAll("'", '')}'`
  const policy = isQuota(text) ? `quota(${written})` : written
  const limits = isQuota(text) ? `{ policies: ${policy} }` : policy
  const calendar = isQuota(text) ? "import { quota } from 'headgate/calendar'\n" : ''
  return {
    Express: `import express from 'express'
${calendar}import { rateLimit } from 'headgate/express'

const app = express()
app.use(rateLimit(${limits}))
app.get('/', (request, response) => response.send('hello'))
app.listen(3000)`,
    Fastify: `import fastify from 'fastify'
${calendar}import { rateLimit } from 'headgate/fastify'

const app = fastify()
await app.register(rateLimit(${limits}))
app.get('/', async () => 'hello')
await app.listen({ port: 3000 })`,
    Koa: `import Koa from 'koa'
${calendar}import { rateLimit } from 'headgate/koa'

const app = new Koa()
app.use(rateLimit(${limits}))
app.use((context) => {
  context.body = 'hello'
})
app.listen(3000)`,
    Hono: `import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { Hono } from 'hono'
${calendar}import { rateLimit } from 'headgate/hono'

const app = new Hono()
app.use(rateLimit(${limits}, { connInfo: getConnInfo }))
app.get('/', (context) => context.text('hello'))
serve({ fetch: app.fetch, port: 3000 })`,
    'No framework': `import { RateLimiter } from 'headgate'
${calendar}
const limiter = new RateLimiter({ policies: ${policy} })
const { allowed, retryAfter } = await limiter.consume('client')`,
  }
}
