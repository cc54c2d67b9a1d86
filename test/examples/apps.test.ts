import { once } from 'node:events'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { toNodeHandler } from 'h3'
import { memoryStore } from 'headgate'
import { ManualClock } from 'headgate/testing'
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
import { customers, createApp as plans } from '../../examples/plans/app.ts'
import { createApp as sockets } from '../../examples/sockets/app.mjs'
import { createSender } from '../../examples/webhooks/app.mjs'
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

test('plans: the month is that of the calendar, search costs five units, and an upgrade keeps what was used', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 20))
  const app = plans(memoryStore({ clock: clock.now }))
  const ask = (path: string, key = 'key-of-ann') => request(app).get(path).set('x-api-key', key)
  const month = async () => (await ask('/usage')).body[1]
  const untilDecember = 11 * 86_400
  await ask('/users').expect(200).expect('ratelimit', `"1m";r=59;t=120, "month";r=999;t=${untilDecember}`)
  await ask('/search/').expect('ratelimit', /"1m";r=54;.*"month";r=994;/)
  expect(await month()).toEqual({ name: 'month', used: 6, limit: 1000, resets: '2026-12-01T00:00:00.000Z' })
  for (let n = 0; n < 99; n++) {
    clock.advance('1m')
    for (let m = 0; m < 2; m++) await ask('/search').expect(200)
  }
  const waits = 86_400 * 11 - 99 * 60
  await ask('/search').expect(429).expect('retry-after', `${waits}`)
  customers.set('key-of-ann', { id: 'ann', plan: 'pro' })
  onTestFinished(() => void customers.set('key-of-ann', { id: 'ann', plan: 'free' }))
  await ask('/search').expect(200)
  expect(await month()).toMatchObject({ used: 1001, limit: 50_000 })
})

test('plans: a caller without the key of a customer has the plan of a guest, by address', async () => {
  const app = plans()
  for (let n = 0; n < 3; n++) await request(app).get('/search').set('x-api-key', `guess-${n}`).expect(200)
  for (let n = 3; n < 8; n++) await request(app).get('/usage').set('x-api-key', `guess-${n}`).expect(401)
  for (const path of ['/search', '/usage']) await request(app).get(path).set('x-api-key', 'guess-8').expect(429)
  for (const path of ['/search', '/usage']) await request(app).get(path).set('x-api-key', 'key-of-bob').expect(200)
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

// On a crowded machine, a request may arrive after one that was sent 100 ms later.
test('webhooks: a payment passes the orders that wait for its host, and a host with a pace of its own waits for none', {
  retry: 2,
  timeout: 10_000,
}, async () => {
  const heard: string[] = []
  const hosts = ['usual', 'own'].map((name) =>
    createServer((message, response) => {
      heard.push(`${name} ${message.headers['idempotency-key']}`)
      message.resume().on('end', () => response.writeHead(204).end())
    }).listen(0, '127.0.0.1'),
  )
  onTestFinished(() => hosts.forEach((host) => void host.close().closeAllConnections()))
  await Promise.all(hosts.map((host) => once(host, 'listening')))
  const [usual, own] = hosts.map((host) => `127.0.0.1:${(host.address() as { port: number }).port}`)
  const deliver = createSender(memoryStore(), { [`${own}`]: '1000/1s' })
  const send = (host: string | undefined, id: string, event = 'order') =>
    deliver({ id, url: `http://${host}/hook`, event, data: { id } })
  const orders = [usual, own].flatMap((host) => ['a', 'b', 'c'].map((id) => send(host, id)))
  expect(await Promise.all([...orders, send(usual, 'paid', 'payment')])).toEqual(Array(7).fill(204))
  const at = (host: string) => heard.filter((each) => each.startsWith(host))
  expect(at('usual')).toEqual(['usual a', 'usual paid', 'usual b', 'usual c'])
  expect(at('own').toSorted()).toEqual(['own a', 'own b', 'own c'])
  expect(heard.at(-1), 'the other host does not wait').toBe('usual c')
})

test('webhooks: a host cannot send its webhooks on to another host', async () => {
  const heard: (string | undefined)[] = []
  const host = createServer((message, response) => {
    heard.push(message.url)
    response.writeHead(307, { Location: '/other' }).end()
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void host.close().closeAllConnections())
  await once(host, 'listening')
  const { port } = host.address() as { port: number }
  const deliver = createSender(memoryStore())
  expect(await deliver({ id: 'a', url: `http://127.0.0.1:${port}/hook`, event: 'order', data: {} })).toBe(307)
  expect(heard).toEqual(['/hook'])
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
