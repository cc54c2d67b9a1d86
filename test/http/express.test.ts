import { fileURLToPath } from 'node:url'
import express, { Router } from 'express'
import request from 'supertest'
import { expect, expectTypeOf, test } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { byIp, byParam, byRoute, combine, type RequestDecision } from '../../src/index.ts'

/** What only Express has: routers mounted on paths, and responses that begin before a middleware runs. */

test('byRoute: neither letter case nor the parameters of a mount path make a new key', async () => {
  const app = express()
  const byBoth = () => rateLimit({ limit: 1, window: '1h', keys: combine(byIp(), byRoute()) })
  app.use('/api', byBoth(), (_request, response) => void response.send('api'))
  app.use('/u/:id', byBoth(), (_request, response) => void response.send('user'))
  const router = Router()
  router.get('/:page', byBoth(), (_request, response) => void response.send('page'))
  app.use('/book/:id', router)
  await request(app).get('/api').expect(200)
  await request(app).get('/API').expect(429)
  await request(app).get('/aPi/x').expect(429)
  await request(app).get('/u/1').expect(200)
  await request(app).get('/u/2').expect(429)
  await request(app).get('/book/1/2').expect(200)
  await request(app).get('/book/3/4').expect(429)
  await request(app).get('/BOOK/1/2').expect(429)
})

test('a refusal after the response has begun ends the response', async () => {
  const app = express()
  app.use((_request, response, next) => {
    response.write('early')
    next()
  })
  app.use(rateLimit('1/1h'))
  app.use((_request, response) => void response.end('late'))
  await request(app).get('/').expect(200)
  await expect(request(app).get('/')).rejects.toThrow(/aborted|hang up/)
})

test('a refusal has none of the fields with which the application has described another body', async () => {
  const app = express()
  app.use((_request, response, next) => {
    response.set({ 'Content-Length': '3', 'Content-Encoding': 'gzip', ETag: '"a"', 'X-Own': 'kept' })
    next()
  })
  app.use(rateLimit({ limit: 0, window: '1h' }))
  const { headers, text } = await request(app).get('/').expect(429)
  expect(Number(headers['content-length'])).toBe(text.length)
  expect(headers).toMatchObject({ 'x-own': 'kept' })
  for (const name of ['content-encoding', 'etag', 'transfer-encoding']) expect(headers).not.toHaveProperty(name)
})

test('a refusal has the length of its body', async () => {
  const app = express().use(rateLimit({ limit: 0, window: '1h' }))
  const { headers, text } = await request(app).get('/').expect(429)
  expect(Number(headers['content-length'])).toBe(text.length)
})

test('a request that refuse admits gets back the fields that the application has set before the limit', async () => {
  for (const own of [{ 'Cache-Control': 'private', 'Retry-After': '7' }, {}] as Record<string, string>[]) {
    const app = express()
    app.use((_request, response, next) => void next(response.set(own) && undefined))
    app.use(rateLimit({ limit: 0, window: '1h', refuse: async () => true }))
    app.use((_request, response) => void response.send('ok'))
    const { headers } = await request(app).get('/').expect(200)
    expect([headers['cache-control'], headers['retry-after']]).toEqual([own['Cache-Control'], own['Retry-After']])
  }
})

test('a route keeps the types of its parameters', async () => {
  const app = express()
  app.get('/users/:id', rateLimit('9/1h'), (request, response) => {
    const id: string = request.params.id
    response.status(id === '7' && request.rateLimit.allowed ? 200 : 500).end()
  })
  await request(app).get('/users/7').expect(200)
})

test('byParam: a wildcard is the path, and not its segments', async () => {
  const app = express()
  const limit = rateLimit({ policies: '1/1h', keys: byParam('path') })
  app.get('/files/*path', limit, (request, response) => void response.json(request.rateLimit.key))
  await request(app).get('/files/a/b').expect(200, '"a/b"')
  await request(app).get('/files/a,b').expect(200, '"a,b"')
})

test('a key of combine joins its parts, and a part cannot look like two', async () => {
  const app = express()
  const byTenant = (request: express.Request) => request.get('x-tenant')
  const limit = rateLimit({ policies: '9/1h', keys: combine(byRoute(), byTenant) })
  app.get('/', limit, (request, response) => void response.json(request.rateLimit.key))
  await request(app).get('/').set('x-tenant', 'a|b').expect('"GET /|a\\\\|b"')
})

test('the decision has its type, without an assertion', async () => {
  const app = express()
  const limit = rateLimit({ limit: 10, window: '1h', cost: 5, settle: true, keys: () => 'ann' })
  app.get('/', limit, async (request, response) => {
    expectTypeOf(request.rateLimit).toEqualTypeOf<RequestDecision>()
    await request.rateLimit.settle(2)
    response.end()
  })
  await request(app).get('/').expect(200)
  expect((await limit.limiter.peek('ann')).remaining).toBe(8)
})

test('a client cannot hide a failure that the application sends as a file by asking for a part of the file', async () => {
  const app = express()
  app.use(rateLimit({ policies: '2/1h', count: 'failures' }))
  app.get('/', (_request, response) => {
    response.status(401).sendFile(fileURLToPath(import.meta.url))
  })
  const statuses: number[] = []
  for (let n = 0; n < 4; n++) statuses.push((await request(app).get('/').set('range', 'bytes=0-9')).status)
  expect(statuses).toEqual([206, 206, 429, 429])
})
