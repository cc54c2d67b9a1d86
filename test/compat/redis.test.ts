/* The modules on a real Redis, and with stores of others, each beside the package that it stands in for. */
import { createServer } from 'node:http'
import fastifyOriginal from '@fastify/rate-limit'
import express from 'express'
import expressOriginal from 'express-rate-limit'
import fastify, { type FastifyPluginAsync } from 'fastify'
import { Redis } from 'ioredis'
import Koa, { type Middleware } from 'koa'
import original from 'koa-ratelimit'
import { MemcachedStore } from 'rate-limit-memcached'
import { RedisStore } from 'rate-limit-redis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import expressCompat from '../../adapters/compat/express-rate-limit.ts'
import fastifyCompat, { type RateLimitPluginOptions } from '../../adapters/compat/fastify-rate-limit.ts'
import { type MiddlewareOptions, ratelimit } from '../../adapters/compat/koa-ratelimit.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { get, serve } from '../support/frameworks.ts'
import { startMemcached } from '../support/memcached-server.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { startProxy } from '../support/tcp-proxy.ts'

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, '127.0.0.1')
})
afterAll(async () => {
  await client.quit()
  await server.stop()
})
beforeEach(() => client.flushall())

/** Seconds until a time in the epoch, or the seconds themselves, to the next ten. */
function rounded(value: unknown): number {
  const seconds = Number(value)
  return Math.round((seconds > 1e6 ? seconds - Date.now() / 1000 : seconds) / 10) * 10
}

describe('koa-ratelimit', () => {
  async function play(
    module: (options?: MiddlewareOptions) => Middleware,
    max: number,
    off: object = {},
  ): Promise<unknown[]> {
    const answers: unknown[] = []
    const app = new Koa()
    app.on('error', (error) => answers.push(error.message))
    app.use(module({ driver: 'redis', db: client, max, duration: 60_000, ...off }))
    app.use((context) => {
      context.body = 'hello'
    })
    const { url, close } = await serve(createServer(app.callback()))
    for (let count = 0; count < max + 2; count++) {
      const { status, headers } = await get(url)
      const { 'x-ratelimit-reset': reset, 'retry-after': after = 0, 'x-ratelimit-remaining': left } = headers
      answers.push([status, left, headers['x-ratelimit-limit'], rounded(reset), rounded(after)])
    }
    await close()
    return answers
  }

  test.each([1, 3])('keeps a log that admits %d', async (max) => {
    const expected = await play(original as never, max)
    await client.flushall()
    expect(await play(ratelimit, max)).toEqual(expected)
    expect(await client.keys('limit:*')).toHaveLength(1)
  })

  const off = ['max', 'duration'].flatMap((name) =>
    [undefined, null, 0, '', Number.NaN].map((value) => ({ [name]: value })),
  )

  test.each(off)('%o is as in the original', async (each) => {
    const expected = await play(original as never, 1, each)
    await client.flushall()
    expect(await play(ratelimit, 1, each)).toEqual(expected)
  })
})

test.each(['', 'é ü', 'a{b}', 'x'.repeat(300)])(
  'the namespace %j of koa-ratelimit counts in Redis',
  async (namespace) => {
    const statuses: number[] = []
    for (const each of [namespace, `${namespace}y`]) {
      const app = new Koa()
      app.use(ratelimit({ db: client, max: 1, duration: 60_000, namespace: each }))
      app.use((context) => {
        context.body = 'hello'
      })
      const { url, close } = await serve(createServer(app.callback()))
      statuses.push((await get(url)).status, (await get(url)).status)
      await close()
    }
    expect(statuses).toEqual([200, 429, 200, 429])
  },
)

