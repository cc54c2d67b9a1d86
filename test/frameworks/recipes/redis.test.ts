import { RateLimiter } from 'headgate'
import { NextRequest } from 'next/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startRedis } from '../../support/redis-server.ts'
import { useServer } from '../../support/use-server.ts'
import { start } from '../support/nest.ts'

/* The programs of docs/recipes/redis.md for Nest and Next.js. */

const server = await useServer(startRedis())
vi.stubEnv('REDIS_URL', `redis://127.0.0.1:${server.port}`)

/** What a process of its own imports first. */
async function limitsOfProcess() {
  vi.resetModules()
  const { client, limits } = await import('../.examples/limits.ts')
  onTestFinished(() => client.disconnect())
  return limits
}

test('NestJS: the limit is in Redis', async () => {
  await limitsOfProcess()
  const { AppModule } = await import('../.examples/nest-redis.ts')
  const { agent } = await start('Express', { imports: [AppModule] })
  await agent.get('/').expect(200, { left: 19 })
  expect((await new RateLimiter(await limitsOfProcess()).usage('127.0.0.1')).policies[1]?.used).toBe(1)
})

test('Next.js: the limit is in Redis', async () => {
  await limitsOfProcess()
  const { GET } = await import('../.examples/next-redis.ts')
  const headers = { 'x-vercel-forwarded-for': '203.0.113.7' }
  const response = await GET(new NextRequest('https://example.com/api', { headers }))
  expect(await response.json()).toEqual({ left: 19 })
  expect((await new RateLimiter(await limitsOfProcess()).usage('203.0.113.7')).policies[1]?.used).toBe(1)
})
