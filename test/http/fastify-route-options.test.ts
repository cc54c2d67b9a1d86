import fastify from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/fastify/index.ts'
import { concurrency, fixedWindow, RateLimiter, type RequestDecision } from '../../src/index.ts'
import { stillStore } from '../support/contract.ts'

/** Options without policies in the config of a route: they change the limit around the route, in one decision. */

const hourly = fixedWindow({ name: 'hour', limit: 10, window: '1h' })
const keys = () => 'ann'
const ok = async () => 'ok'

function made(options: object = {}) {
  const limiter = new RateLimiter({ policies: hourly, store: stillStore().store })
  const limit = rateLimit({ limiter, keys, ...options })
  const used = async () => (await limiter.peek('ann')).policies[0]?.used
  return { app: fastify(), limit, used }
}

test.each([5, { hour: 5 }, () => 5, async () => 5, [{ hour: 5 }]])('a route may have the cost %j', async (cost) => {
  let decisions = 0
  const { app, limit, used } = made({ onDecision: () => decisions++ })
  await app.register(limit)
  app.get('/search', { config: { rateLimit: { cost } } }, ok)
  app.get('/', ok)
  for (const url of ['/search', '/']) expect((await app.inject(url)).statusCode).toBe(200)
  expect([await used(), decisions]).toEqual([6, 2])
  expect((await app.inject({ method: 'HEAD', url: '/search' })).statusCode).toBe(429)
  expect(await used()).toBe(6)
})

test('a route declared before the limit, or inside a plugin, changes the limit around it', async () => {
  const { app, limit, used } = made()
  app.get('/before', { config: { rateLimit: { cost: 2 } } }, ok)
  await app.register(limit)
  await app.register(async (inner) => {
    inner.get('/inside', { config: { rateLimit: { cost: 3 } } }, ok)
  })
  for (const url of ['/before', '/inside']) expect((await app.inject(url)).statusCode).toBe(200)
  expect(await used()).toBe(5)
})

test('a route inside a plugin with a limit changes that limit, and may name its policies', async () => {
  const { app, limit, used } = made()
  const inner = new RateLimiter({ policies: fixedWindow({ name: 'inner', limit: 4, window: '1h' }) })
  await app.register(limit)
  await app.register(async (api) => {
    await api.register(rateLimit({ limiter: inner, keys }))
    api.get('/api', { config: { rateLimit: { cost: { inner: 3 } } } }, ok)
  })
  expect((await app.inject('/api')).statusCode).toBe(200)
  expect([await used(), (await inner.peek('ann')).remaining]).toEqual([0, 1])
})

test('any option of a middleware may change: what counts, settle, delay, who is limited', async () => {
  const { app, limit, used } = made()
  await app.register(limit)
  app.get('/count', { config: { rateLimit: { count: 'failures', cost: 9 } } }, ok)
  app.get('/settle', { config: { rateLimit: { settle: true, cost: 9 } } }, async (request) => {
    await request.rateLimit.settle(2)
    return request.rateLimit.key
  })
  app.get('/key', { config: { rateLimit: { keys: () => 'bob' } } }, async (request) => request.rateLimit.key)
  app.get('/skip', { config: { rateLimit: { skip: () => true } } }, async (request) => request.rateLimit.policy)
  const bodies = []
  for (const url of ['/count', '/settle', '/key', '/skip']) bodies.push((await app.inject(url)).body)
  expect(bodies).toEqual(['ok', 'ann', 'bob', 'exempt'])
  await expect.poll(used).toBe(2)
})

test('the routes of a limit share its queue of waiting requests', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const app = fastify()
  const { store } = stillStore()
  await app.register(rateLimit({ policies: '1/1s token-bucket', keys, store, delay: { max: '1s', queue: 4 } }))
  const costs = [1, 1, 1, 1].map((cost, n) => ({ cost, url: `/${n}` }))
  for (const { cost, url } of costs) app.get(url, { config: { rateLimit: { cost } } }, ok)
  // One request is admitted at once, and one key may fill a quarter of the four places.
  const answers = Promise.all(costs.map(({ url }) => app.inject(url)))
  await expect.poll(() => vi.getTimerCount()).toBe(1)
  vi.runAllTimers()
  const seen = await answers
  expect(seen.map(({ statusCode }) => statusCode)).toEqual([200, 200, 429, 429])
})

test('limit.cost is a hook for a cost that needs the body: it replaces what the plugin has counted', async () => {
  for (const register of [true, false]) {
    const { app, limit, used } = made()
    if (register) await app.register(limit)
    const preHandler = limit.cost(({ body }) => (body as { pages: number }).pages)
    let decision: RequestDecision | undefined
    app.post('/print', { preHandler }, async (request) => {
      decision = request.rateLimit
      return 'printed'
    })
    const print = (pages: number) => app.inject({ method: 'POST', url: '/print', payload: { pages } })
    expect([(await print(7)).statusCode, (await print(4)).statusCode, (await print(3)).statusCode]).toEqual([
      200, 429, 200,
    ])
    expect([await used(), decision?.remaining]).toEqual([10, 0])
  }
})

test('units in flight of a route are freed at its end', async () => {
  const app = fastify()
  const limiter = new RateLimiter({ policies: concurrency({ limit: 3 }) })
  await app.register(rateLimit({ limiter, keys }))
  app.get('/', { config: { rateLimit: { cost: 3 } } }, async () => (await limiter.peek('ann')).remaining)
  const seen = await Promise.all([app.inject('/'), app.inject('/')])
  expect(seen.map(({ statusCode }) => statusCode).sort()).toEqual([200, 429])
  await expect.poll(async () => (await limiter.peek('ann')).remaining).toBe(3)
})

test.each([
  [{ cost: 11 }, 'HEADGATE_COST'],
  [{ cost: { minute: 1 } }, 'HEADGATE_COST'],
  [{ cost: 0 }, 'HEADGATE_COST'],
  [{ cots: 5 }, 'HEADGATE_OPTION'],
  [{ cost: 5, store: stillStore().store }, 'HEADGATE_OPTION'],
  [{ cost: 5, name: 'search' }, 'HEADGATE_OPTION'],
  [{ delay: { max: '1s' }, cost: () => 1, settle: 1 }, 'HEADGATE_OPTION'],
])('a route with the options %j keeps the server from starting', async (rateLimits, code) => {
  for (const before of [true, false]) {
    const { app, limit } = made()
    const declare = () => app.get('/search', { config: { rateLimit: rateLimits as never } }, ok)
    if (before) declare()
    await app.register(limit)
    if (!before) declare()
    await expect(app.ready()).rejects.toMatchObject({ code })
  }
})

test('options without policies are an error if there is no limit around the route', async () => {
  const app = fastify()
  await app.register(rateLimit(false))
  app.get('/search', { config: { rateLimit: { cost: 5 } } }, ok)
  await expect(app.ready()).rejects.toMatchObject({
    code: 'HEADGATE_OPTION',
    message: expect.stringContaining('policies'),
  })
})
