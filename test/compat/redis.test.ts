/* The modules on a real Redis, each beside the package that it stands in for. */
import { createServer } from 'node:http'
import { Redis } from 'ioredis'
import Koa, { type Middleware } from 'koa'
import original from 'koa-ratelimit'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type MiddlewareOptions, ratelimit } from '../../adapters/compat/koa-ratelimit.ts'
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
