import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createApp as bytes } from '../../examples/bytes/app.mjs'
import { createApp as demo } from '../../examples/demo/app.mjs'
import { createApp as express } from '../../examples/express/app.mjs'
import { createApp as fastify } from '../../examples/fastify/app.mjs'
import { createApp as koa } from '../../examples/koa/app.mjs'
import { createApp as plans } from '../../examples/plans/app.mjs'
import { get } from '../support/frameworks.ts'

let server: Server
afterEach(() => {
  server?.close()
  server?.closeAllConnections()
})

async function serve(handler: Parameters<typeof createServer>[1]): Promise<string> {
  server = createServer(handler as never)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('express: a global limit, and two limits at once on one route', async () => {
  const url = await serve(express())
  expect((await get(url)).headers['x-ratelimit-limit']).toBe('100')
  const { headers, body } = await get(`${url}/search`)
  expect(JSON.parse(body)).toEqual({ found: [], left: 9 })
  expect(headers['ratelimit-policy']).toBe('"burst";q=10;w=1, "daily";q=1000;w=86400')
})

test('koa: a refusal in one’s own words', async () => {
  const url = await serve(koa().callback())
  for (let left = 99; left >= 0; left--) expect(JSON.parse((await get(url)).body)).toEqual({ hello: 'world', left })
  const { status, body } = await get(url)
  expect([status, body]).toEqual([429, expect.stringMatching(/^{"sorry":"Come back in \d+ s\."}$/)])
})

test('fastify: a limit for everything, one route with its own, one without', async () => {
  const app = await fastify()
  expect((await app.inject('/')).json()).toEqual({ hello: 'world', left: 99 })
  const logins = []
  for (let n = 0; n < 6; n++) logins.push((await app.inject({ method: 'POST', url: '/login' })).statusCode)
  expect(logins).toEqual([200, 200, 200, 200, 200, 429])
  expect((await app.inject('/health')).headers['x-ratelimit-limit']).toBeUndefined()
  await app.close()
})

test('plans: each key by its plan, also when that changes; guesses by address', async () => {
  const url = await serve(plans())
  const left = async (key: string) => JSON.parse((await get(url, { 'x-api-key': key })).body).left.quota
  expect(await left('key-of-ann')).toBe(9999)
  expect(await left('key-of-bob')).toBe(4)
  expect(await left('key-of-ann')).toBe(9998)
  await fetch(`${url}/plan/pro`, { method: 'POST', headers: { 'x-api-key': 'key-of-bob' } })
  expect(await left('key-of-bob')).toBe(9997)
  const guesses = []
  for (let n = 0; n < 16; n++) guesses.push((await get(url, { 'x-api-key': `guess-${n}` })).status)
  expect(guesses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429, 429, 429, 403, 403])
})

test('bytes: each response costs what it was long', async () => {
  const url = await serve(bytes())
  const left = async (size: number) => Number((await get(`${url}/${size}`)).headers['x-ratelimit-remaining'])
  const before = await left(400_000)
  const after = await left(100)
  // A minute's worth of tokens at most comes back meanwhile; the head is a few hundred bytes.
  expect(before - after).toBeGreaterThan(400_000 - 1024 - 1024 * 17)
  expect(before - after).toBeLessThan(401_000)
  await left(800_000)
  expect((await get(`${url}/1`)).status).toBe(429)
})

test('demo: every route answers and refuses', async () => {
  const url = await serve(demo())
  for (const [path, limit] of [
    ['/', 10],
    ['/burst', 5],
    ['/login', 3],
    ['/key', 5],
  ] as const) {
    const statuses = []
    for (let n = 0; n <= limit; n++) statuses.push((await get(url + path)).status)
    expect(statuses).toEqual([...Array.from({ length: limit }, () => 200), 429])
  }
})
