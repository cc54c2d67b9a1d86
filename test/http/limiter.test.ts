import fastify from 'fastify'
import { expect, expectTypeOf, test } from 'vitest'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import { fixedWindow, type PlanLimiter, RateLimiter } from '../../src/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { contract, statuses, stillStore } from '../support/contract.ts'
import { headerOf } from '../support/shapes.ts'

const plans = {
  free: fixedWindow({ name: 'quota', limit: 2, window: '1h' }),
  pro: [fixedWindow({ name: 'quota', limit: 5, window: '1h' }), fixedWindow({ name: 'day', limit: 50, window: '1d' })],
}
const planOf = (request: unknown) => plans[headerOf(request, 'x-plan') as keyof typeof plans]
const free = { 'x-plan': 'free' }
const pro = { 'x-plan': 'pro' }

contract((app) => {
  test('a middleware has its limiter: peek sees its requests, and reset admits a key again', async () => {
    const { url, limiter } = await app({ limit: 2, window: '1h', keys: () => 'ann' })
    expect(await statuses(url, [{}, {}, {}])).toEqual([200, 200, 429])
    const fixed = limiter as RateLimiter
    expect(await fixed.peek('ann')).toMatchObject({ allowed: false, remaining: 0, limit: 2 })
    expect((await fixed.peek('bob')).remaining).toBe(2)
    await fixed.reset('ann')
    expect(await statuses(url, [{}, {}, {}])).toEqual([200, 200, 429])
  })

  test('the limiter of a middleware is the one that it was given', async () => {
    const given = new RateLimiter({ policies: '1/1h' })
    expect((await app(given)).limiter).toBe(given)
    expect((await app({ limiter: given })).limiter).toBe(given)
  })

  test('the limiter reports the health of the store', async () => {
    const { url, limiter } = await app({ policies: '9/1h', store: asyncStore(stillStore().store) })
    expect(limiter.health()).toMatchObject({ state: 'closed', sources: { store: 0 } })
    await statuses(url, [{}, {}])
    expect(limiter.health()).toMatchObject({ state: 'closed', sources: { store: 2 }, errors: 0 })
  })

  test.each([false, true])(
    'with plans by a function, the limiter peeks under any plan and resets all; asynchronous store: %s',
    async (later) => {
      const { store } = stillStore()
      const { url, limiter } = await app({
        policies: planOf,
        keys: () => 'ann',
        store: later ? asyncStore(store) : store,
      })
      const withPlan = (plan: keyof typeof plans) => (limiter as PlanLimiter).withPlan(plans[plan])
      expect(await statuses(url, [free, pro, free])).toEqual([200, 200, 429])
      expect([(await withPlan('free').peek('ann')).remaining, (await withPlan('pro').peek('ann')).remaining]).toEqual([
        0, 3,
      ])
      await withPlan('pro').reset('ann')
      expect([(await withPlan('free').peek('ann')).remaining, (await withPlan('pro').peek('ann')).remaining]).toEqual([
        2, 5,
      ])
      await statuses(url, [pro])
      await withPlan('free').reset('ann')
      expect((await withPlan('pro').peek('ann')).policies.map(({ remaining }) => remaining)).toEqual([5, 50])
    },
  )

  test('with plans by a function, the limiter bans, shows and forgets keys under every plan', async () => {
    const { store } = stillStore()
    const { url, limiter } = await app({ policies: planOf, keys: () => 'ann', store, top: 10 })
    const operator = limiter as PlanLimiter
    await operator.ban('ann', '1h', { reason: 'abuse' }) // before any plan is known
    expect(await statuses(url, [free, pro])).toEqual([429, 429])
    expect(await operator.inspect('ann')).toMatchObject({ refused: true, ban: { scope: 'default', reason: 'abuse' } })
    await operator.unban('ann')
    expect(await statuses(url, [free, pro, free])).toEqual([200, 200, 429])
    const { refused, policies } = await operator.inspect('ann')
    expect([refused, policies.map(({ name, used }) => `${name} ${used}`)]).toEqual([false, ['quota 2', 'day 1']])
    const listed = []
    for await (const { key, inspection } of operator.list()) listed.push([key, inspection.policies.length])
    expect(listed).toEqual([['ann', 2]])
    expect(operator.top()).toMatchObject([{ key: 'ann', calls: 5, refused: 3 }])
    await operator.reset('ann')
    expect(await statuses(url, [free, free, free])).toEqual([200, 200, 429])
    await operator.clear()
    expect(await statuses(url, [free, pro])).toEqual([200, 200])
    await operator.forget(['ann'])
    expect(await statuses(url, [free, free, free])).toEqual([200, 200, 429])
    expect(operator.load).toEqual({ inFlight: 0, waiting: 0 })
    operator.close()
  })

  test('with plans by a function, the limiter reports the health of all plans together', async () => {
    const { url, limiter } = await app({ policies: planOf, store: asyncStore(stillStore().store) })
    expect(limiter.health()).toMatchObject({
      state: 'closed',
      sources: { store: 0, fallback: 0 },
      lastError: undefined,
    })
    await statuses(url, [free, pro, pro])
    expect(limiter.health()).toMatchObject({ state: 'closed', sources: { store: 3, fallback: 0 } })
  })
})

