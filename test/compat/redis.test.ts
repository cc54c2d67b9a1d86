/* The modules on a real Redis, each beside the package that it stands in for. */
import { createServer } from 'node:http'
import fastifyOriginal from '@fastify/rate-limit'
import express from 'express'
import expressOriginal from 'express-rate-limit'
import fastify, { type FastifyPluginAsync } from 'fastify'
import { Redis } from 'ioredis'
import Koa, { type Middleware } from 'koa'
import original from 'koa-ratelimit'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import expressCompat from '../../adapters/compat/express-rate-limit.ts'
import fastifyCompat, { type RateLimitPluginOptions } from '../../adapters/compat/fastify-rate-limit.ts'
import { type MiddlewareOptions, ratelimit } from '../../adapters/compat/koa-ratelimit.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { get, serve } from '../support/frameworks.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'

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
  async function play(module: (options?: MiddlewareOptions) => Middleware, max: number): Promise<unknown[]> {
    const app = new Koa()
    app.use(module({ driver: 'redis', db: client, max, duration: 60_000 }))
    app.use((context) => {
      context.body = 'hello'
    })
    const { url, close } = await serve(createServer(app.callback()))
    const answers: unknown[] = []
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
})

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
    expect(await play(fastifyCompat)).toEqual(expected)
    expect(await client.keys('fastify-rate-limit:*')).toHaveLength(2)
  })

  test('refuses to start with what only memory can do', async () => {
    const options = { redis: client, exponentialBackoff: true }
    await expect(fastify().register(fastifyCompat, options)).rejects.toThrow(/need counts in memory/)
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

  test('counts in a store of headgate, which processes share', async () => {
    const options = { limit: 3, windowMs: 60_000, standardHeaders: 'draft-7' } as const
    const expected = await play(expressOriginal(options) as never)
    const shared = () => expressCompat({ ...options, store: redisStore({ client }), name: 'api' })
    const [one, other] = [shared(), shared()]
    expect(await play(one)).toEqual(expected)
    expect((await play(other)).map((answer) => (answer as unknown[])[0])).toEqual([429, 429, 429, 429])
    expect(await one.getKey('127.0.0.1')).toMatchObject({ totalHits: 8 })
    await one.resetKey('127.0.0.1')
    expect(await other.getKey('127.0.0.1')).toBeUndefined()
  })
})
