import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import Router from '@koa/router'
import express5 from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { rateLimit as forH3 } from '../../adapters/h3.ts'
import { rateLimit as forHono } from '../../adapters/hono.ts'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import {
  byIp,
  byRoute,
  combine,
  memoryStore,
  policy,
  RateLimiter,
  slidingWindow,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { statuses } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'

const warned = vi.spyOn(process, 'emitWarning')
beforeEach(() => {
  forgetWarnings()
  warned.mockReset().mockImplementation(() => undefined)
})
const running: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  forgetWarnings()
  for (const close of running.splice(0)) await close()
})

const codes = () => warned.mock.calls.map(([, options]) => (options as { code?: string } | undefined)?.code)

async function serve(listener: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(listener as never)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  running.push(() => new Promise((resolve) => server.close(resolve)))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const perRoute = { limit: 2, window: '1h', keys: combine(byIp(), byRoute()) }

describe.each([
  ['Express 4', express4],
  ['Express 5', express5],
])('%s', (_, express) => {
  test('byRoute in app.use finds no route, which gives one warning', async () => {
    const app = express().use(forExpress(perRoute))
    app.get(['/a', '/b'], (_request, response) => void response.send('ok'))
    const url = await serve(app)
    expect(await statuses(`${url}/a`, [{}, {}])).toEqual([200, 200])
    expect(await statuses(`${url}/b`, [{}])).toEqual([429]) // no quota of its own
    expect(codes()).toEqual(['HEADGATE_ROUTE'])
    expect(warned.mock.calls[0]?.[0]).toMatch(/app\.get\('\/users\/:id', limit, handler\)/)
  })

  test('byRoute on the routes is per route, and gives no warning', async () => {
    const app = express()
    const limit = forExpress(perRoute)
    for (const path of ['/a', '/b']) app.get(path, limit, (_request, response) => void response.send('ok'))
    const url = await serve(app)
    expect(await statuses(`${url}/a`, [{}, {}, {}])).toEqual([200, 200, 429])
    expect(await statuses(`${url}/b`, [{}])).toEqual([200])
    expect(warned).not.toHaveBeenCalled()
  })

  test.each([
    ['synchronous', () => memoryStore()],
    ['asynchronous', () => asyncStore(memoryStore())],
  ])('a middleware twice on one route gives one warning, on a store that is %s', async (_store, store) => {
    const limit = forExpress({ policies: '9/1h', store: store() })
    const app = express().use(limit)
    app.get('/', limit, (request, response) => void response.json(request.rateLimit?.remaining))
    const url = await serve(app)
    expect((await get(url)).body).toBe('7')
    await statuses(url, [{}, {}])
    expect(codes()).toEqual(['HEADGATE_TWICE'])
  })

  test('two middlewares on one route, also of one limiter, give no warning', async () => {
    const limiter = new RateLimiter({ policies: '9/1h' })
    const app = express().use(forExpress(limiter), forExpress('9/1m'))
    app.get('/', forExpress(limiter), (_request, response) => void response.send('ok'))
    await statuses(await serve(app), [{}, {}])
    expect(warned).not.toHaveBeenCalled()
  })
})

test("Express 4: the route '*' is a route", async () => {
  const app = express4()
  app.get('*', forExpress(perRoute), (_request, response) => void response.send('ok'))
  expect(await statuses(await serve(app), [{}])).toEqual([200])
  expect(warned).not.toHaveBeenCalled()
})

describe('Koa', () => {
  test('byRoute before the router finds no route, which gives one warning; in the router it does', async () => {
    for (const inside of [true, false]) {
      const app = new Koa()
      const router = new Router()
      if (inside) router.use(forKoa(perRoute))
      else app.use(forKoa(perRoute))
      for (const path of ['/a', '/b']) {
        router.get(path, (context) => {
          context.body = 'ok'
        })
      }
      const url = await serve(app.use(router.routes()).callback() as never)
      expect(await statuses(`${url}/a`, [{}, {}])).toEqual([200, 200])
      expect(await statuses(`${url}/b`, [{}])).toEqual([inside ? 200 : 429])
      expect(codes()).toEqual(inside ? [] : ['HEADGATE_ROUTE'])
    }
  })

  test('a middleware twice on one route gives one warning', async () => {
    const limit = forKoa('9/1h')
    const app = new Koa().use(limit).use(limit)
    app.use((context) => {
      context.body = 'ok'
    })
    await statuses(await serve(app.callback() as never), [{}, {}])
    expect(codes()).toEqual(['HEADGATE_TWICE'])
  })
})

test('Fastify: byRoute is per route for the whole app, and a 404 gives no warning', async () => {
  const app = fastify()
  await app.register(forFastify(perRoute))
  for (const path of ['/a', '/b', '/all/*']) app.get(path, async () => 'ok')
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  running.push(() => app.close())
  expect(await statuses(`${url}/a`, [{}, {}, {}])).toEqual([200, 200, 429])
  expect(await statuses(`${url}/b`, [{}])).toEqual([200])
  expect(await statuses(`${url}/all/x`, [{}])).toEqual([200])
  expect(await statuses(`${url}/nowhere`, [{}, {}, {}])).toEqual([404, 404, 429])
  expect(warned).not.toHaveBeenCalled()
})

test.each([
  [
    'Hono',
    () => {
      const app = new Hono().use(forHono(perRoute, { connInfo: getConnInfo }))
      for (const path of ['/a', '/b', '/all/*']) app.get(path, (context) => context.text('ok'))
      return getRequestListener(app.fetch, { overrideGlobalObjects: false })
    },
  ],
  [
    'h3',
    () => {
      const app = new H3({ silent: true }).use(forH3(perRoute))
      for (const path of ['/a', '/b', '/all/**']) app.get(path, () => 'ok')
      return toNodeHandler(app)
    },
  ],
])('%s: byRoute in app.use is per route, and a 404 gives no warning', async (_, listener) => {
  const url = await serve(listener() as never)
  expect(await statuses(`${url}/a`, [{}, {}, {}])).toEqual([200, 200, 429])
  expect(await statuses(`${url}/b`, [{}])).toEqual([200])
  expect(await statuses(`${url}/all/x`, [{}])).toEqual([200])
  expect(await statuses(`${url}/nowhere`, [{}, {}, {}])).toEqual([404, 404, 429])
  expect(warned).not.toHaveBeenCalled()
})

test.each([
  ['window', () => slidingWindow({ limit: 5, window: 60 }), '60'],
  ['window', () => tokenBucket({ limit: 5, window: 900 }), '900'],
  ['window', () => forExpress({ limit: 5, window: 60 }), '60'],
  ['per', () => smoothBursty({ rate: 5, per: 1 }), '1'],
  ['within', () => new RateLimiter({ policies: '5/1h', penalty: { after: 1, within: 60, ban: '1h' } }), '60'],
  ['ban', () => new RateLimiter({ policies: '5/1h', penalty: { after: 1, within: '1m', ban: [300] } }), '300'],
])('a %s below a second as a number gives one warning that says both ways to write it', (option, make, number) => {
  make()
  make()
  expect(codes()).toEqual(['HEADGATE_SECONDS'])
  const message = warned.mock.calls[0]?.[0]
  expect(message).toContain(`${option} is ${number} milliseconds`)
  expect(message).toContain(`'${number}s'`)
  expect(message).toContain(`'${number}ms'`)
})

test('durations that a program computes give one warning, not one for each number', async () => {
  const limiter = new RateLimiter({ policies: '5/1h' })
  for (let left = 1; left < 50; left++) await limiter.ban(`key ${left}`, left)
  for (let days = 1; days < 50; days++) await limiter.ban(`key ${days}`, days * 86_400)
  expect(codes()).toEqual(['HEADGATE_SECONDS'])
})

test('a window as text, or of a second or more, gives no warning', () => {
  policy('5/60ms')
  slidingWindow({ limit: 5, window: '60ms' })
  slidingWindow({ limit: 5, window: 1000 })
  smoothBursty({ rate: 5, per: '500ms' })
  expect(warned).not.toHaveBeenCalled()
})