test('Fastify: a plugin that is registered for the whole server has its limiter too', async () => {
  const app = fastify()
  const limit = forFastify('1/1h')
  await app.register(limit)
  app.get('/', async () => 'ok')
  await app.inject('/')
  expect((await limit.limiter.peek('127.0.0.1')).remaining).toBe(0)
  await limit.limiter.reset('127.0.0.1')
  expect((await app.inject('/')).statusCode).toBe(200)
  await app.close()
})

test('the verbs of an operator reach every scope of the keys, also those that no plan has named yet', async () => {
  const { limiter } = forExpress({
    policies: (request) => planOf(request),
    keys: { default: (request) => request.ip, user: (request) => request.get('x-user') },
    store: stillStore().store,
  })
  await expect(limiter.reset('ann')).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
  await limiter.ban({ user: 'ann' }, '1h')
  const perUser = limiter.withPlan(fixedWindow({ name: 'quota', limit: 2, window: '1h', scope: 'user' }))
  expect(await perUser.consume({ user: 'ann' })).toMatchObject({ allowed: false, policy: 'ban' })
  await limiter.withPlan(plans.free).consume('192.0.2.1', { cost: 2 })
  const seen = await limiter.inspect({ default: '192.0.2.1', user: 'ann' })
  expect(seen).toMatchObject({ refused: true, retryAfter: 3_600_000, ban: { scope: 'user' } })
  expect(seen.policies).toMatchObject([{ name: 'quota', used: 2 }])
  const keys = []
  for await (const { key, scope } of limiter.list({ refused: true })) keys.push([scope, key])
  expect(keys).toEqual([
    ['default', '192.0.2.1'],
    ['user', 'ann'],
  ])
  await limiter.unban({ user: 'ann' })
  expect((await perUser.consume({ user: 'ann' })).remaining).toBe(1)
})

test('a limiter with plans that counts no keys says so, and its health is known before the first plan', () => {
  const { limiter } = forExpress({ policies: () => '1/1h' })
  expect(() => limiter.top()).toThrow('does not count')
  expect(limiter.health()).toMatchObject({ state: 'closed', failedClosed: 0 })
})

test('the types know which limiter a middleware has', () => {
  const policies = () => plans.free
  expectTypeOf(forExpress('1/1h').limiter).toEqualTypeOf<RateLimiter>()
  expectTypeOf(forKoa({ limit: 1, window: '1h' }).limiter).toEqualTypeOf<RateLimiter>()
  expectTypeOf(forFastify({ policies: ['1/1h', '5/1d'] }).limiter).toEqualTypeOf<RateLimiter>()
  expectTypeOf(forExpress({ policies }).limiter).toEqualTypeOf<PlanLimiter>()
  expectTypeOf(forKoa({ policies }).limiter).toEqualTypeOf<PlanLimiter>()
  expectTypeOf(forFastify({ policies: async () => plans.pro }).limiter).toEqualTypeOf<PlanLimiter>()
  forExpress({
    policies: (request) => plans[request.get('x-plan') === 'pro' ? 'pro' : 'free'],
    keys: (request) => request.ip,
  })
  // @ts-expect-error An option that does not exist is an error of the types too.
  expect(() => forExpress({ limit: 1, window: '1h', max: 5 })).toThrow()
})