describe('@fastify/rate-limit', () => {
  async function play(module: FastifyPluginAsync<RateLimitPluginOptions>): Promise<unknown[]> {
    const app = fastify()
    await app.register(module, { max: 2, timeWindow: '1 minute', redis: client, nameSpace: 'mine-' })
    app.get('/', async () => 'hello')
    app.get('/own', { config: { rateLimit: { max: 1 } } as object }, async () => 'hello')
    const answers: unknown[] = []
    for (const url of ['/', '/', '/', '/own', '/own', '/']) {
      const { statusCode, headers } = await app.inject(url)
      const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']
      answers.push([statusCode, ...names.map((name) => headers[name])])
    }
    await app.close()
    return answers
  }

  test('counts in Redis, for each route with a limit of its own', async () => {
    const expected = await play(fastifyOriginal as unknown as FastifyPluginAsync<RateLimitPluginOptions>)
    const keys = (await client.keys('*')).sort()
    await client.flushall()
    expect(await play(fastifyCompat)).toEqual(expected)
    expect((await client.keys('*')).sort()).toEqual(keys)
  })

  type Plugin = FastifyPluginAsync<RateLimitPluginOptions>

  /** Hits and looks, on the plugin or on a route. */
  async function playExtending(module: Plugin, options: RateLimitPluginOptions, own?: object): Promise<unknown[]> {
    const app = fastify()
    await app.register(module, { max: 2, timeWindow: '1 minute', redis: client, ...options })
    app.get('/', own === undefined ? {} : { config: { rateLimit: own } as object }, async () => 'hello')
    const answers: unknown[] = []
    for (let hits = 0; hits < 6; hits++) {
      const { statusCode, headers, body } = await app.inject('/')
      const names = ['x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']
      answers.push([statusCode, ...names.map((name) => rounded(headers[name] ?? 0)), statusCode === 200 ? body : ''])
    }
    await app.close()
    return answers
  }

  test.each<[string, RateLimitPluginOptions, object | undefined]>([
    ['windows that refusals begin anew', { continueExceeding: true }, undefined],
    ['windows that refusals make longer', { exponentialBackoff: true }, undefined],
    ['a limit that is no number', { exponentialBackoff: true, max: () => Number.NaN }, undefined],
    ['a limit that is null', { max: () => null as never }, undefined],
    ['windows that the refusals of a route begin anew', {}, { continueExceeding: true }],
    ['windows that the refusals of a route make longer', {}, { exponentialBackoff: true }],
    [
      'windows that the refusals of a route do not make longer',
      { exponentialBackoff: true },
      { max: 1, exponentialBackoff: false },
    ],
  ])('counts in Redis: %s', async (_, options, own) => {
    const expected = await playExtending(fastifyOriginal as unknown as Plugin, options, own)
    const keys = await client.keys('*')
    await client.flushall()
    expect(await playExtending(fastifyCompat, options, own)).toEqual(expected)
    if (options.exponentialBackoff !== true || own === undefined) expect(await client.keys('*')).toEqual(keys)
  })

  test('limits that the application makes have one count, in each process and in each request', async () => {
    const play = async (plugin: FastifyPluginAsync<RateLimitPluginOptions>) => {
      const statuses: number[] = []
      for (const paths of [['/beta', '/login'], ['/login']]) {
        const app = fastify()
        await app.register(plugin, { global: false, redis: client })
        for (const path of paths) {
          const preHandler = app.rateLimit({ max: 3, timeWindow: '1 minute' })
          app.get(path, { preHandler: preHandler as never }, async () => 'ok')
        }
        app.get('/inside', async (request, reply) => {
          const { isExceeded } = (await app.createRateLimit({ max: 9, timeWindow: '1 minute' })(request)) as {
            isExceeded?: boolean
          }
          return reply.code(isExceeded ? 429 : 200).send('ok')
        })
        for (const path of ['/login', '/login', ...paths, '/inside', '/inside']) {
          statuses.push((await app.inject(path)).statusCode)
        }
        await app.close()
      }
      return statuses
    }
    const expected = await play(fastifyOriginal as never)
    await client.flushall()
    expect(await play(fastifyCompat as never)).toEqual(expected)
    expect(expected).toContain(429)
  })

  test('limits that the application makes with windows of two lengths: the first request of a client begins the window of both', async () => {
    const play = async (plugin: FastifyPluginAsync<RateLimitPluginOptions>) => {
      const app = fastify()
      await app.register(plugin, { global: false, redis: client })
      for (const [path, max, timeWindow] of [
        ['/orders', 3, '1 minute'],
        ['/prices', 6, '2 minutes'],
      ] as const) {
        app.get(path, { preHandler: app.rateLimit({ max, timeWindow }) as never }, async () => 'ok')
      }
      const answers: unknown[] = []
      for (const path of '/orders /prices /orders /prices /orders /prices /prices /orders'.split(' ')) {
        const { statusCode, headers } = await app.inject(path)
        answers.push([path, statusCode, headers['x-ratelimit-remaining'], Number(headers['x-ratelimit-reset']) <= 60])
      }
      await app.close()
      return answers
    }
    const expected = await play(fastifyOriginal as never)
    await client.flushall()
    expect(await play(fastifyCompat as never)).toEqual(expected)
    expect(expected.at(-1)).toEqual(['/orders', 429, '0', true])
  })

  test('a function for the window: the first request of a window says how long it is', async () => {
    const options = () => {
      let window = 30_000
      return { max: 2, redis: client, timeWindow: () => (window += 30_000) }
    }
    const expected = await playExtending(fastifyOriginal as unknown as Plugin, options())
    const keys = await client.keys('*')
    await client.flushall()
    expect(await playExtending(fastifyCompat, options())).toEqual(expected)
    expect(await client.keys('*')).toEqual(keys)
  })

  test('a window that refusals make longer ends, and counting begins anew', async () => {
    const app = fastify()
    await app.register(fastifyCompat, { max: 1, timeWindow: 50, redis: client, exponentialBackoff: true })
    app.get('/', async () => 'hello')
    const statuses = [await app.inject('/'), await app.inject('/')].map(({ statusCode }) => statusCode)
    expect(statuses).toEqual([200, 429])
    await expect.poll(() => client.dbsize(), { interval: 5 }).toBe(0)
    expect((await app.inject('/')).statusCode).toBe(200)
    await app.close()
  })

  test('leaves a connection that is silent for five seconds', async () => {
    const proxy = await startProxy(server.port)
    const own = new Redis(proxy.port)
    own.on('error', () => undefined)
    const app = fastify()
    await app.register(fastifyCompat, { max: 1000, redis: own })
    app.get('/', async () => 'hello')
    const status = async () => (await app.inject('/')).statusCode
    expect(await status()).toBe(200)
    proxy.forget()
    const began = performance.now()
    await expect.poll(status, { timeout: 15_000 }).toBe(200)
    expect(performance.now() - began).toBeGreaterThan(4900)
    await app.close()
    own.disconnect()
    proxy.close()
  })

  test('reads without a hit', async () => {
    const app = fastify()
    await app.register(fastifyCompat, {
      max: 2,
      timeWindow: '1m',
      redis: client,
      continueExceeding: true,
      global: false,
    })
    const check = app.createRateLimit()
    app.get('/', async (request) => [await check(request, { increment: false }), await check(request)])
    const seen = []
    for (let calls = 0; calls < 2; calls++) seen.push(...(await app.inject('/')).json())
    expect(seen.map(({ remaining }) => remaining)).toEqual([2, 1, 1, 0])
    await app.close()
  })

  test("passes on the error of Redis's client", async () => {
    for (const options of [{}, { continueExceeding: true }]) {
      const bodies: unknown[] = []
      for (const module of [fastifyOriginal as unknown as Plugin, fastifyCompat]) {
        const redis = new Redis(server.port, '127.0.0.1').on('error', () => {})
        const app = fastify()
        await app.register(module, { max: 2, redis, ...options })
        app.get('/', async () => 'hello')
        await app.ready()
        await redis.quit()
        const { statusCode, body } = await app.inject('/')
        bodies.push([statusCode, body])
        await app.close()
      }
      expect(bodies[1]).toEqual(bodies[0])
    }
  })

  test.each([{ exponentialBackoff: true }, {}])(
    'fails a request after a second if Redis does not reply: %j',
    async (options) => {
      const app = fastify()
      await app.register(fastifyCompat, { redis: client, ...options })
      app.get('/', async () => 'hello')
      await app.inject('/')
      const other = client.duplicate()
      await other.call('CLIENT', 'PAUSE', '2000', 'ALL')
      const { statusCode, body } = await app.inject('/')
      // Redis replies when the pause is over.
      await other.quit()
      expect([statusCode, body]).toEqual([500, expect.stringContaining('Redis')])
      expect((await app.inject('/')).statusCode).toBe(200)
      await app.close()
    },
  )

  test('takes no store of headgate for windows that refusals make longer', async () => {
    const store = redisStore({ client })
    const options = { store, exponentialBackoff: true }
    await expect(fastify().register(fastifyCompat, options)).rejects.toThrow(/Leave store out/)
    const app = fastify()
    await app.register(fastifyCompat, { store })
    const route = () =>
      app.get('/', { config: { rateLimit: { continueExceeding: true } } as object }, async () => 'hello')
    expect(route).toThrow(/Leave store out/)
    await app.close()
  })
})

