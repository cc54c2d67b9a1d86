import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express5 from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import Koa from 'koa'
import { afterEach, describe, expect, test } from 'vitest'
import { expressFramework, rateLimit as forExpress } from '../../adapters/express.ts'
import { fastifyFramework } from '../../adapters/fastify/index.ts'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import { createGuard } from '../../src/http.ts'
import { fixedWindow, type HeadersOption } from '../../src/index.ts'
import { stillStore } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close()
})

async function serve(listener: unknown): Promise<string> {
  const server = createServer(listener as never).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Serves an app with several limiters on one route, whose handler throws a 418. */
type Start = (limits: readonly object[]) => Promise<string>

async function startExpress(express: typeof express5, limits: readonly object[]): Promise<string> {
  const app = express()
  for (const limit of limits) app.use(forExpress(limit as never))
  app.use(() => {
    throw Object.assign(new Error('teapot'), { status: 418 })
  })
  app.use((error: { status: number }, _request: unknown, response: express5.Response, _next: unknown) => {
    response.status(error.status).end()
  })
  return serve(app)
}

const frameworks: Record<string, Start> = {
  'Express 4': (limits) => startExpress(express4, limits),
  'Express 5': (limits) => startExpress(express5, limits),
  async Koa(limits) {
    const app = new Koa()
    app.silent = true
    for (const limit of limits) app.use(forKoa(limit as never))
    app.use((context) => {
      context.set('X-Page', '1')
      context.throw(418)
    })
    return serve(app.callback())
  },
  Fastify: startFastify,
}

async function startFastify(limits: readonly object[]): Promise<string> {
  const app = fastify()
  app.decorateRequest('rateLimit', null as never)
  for (const limit of limits) {
    const guard = createGuard(fastifyFramework, limit as never)
    app.addHook('onRequest', (request, reply, next) => guard.handle(request, reply, next as () => void))
  }
  app.get('/', async () => {
    throw Object.assign(new Error('teapot'), { statusCode: 418 })
  })
  closers.push(() => void app.close())
  return app.listen({ host: '127.0.0.1', port: 0 })
}

const { store } = stillStore()
let names = 0
const limited = (name: string, limit: number, headers: HeadersOption) => ({
  policies: fixedWindow({ name, limit, window: '1h' }),
  name: `limiter ${++names}`,
  store,
  headers,
})

describe.each(Object.entries(frameworks))('%s', (_name, start) => {
  test('the lists of two limiters are joined, also on an error', async () => {
    for (const dialect of ['draft-8', 'draft-11'] as const) {
      const url = await start([limited('burst', 5, dialect), limited('daily', 100, dialect)])
      const { status, headers } = await get(url)
      expect([status, headers['ratelimit-policy'], headers.ratelimit]).toEqual([
        418,
        '"burst";q=5;w=3600, "daily";q=100;w=3600',
        '"burst";r=4;t=3600, "daily";r=99;t=3600',
      ])
      expect(headers['x-page']).toBe(undefined)
    }
  })

  test('a Dictionary is not joined, its policies are; other forms are never mixed', async () => {
    const older = await get(await start([limited('a', 5, 'draft-7'), limited('b', 100, 'draft-7')]))
    expect(older.headers['ratelimit-policy']).toBe('5;w=3600, 100;w=3600')
    expect(older.headers.ratelimit).toBe('limit=100, remaining=99, reset=3600')
    const mixed = await get(await start([limited('a', 5, 'draft-7'), limited('b', 100, 'draft-8')]))
    expect(mixed.headers['ratelimit-policy']).toBe('"b";q=100;w=3600')
    expect(mixed.headers.ratelimit).toBe('"b";r=99;t=3600')
  })

  test('of two dialects of one limiter, the later one writes a field that both have', async () => {
    const { headers } = await get(await start([limited('a', 5, ['draft-8', 'draft-11', 'legacy'])]))
    expect(headers['ratelimit-policy']).toBe('"a";q=5;w=3600')
    expect(headers.ratelimit).toBe('"a";r=4;t=3600')
    expect(headers['x-ratelimit-remaining']).toBe('4')
  })
})

test('a framework without a way to read a field overwrites it', async () => {
  const { responseHeader: _none, ...framework } = expressFramework
  const app = express5()
  for (const limit of [limited('a', 5, 'draft-8'), limited('b', 9, 'draft-8')]) {
    const guard = createGuard(framework, limit)
    app.use((request, response, next) => guard.handle(request, response, next))
  }
  expect((await get(await serve(app))).headers.ratelimit).toBe('"b";r=8;t=3600')
})

test('Koa: an error keeps its own fields, and one that refuse throws has Retry-After', async () => {
  const app = new Koa()
  app.silent = true
  const shared = Object.assign(new Error('again'), { status: 503 })
  const refuse = (_decision: unknown, context: Koa.Context) =>
    context.throw(429, 'slow', { headers: { 'X-Own': 'yes' } })
  app.use(forKoa({ ...limited('a', 2, 'legacy'), refuse } as never))
  app.use((context) => {
    if (context.path === '/shared') throw shared
    throw 'a text'
  })
  const url = await serve(app.callback())
  expect((await get(url)).headers['x-ratelimit-remaining']).toBe(undefined)
  expect((await get(`${url}/shared`)).headers['x-ratelimit-remaining']).toBe('0')
  expect(shared).not.toHaveProperty('headers')
  const { status, headers } = await get(url)
  expect([status, headers['x-own'], headers['retry-after'], headers['x-ratelimit-remaining']]).toEqual([
    429,
    'yes',
    '3600',
    '0',
  ])
})
