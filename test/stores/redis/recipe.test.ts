import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { RateLimiter } from 'headgate'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { startRedis } from '../../support/redis-server.ts'
import { useServer } from '../../support/use-server.ts'

/* The apps of docs/recipes/redis.md, each of which a user copies. */

const server = await useServer(startRedis())
vi.stubEnv('REDIS_URL', `redis://127.0.0.1:${server.port}`)
afterAll(() => void vi.unstubAllEnvs())

const apps: Record<string, () => Promise<RequestListener>> = {
  express: async () => (await import('../../../examples/redis/express.ts')).app,
  koa: async () => (await import('../../../examples/redis/koa.ts')).app.callback(),
  async fastify() {
    const { app } = await import('../../../examples/redis/fastify.ts')
    await app.ready()
    return (request, response) => app.routing(request, response)
  },
  hono: async () => getRequestListener((await import('../../../examples/redis/hono.ts')).app.fetch),
  fetch: async () => getRequestListener((await import('../../../examples/redis/fetch.ts')).handler),
}

async function listen(listener: RequestListener): Promise<string> {
  const http = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => {
    http.close()
    http.closeAllConnections()
  })
  await once(http, 'listening')
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
}

/** What a process of its own imports first. */
async function limitsOfProcess() {
  vi.resetModules()
  const { client, limits } = await import('../../../examples/redis/limits.ts')
  onTestFinished(() => client.disconnect())
  return limits
}

test('every framework finds a client behind a proxy, and the processes of all of them share one limit', async () => {
  const headers = { 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.7' }
  for (const open of Object.values(apps)) {
    await limitsOfProcess()
    const url = await listen(await open())
    for (const _ of [1, 2]) expect(await (await fetch(url, { headers })).json()).toEqual({ left: expect.any(Number) })
  }
  const { policies } = await new RateLimiter(await limitsOfProcess()).usage('203.0.113.7')
  expect(policies[1]).toMatchObject({ name: '1h', used: 10 })
})
