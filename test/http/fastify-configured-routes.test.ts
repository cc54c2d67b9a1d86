import fastify from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { rateLimit } from '../../adapters/fastify/index.ts'
import { memoryStore } from '../../src/index.ts'
import { statuses } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'

const running: (() => unknown)[] = []
afterEach(async () => {
  for (const close of running.splice(0)) await close()
})

function server() {
  const app = fastify()
  running.push(() => app.close())
  return app
}

// biome-ignore lint/suspicious/noExplicitAny: misuse is what is tested
const wrong: readonly any[] = [
  '',
  'x',
  0,
  5,
  null,
  true,
  [],
  { limit: 1, window: '1h', keys: 'x-api-key' },
  { limit: 1 },
]

test.each(wrong.map((limit) => [limit]))('a route with the limit %j keeps the server from starting', async (limit) => {
  const before = server()
  before.get('/', { config: { rateLimit: limit } }, async () => 'ok')
  void before.register(rateLimit('9/1h'))
  await expect(before.listen({ host: '127.0.0.1', port: 0 })).rejects.toMatchObject({ name: 'HeadgateError' })
  const inside = server()
  void inside.register(async (child) => {
    child.get('/', { config: { rateLimit: limit } }, async () => 'ok')
    await child.register(rateLimit('9/1h'))
  })
  await expect(inside.listen({ host: '127.0.0.1', port: 0 })).rejects.toMatchObject({ name: 'HeadgateError' })
  const after = server()
  await after.register(rateLimit('9/1h'))
  expect(() => after.get('/', { config: { rateLimit: limit } }, async () => 'ok')).toThrow(
    expect.objectContaining({ name: 'HeadgateError' }),
  )
})

test('a route that is declared before the limiter has one limit of its own, made when the server starts', async () => {
  const app = server()
  const own = { name: 'own', store: memoryStore(), policies: '1/1h', keys: () => 'all' }
  app.get('/own', { config: { rateLimit: own } }, async () => 'ok')
  void app.register(async (child) => void child.get('/', { config: { rateLimit: '3/1h' } }, async () => 'ok'), {
    prefix: '/api',
  })
  app.get('/global', async () => 'ok')
  app.get('/free', { config: { rateLimit: false } }, async () => 'ok')
  void app.register(rateLimit('2/1h'))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  expect(await statuses(`${url}/own`, [{}, {}])).toEqual([200, 429])
  expect((await get(`${url}/own`, {}, 'HEAD')).status).toBe(429) // the quota of GET
  expect(await statuses(`${url}/global`, [{}, {}, {}])).toEqual([200, 200, 429])
  expect(await statuses(`${url}/free`, [{}, {}, {}])).toEqual([200, 200, 200])
})
