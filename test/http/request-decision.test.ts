import type { Context as KoaContext } from 'koa'
import { expect, expectTypeOf, test } from 'vitest'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import type { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { rateLimit as forFetch, type RateLimited } from '../../adapters/fetch.ts'
import { createGuard } from '../../src/http.ts'
import { byHeader, fixedWindow, RateLimiter, type RequestDecision } from '../../src/index.ts'
import { asyncStore, brokenStore } from '../support/async-store.ts'
import { contract, statuses, stillStore } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { PlainResponse, plainFramework } from '../support/plain-framework.ts'
import { queryOf } from '../support/shapes.ts'

const hourly = fixedWindow({ name: 'hour', limit: 3, window: '1h' })

contract((app) => {
  test('the handler finds the key, and a record of keys under several scopes', async () => {
    const one = await app({ policies: hourly, keys: byHeader('x-user') })
    await get(one.url, { 'x-user': 'ann' })
    expect(one.decision()?.key).toBe('ann')
    const policies = [hourly, fixedWindow({ name: 'user', limit: 3, window: '1h', scope: 'user' })]
    const two = await app({ policies, keys: { default: () => 'home', user: byHeader('x-user') } })
    await get(two.url, { 'x-user': 'bob' })
    expect(two.decision()?.key).toEqual({ default: 'home', user: 'bob' })
  })

  test('the handler finds the override that applies', async () => {
    const limiter = new RateLimiter({ policies: hourly })
    const { id } = await limiter.override('ann', { limit: 9, reason: 'contract' })
    const { url, decision } = await app({ limiter, keys: byHeader('x-user') })
    await get(url, { 'x-user': 'ann' })
    expect(decision()).toMatchObject({ limit: 9, override: [{ id, reason: 'contract' }] })
    await get(url, { 'x-user': 'bob' })
    expect(decision()?.override).toBeUndefined()
  })

  test.each([false, true])('reset gives the key its full quota; asynchronous store: %s', async (later) => {
    for (const options of [{}, { count: 'failures' }, { settle: true }]) {
      const { store } = stillStore()
      const limiter = new RateLimiter({ policies: hourly, store: later ? asyncStore(store) : store })
      const handle = async (decision: RequestDecision | undefined, url: string) => {
        if (!url.includes('in')) return 401
        await decision?.reset()
        return 200
      }
      const { url } = await app({ limiter, keys: () => 'ann', ...options }, { handle })
      expect(await statuses(url, [{}, {}])).toEqual([401, 401])
      expect((await get(`${url}/?in`)).status).toBe(200)
      await expect.poll(async () => (await limiter.peek('ann')).remaining).toBe(3)
    }
  })

  test('ban refuses the key from then on, until the ban ends or is lifted', async () => {
    const { store, clock } = stillStore()
    const limiter = new RateLimiter({ policies: hourly, store })
    const handle = async (decision: RequestDecision | undefined, url: string) => {
      if (url.includes('scan')) await decision?.ban('1h', { reason: 'scans' })
      return 200
    }
    const { url } = await app({ limiter, keys: byHeader('x-user') }, { handle })
    const as = (user: string) => ({ 'x-user': user })
    await get(`${url}/?scan`, as('ann'))
    expect(await statuses(url, [as('ann'), as('bob')])).toEqual([429, 200])
    expect((await limiter.peek('ann')).ban).toMatchObject({ reason: 'scans' })
    clock.advance('1h')
    expect(await statuses(url, [as('ann')])).toEqual([200])
  })

  test('settle, reset and ban work when the handler has read them from the decision, and can be replaced', async () => {
    const limiter = new RateLimiter({ policies: hourly, store: stillStore().store })
    const left: unknown[] = []
    const handle = async (decision: RequestDecision | undefined) => {
      const { settle, reset, ban } = decision as RequestDecision
      const remaining = async () => (await limiter.peek('ann')).remaining
      await settle(3)
      left.push(await remaining())
      await reset()
      left.push(await remaining())
      await ban('1h')
      left.push((await limiter.peek('ann')).allowed)
      Object.assign(decision as RequestDecision, { reset: () => Promise.resolve(left.push('own reset')) })
      await decision?.reset()
      return 200
    }
    const { url } = await app({ limiter, keys: () => 'ann', settle: true }, { handle })
    expect((await get(url)).status).toBe(200)
    expect(left).toEqual([0, 3, false, 'own reset'])
  })

  test('the request that spends the quota of a penalty reads how long its ban is', async () => {
    const policies = fixedWindow({ limit: 1, window: '1h' })
    const { url, decision } = await app({ policies, penalty: { on: 'spent', ban: '2h' }, keys: () => 'ann' })
    expect((await get(url)).status).toBe(200)
    expect(decision()).toMatchObject({ allowed: true, banned: 7_200_000 })
  })

  test('under plans, the methods act on the key of the request’s plan; without limits, they do nothing', async () => {
    const plans: Record<string, unknown> = {
      free: hourly,
      team: [hourly, fixedWindow({ limit: 9, window: '1d', scope: 'team' })],
    }
    const policies = (request: unknown) => plans[queryOf(request, 'plan') as string] ?? 'unlimited'
    const handle = async (decision: RequestDecision | undefined, url: string) => {
      if (url.includes('reset')) await decision?.reset()
      if (url.includes('ban')) await decision?.ban('1h')
      return 200
    }
    const keys = { default: () => 'ann', team: () => 'blue' }
    const { url, decision } = await app({ policies, keys, store: stillStore().store }, { handle })
    const ask = async (query: string) => (await get(`${url}/?${query}`)).status
    expect([
      await ask('plan=free'),
      await ask('plan=team'),
      await ask('plan=team&reset'),
      await ask('plan=free'),
    ]).toEqual([200, 200, 200, 200])
    expect([decision()?.key, decision()?.remaining]).toEqual(['ann', 2])
    expect([await ask('plan=none&ban&reset'), await ask('plan=free')]).toEqual([200, 200])
    expect([await ask('plan=team&ban'), await ask('plan=team'), await ask('plan=free')]).toEqual([200, 429, 429])
  })

  test('an exempt request has a decision that says so, and its methods do nothing', async () => {
    for (const exemption of [{ skip: () => true }, { allow: ['127.0.0.1'] }, { keys: async () => false }]) {
      const handle = async (decision: RequestDecision | undefined) => {
        await decision?.reset()
        await decision?.ban('1h')
        await decision?.settle(7)
        return decision?.policy === 'exempt' && decision.key === undefined ? 200 : 500
      }
      const { url, decision } = await app({ policies: hourly, keys: () => 'ann', ...exemption }, { handle })
      expect(await statuses(url, [{}, {}, {}, {}])).toEqual([200, 200, 200, 200])
      expect(decision()).toMatchObject({
        allowed: true,
        limit: Infinity,
        remaining: Infinity,
        policies: [],
        source: 'store',
      })
    }
  })

  test('a request that is let through without the store has a decision too', async () => {
    for (const [options, key] of [
      [{ onStoreError: 'open' }, 'ann'],
      [{ onStoreError: 'closed', enforce: 0 }, undefined],
    ] as const) {
      const store = brokenStore(() => Promise.reject(new Error('down')))
      const { url, decision } = await app({ policies: hourly, keys: () => 'ann', store, ...options })
      expect((await get(url)).status).toBe(200)
      expect(decision()).toMatchObject({ allowed: true, source: 'open', key })
    }
  })

  test('settle without the option is an error that says how to write it', async () => {
    const handle = async (decision: RequestDecision | undefined) => {
      const failed = decision?.settle(1)
      await expect(failed).rejects.toMatchObject({
        code: 'HEADGATE_OPTION',
        message: expect.stringMatching('settle: true'),
      })
      return 200
    }
    const { url } = await app({ policies: hourly, keys: () => 'ann' }, { handle })
    expect((await get(url)).status).toBe(200)
  })
})

test('a second limit that exempts a request leaves the decision of the first', async () => {
  const framework = { ...plainFramework, attached: (request: { decision?: RequestDecision }) => request.decision }
  const request: { decision?: RequestDecision } = {}
  await createGuard(framework, { policies: hourly, keys: () => 'ann', settle: true }).check(
    request,
    new PlainResponse(),
  )
  await createGuard(framework, { policies: hourly, skip: () => true }).check(request, new PlainResponse())
  expect(request.decision).toMatchObject({ policy: 'hour', key: 'ann' })
})

test('attach gets the same decision, for an exempt request too', () => {
  const seen: RequestDecision[] = []
  const attach = (decision: RequestDecision) => void seen.push(decision)
  const skip = ({ address }: { address?: string }) => address === '::1'
  const guard = createGuard(plainFramework, { policies: hourly, keys: () => 'ann', skip, attach })
  for (const address of ['::1', '::2']) guard.check({ address }, new PlainResponse())
  expect(seen).toMatchObject([{ policy: 'exempt' }, { policy: 'hour', key: 'ann', remaining: 2 }])
})

test('the decision is plain data to a spread and to JSON: its fields and the key', () => {
  const request: { decision?: RequestDecision } = {}
  createGuard(plainFramework, { policies: hourly, keys: () => 'ann', headers: false }).check(
    request,
    new PlainResponse(),
  )
  const fields = ['allowed', 'limit', 'remaining', 'retryAfter', 'resetAfter', 'policy', 'policies', 'source', 'key']
  expect(Object.keys({ ...request.decision })).toEqual(fields)
  expect(JSON.parse(JSON.stringify(request.decision))).toMatchObject({ key: 'ann', remaining: 2 })
})

test('the types of the decision and of a cost need no assertion in any framework', () => {
  type OfFetch = Parameters<Parameters<ReturnType<typeof forFetch>['wrap']>[0]>[0]
  expectTypeOf<Express.Request['rateLimit']>().toEqualTypeOf<RequestDecision>()
  expectTypeOf<KoaContext['state']['rateLimit']>().toEqualTypeOf<RequestDecision>()
  expectTypeOf<import('fastify').FastifyRequest['rateLimit']>().toEqualTypeOf<RequestDecision>()
  expectTypeOf<
    import('hono').Context<{ Variables: import('../../adapters/hono.ts').RateLimitVariables }>['var']['rateLimit']
  >().toEqualTypeOf<RequestDecision>()
  expectTypeOf<import('h3').H3EventContext['rateLimit']>().toEqualTypeOf<RequestDecision>()
  expectTypeOf<import('node:http').IncomingMessage['rateLimit']>().toEqualTypeOf<RequestDecision>()
  expectTypeOf<import('node:http2').Http2ServerRequest['rateLimit']>().toEqualTypeOf<RequestDecision>()
  expectTypeOf<OfFetch['rateLimit']>().toEqualTypeOf<RequestDecision>()
  expectTypeOf<ReturnType<RequestDecision['settle']>>().toEqualTypeOf<Promise<void>>()
  const limit = forExpress({ policies: hourly, cost: (request) => Number(request.query.pages) })
  limit.cost((request, view) => Number(request.query.pages ?? view.param(request, 'pages')))
  // @ts-expect-error: a cost is a number, a record, a list, or a function that returns one
  expect(() => limit.cost('5')).toThrow()
  const config: NonNullable<import('fastify').FastifyContextConfig['rateLimit']>[] = [{ cost: 5 }, '5/1m', false]
  expectTypeOf<Parameters<typeof forFastify>[0]>().not.toBeAny()
  expect(config).toHaveLength(3)
})

test('after a check for a response, the result of a fetch handler has a decision', async () => {
  const limit = forFetch({ policies: hourly, keys: () => 'ann' })
  const result = await limit(new Request('http://a/'))
  if (result.response) throw new Error('refused')
  expectTypeOf(result.decision).toEqualTypeOf<RequestDecision>()
  expect(result.decision.key).toBe('ann')
  const costly = await limit.cost(2)(new Request('http://a/'))
  expect(costly.decision?.remaining).toBe(0)
  const request = new Request('http://a/')
  await limit.limiter.reset('ann')
  await limit.cost(2)(request)
  expect((await limit(request)).decision).toMatchObject({ key: 'ann', remaining: 1 })
})

test('a wrapped fetch handler has the decision on its request', async () => {
  class OwnRequest extends Request {
    readonly id = '7'
  }
  const limit = forFetch({ policies: hourly, keys: () => 'ann' })
  const handler = limit.wrap((request) => Response.json(request.rateLimit.key))
  expect(await (await handler(new Request('http://a/'))).json()).toBe('ann')
  const own = limit.wrap((request: RateLimited<OwnRequest>) => Response.json([request.id, request.rateLimit.key]))
  expectTypeOf<Parameters<typeof own>[0]>().toEqualTypeOf<OwnRequest>()
  expect(await (await own(new OwnRequest('http://a/'))).json()).toEqual(['7', 'ann'])
})
