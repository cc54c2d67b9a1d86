import { once } from 'node:events'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { toNodeHandler } from 'h3'
import request from 'supertest'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { createApp as bytes } from '../../examples/bytes/app.mjs'
import { createApp as demo } from '../../examples/demo/app.mjs'
import { createApp as express } from '../../examples/express/app.mjs'
import { createApp as fastify } from '../../examples/fastify/app.mjs'
import { createHandler as fetchHandler } from '../../examples/fetch/app.mjs'
import { createApp as h3 } from '../../examples/h3/app.mjs'
import { createApp as hono } from '../../examples/hono/app.mjs'
import { createApp as koa } from '../../examples/koa/app.mjs'
import { createListener as node } from '../../examples/node/app.mjs'
import { createApp as plans } from '../../examples/plans/app.mjs'
import { createApp as sockets } from '../../examples/sockets/app.mjs'
import { headgateWarnings } from '../support/headgate-warnings.ts'

afterAll(async () => expect(await headgateWarnings(), 'no false alarm').toEqual([]))

test('express: a global limit, and two limits at once on one route', async () => {
  const app = express()
  await request(app).get('/').expect(200).expect('x-ratelimit-limit', '100')
  await request(app)
    .get('/search')
    .expect(200, { found: [], left: 9 })
    .expect('ratelimit-policy', '"burst";q=10;w=1, "daily";q=1000;w=86400')
})

test('koa: a refusal in the words of the application', async () => {
  const app = koa().callback()
  for (let left = 99; left >= 0; left--) await request(app).get('/').expect(200, { hello: 'world', left })
  const { body } = await request(app).get('/').expect(429)
  expect(body).toEqual({ sorry: expect.stringMatching(/^Come back in \d+ s\.$/) })
})

test('fastify: a limit for everything, one route with its own, one without', async () => {
  const app = await fastify()
  await app.ready()
  await request(app.server).get('/').expect(200, { hello: 'world', left: 99 })
  for (const status of [200, 200, 200, 200, 200, 429]) await request(app.server).post('/login').expect(status)
  expect((await request(app.server).get('/health').expect(200)).headers).not.toHaveProperty('x-ratelimit-limit')
  await app.close()
})

test('fetch: a limit by hand, and a wrapped handler whose failures count', async () => {
  const handler = fetchHandler(() => '192.0.2.1')
  const ask = (path: string, init?: RequestInit) => handler(new Request(`http://a${path}`, init))
  expect(await (await ask('/')).json()).toEqual({ hello: 'world', left: 99 })
  const login = (password: string) => ask('/login', { method: 'POST', body: JSON.stringify({ password }) })
  const seen: number[] = []
  for (const password of ['secret', ...Array(5).fill('guess'), 'secret']) seen.push((await login(password)).status)
  expect(seen).toEqual([204, 401, 401, 401, 401, 401, 429])
})

test('hono: a global limit, and one by address and key', async () => {
  const app = createServer(getRequestListener(hono(getConnInfo).fetch, { overrideGlobalObjects: false }))
  await request(app).get('/').expect(200, 'Hello.\n').expect('x-ratelimit-limit', '100')
  for (const left of [2, 1, 0]) await request(app).get('/search').expect(200, { found: [], left })
  await request(app).get('/search').expect(429).expect('x-ratelimit-limit', '3')
  await request(app).get('/search').set('x-api-key', 'ann').expect(200)
})

test('h3: a global limit, and one route with its own, refused in the words of the application', async () => {
  const app = createServer(toNodeHandler(h3()))
  await request(app).get('/').expect(200, { hello: 'world', left: 99 })
  for (const left of ['2', '1', '0'])
    await request(app).get('/search').expect(200).expect('x-ratelimit-remaining', left)
  const { body } = await request(app).get('/search').expect(429)
  expect(body).toEqual({ sorry: expect.stringMatching(/^Come back in \d+ s\.$/) })
})

test('node: a global limit, and one for uploads', async () => {
  const app = createServer(node())
  await request(app).get('/').expect(200, 'Hello. 99 left.\n')
  for (const status of [200, 200, 429]) await request(app).put('/').expect(status)
})

test('plans: each key has its plan, also when that changes; guesses are limited by address', async () => {
  const app = plans()
  const left = async (key: string) => (await request(app).get('/').set('x-api-key', key)).body.left.quota
  expect(await left('key-of-ann')).toBe(9999)
  expect(await left('key-of-bob')).toBe(4)
  expect(await left('key-of-ann')).toBe(9998)
  await request(app).post('/plan/pro').set('x-api-key', 'key-of-bob').expect(204)
  expect(await left('key-of-bob')).toBe(9997)
  expect((await request(app).get('/admin/left/key-of-bob').expect(200)).body.quota).toBe(9997)
  await request(app).get('/admin/left/nobody').expect(404)
  const guesses = [...Array.from({ length: 10 }, () => 401), 429, 429, 429, 429, 403, 403]
  for (const [n, status] of guesses.entries()) {
    await request(app).get('/').set('x-api-key', `guess-${n}`).expect(status)
  }
})

test('bytes: each response costs as many bytes as it has', async () => {
  const app = bytes()
  const left = async (size: number) => Number((await request(app).get(`/${size}`)).headers['x-ratelimit-remaining'])
  const before = await left(400_000)
  const after = await left(100)
  // At most a minute's tokens come back meanwhile. The head is a few hundred bytes.
  expect(before - after).toBeGreaterThan(400_000 - 1024 - 1024 * 17)
  expect(before - after).toBeLessThan(401_000)
  await left(800_000)
  await request(app).get('/1').expect(429)
})

test('sockets: 5 messages at once, 4 connections at once', async () => {
  const server = sockets().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const clients = Array.from({ length: 5 }, () => new WebSocket(`ws://127.0.0.1:${port}`))
  onTestFinished(() => {
    for (const client of clients) client.terminate()
    server.close()
  })
  const outcome = (client: WebSocket) =>
    new Promise<string>((resolve) => {
      client.on('open', () => resolve('open'))
      client.on('error', ({ message }) => resolve(message))
    })
  const outcomes = await Promise.all(clients.map(outcome))
  expect(outcomes.sort()).toEqual(['Unexpected server response: 429', 'open', 'open', 'open', 'open'])
  const member = clients.find(({ readyState }) => readyState === WebSocket.OPEN) as WebSocket
  const heard: string[] = []
  const all = new Promise<void>((resolve) => {
    member.on('message', (data) => {
      if (heard.push(data.toString()) === 6) resolve()
    })
  })
  for (let n = 1; n <= 6; n++) member.send(`${n}`)
  await all
  const notice = JSON.parse(heard.pop() as string)
  expect([heard, notice.error, notice.policy]).toEqual([['1', '2', '3', '4', '5'], 'too_many_messages', 'messages'])
})

test.each([
  ['/', 10],
  ['/burst', 5],
  ['/login', 3],
  ['/key', 5],
])('demo: %s admits %i requests and refuses the next', async (path, limit) => {
  const app = demo()
  for (let n = 0; n < limit; n++) await request(app).get(path).expect(200)
  await request(app).get(path).expect(429)
})