describe('express-rate-limit', () => {
  async function play(middleware: ReturnType<typeof expressCompat>): Promise<unknown[]> {
    const app = express()
    app.use(middleware)
    app.get('/', (_request, response) => void response.send('hello'))
    const { url, close } = await serve(createServer(app))
    const answers: unknown[] = []
    for (let count = 0; count < 4; count++) {
      const { status, headers } = await get(url)
      const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'retry-after', 'ratelimit']
      answers.push([status, ...names.map((name) => headers[name])])
    }
    await close()
    return answers
  }

  /** No cast: these stores are written against the types of express-rate-limit. */
  const sendCommand = (command: string, ...args: string[]) => client.call(command, ...args) as Promise<number[]>

  test('takes rate-limit-redis, and counts in the same keys', async () => {
    const options = { limit: 2, windowMs: 60_000, standardHeaders: 'draft-7', skipFailedRequests: true } as const
    const expected = await play(expressOriginal({ ...options, store: new RedisStore({ sendCommand }) }) as never)
    const keys = await client.keys('*')
    await client.flushall()
    const middleware = expressCompat({ ...options, store: new RedisStore({ sendCommand }) })
    expect(await play(middleware)).toEqual(expected)
    expect(await client.keys('*')).toEqual(keys)
    await middleware.resetKey('127.0.0.1')
    expect((await play(middleware))[0]).toEqual(expected[0])
  })

  test('takes rate-limit-memcached', async () => {
    const memcached = await startMemcached()
    const statusesOf = async (prefix: string, module: typeof expressCompat) => {
      const store = new MemcachedStore({ locations: [`127.0.0.1:${memcached.port}`], prefix })
      const answers = await play(module({ limit: 2, windowMs: 60_000, legacyHeaders: false, store }))
      ;(store.client as unknown as { end(): void }).end()
      return answers.map((answer) => (answer as unknown[])[0])
    }
    const expected = await statusesOf('theirs', expressOriginal as never)
    expect(await statusesOf('ours', expressCompat)).toEqual(expected)
    expect(expected).toEqual([200, 200, 429, 429])
    await memcached.stop()
  })

  test('counts in a store of headgate, which processes share', async () => {
    const options = { limit: 3, windowMs: 60_000, standardHeaders: 'draft-7' } as const
    const expected = await play(expressOriginal(options) as never)
    const shared = () => expressCompat({ ...options, store: redisStore({ client, timeout: '5s' }), name: 'api' })
    const [one, other] = [shared(), shared()]
    expect(await play(one)).toEqual(expected)
    expect((await play(other)).map((answer) => (answer as unknown[])[0])).toEqual([429, 429, 429, 429])
    expect(await one.getKey('127.0.0.1')).toMatchObject({ totalHits: 8 })
    await one.resetKey('127.0.0.1')
    expect(await other.getKey('127.0.0.1')).toBeUndefined()
  })
})
