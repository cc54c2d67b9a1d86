import fastifyRateLimit from '@fastify/rate-limit'
import express from 'express'
import fastify from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { byHeader, byIp, combine, type Decision } from '../../src/index.ts'
import { contract, statuses } from '../support/contract.ts'
import { get, serve } from '../support/frameworks.ts'
import { headerOf } from '../support/shapes.ts'

const ann = { 'x-user': 'ann' }
const bob = { 'x-user': 'bob' }

contract((app) => {
  test('a key extractor that returns false, sync or async, says that the request is not limited', async () => {
    const byUser = (request: unknown) => headerOf(request, 'x-user') ?? false
    for (const keys of [
      byUser,
      async (request: unknown) => byUser(request),
      combine(byIp(), byUser),
      { default: byIp(), user: byUser },
    ]) {
      const policies = [
        { limit: 1, window: '1h', name: 'a' },
        { limit: 1, window: '1h', scope: typeof keys === 'object' ? 'user' : 'default' },
      ]
      const { url } = await app({ policies, keys })
      expect(await statuses(url, [{}, {}, ann, {}, ann])).toEqual([200, 200, 200, 200, 429])
      expect((await get(url)).headers).not.toHaveProperty('x-ratelimit-limit')
    }
  })

  test.each(['headers', 'attach'])(
    '%s that returns a promise is an error, and its rejection ends nothing',
    async (option) => {
      const broken = async () => Promise.reject(new Error('late'))
      const { url, handled } = await app({ limit: 9, window: '1h', [option]: broken })
      const { status, body } = await get(url)
      expect([status, handled()]).toEqual([500, 0])
      expect(body).toMatch(new RegExp(`^${option} must not return a promise`))
    },
  )

  test('deny may be a function, sync or async, and wins over allow', async () => {
    const isBanned = (request: unknown) => headerOf(request, 'x-user') === 'bob'
    for (const deny of [isBanned, async (request: unknown) => isBanned(request)]) {
      const { url, handled } = await app({ limit: 2, window: '1h', deny, allow: ['127.0.0.1', '::1'] })
      expect(await statuses(url, [ann, bob, ann, ann, bob])).toEqual([200, 403, 200, 200, 403])
      expect(handled()).toBe(3)
    }
  })

  test('skip, deny and policies get the response and the key', async () => {
    const responses: unknown[] = []
    const of = async (key: () => unknown, response: unknown) => {
      responses.push(response)
      return key()
    }
    const keys = byHeader('x-user')
    const skip = async (_request: unknown, response: unknown, key: () => unknown) => (await of(key, response)) === 'ann'
    const deny = async (_request: unknown, response: unknown, key: () => unknown) => (await of(key, response)) === 'cid'
    const policies = async (_request: unknown, response: unknown, key: () => unknown) =>
      (await of(key, response)) === 'bob' ? '2/1h' : '1/1h'
    const { url } = await app({ policies, keys, skip, deny })
    const others = [{ 'x-user': 'cid' }, { 'x-user': 'dan' }, { 'x-user': 'dan' }]
    expect(await statuses(url, [ann, ann, ann, bob, bob, bob, ...others])).toEqual([
      ...[200, 200, 200, 200, 200, 429],
      ...[403, 200, 429],
    ])
    expect(responses.every((response) => typeof response === 'object' && response !== null)).toBe(true)
  })

  test('the key is a record with several scopes', async () => {
    const seen: unknown[] = []
    const skip = async (_request: unknown, _response: unknown, key: () => unknown) => {
      seen.push(await key())
      return false
    }
    const keys = { default: () => 'all', user: byHeader('x-user') }
    const policies = [
      { limit: 9, window: '1h', name: 'a' },
      { limit: 9, window: '1h', scope: 'user' },
    ]
    const { url } = await app({ policies, keys, skip })
    await get(url, ann)
    expect(seen).toEqual([{ default: 'all', user: 'ann' }])
  })

  test('key extractors and cost get the response', async () => {
    const seen: unknown[] = []
    const note = (_request: unknown, _view: unknown, response: unknown) => seen.push(response)
    const keys = (...given: Parameters<typeof note>) => note(...given) && 'all'
    const cost = (...given: Parameters<typeof note>) => note(...given) && 1
    const { url } = await app({ limit: 1, window: '1h', keys, cost })
    expect(await statuses(url, [{}, {}])).toEqual([200, 429])
    expect(seen).toHaveLength(4)
    expect(seen.every((response) => typeof response === 'object' && response !== null)).toBe(true)
  })

  test('refuse lets the request go on if it returns true, sync or async, with a status of its own', async () => {
    for (const refuse of [() => true, async () => true]) {
      const { url, handled } = await app({ limit: 1, window: '1h', refuse })
      await get(url)
      const { status, headers, body } = await get(url)
      expect([status, body, handled()]).toEqual([200, 'ok', 2])
      expect(headers).toMatchObject({ 'x-ratelimit-remaining': '0' })
      expect(headers).not.toHaveProperty('retry-after')
      expect(headers).not.toHaveProperty('cache-control')
    }
  })

  test('attach puts the decision where it decides, and nowhere else', async () => {
    const attached: Decision[] = []
    const { url, decision } = await app({
      limit: 1,
      window: '1h',
      attach: (decision: Decision) => void attached.push(decision),
    })
    expect(await statuses(url, [{}, {}])).toEqual([200, 429])
    expect(attached.map(({ allowed }) => allowed)).toEqual([true, false])
    expect(decision() ?? undefined).toBeUndefined()
  })

  test('headers may be a function that sets fields of its own', async () => {
    const keys = byHeader('x-user')
    const headers = (decision: Decision, set: (name: string, value: string) => void, key: unknown) => {
      set('X-Quota', `${key} ${decision.remaining} of ${decision.limit}, ${typeof decision.at}`)
    }
    const { url } = await app({ limit: 2, window: '1h', keys, headers })
    const first = await get(url, ann)
    expect(first.headers['x-quota']).toBe('ann 1 of 2, number')
    expect(first.headers).not.toHaveProperty('x-ratelimit-limit')
  })

  test.each(['attach', 'refuse', 'skip'])('%s must be a function', async (option) => {
    await expect(app({ limit: 1, window: '1h', [option]: 'no' })).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
  })
})

describe('Express', () => {
  test('the middleware returns its promise, which resolves once the request goes on or is answered', async () => {
    const limit = forExpress({ limit: 1, window: '1h', keys: async () => 'all' })
    const app = express()
    const order: string[] = []
    app.use(async (request, response, next) => {
      await limit(request, response, () => void order.push('next'))
      order.push(response.headersSent ? 'answered' : 'went on')
      if (!response.headersSent) next()
    })
    app.use((_request, response) => void response.send('ok'))
    const { url, close } = await serve((await import('node:http')).createServer(app))
    expect(await statuses(url, [{}, {}])).toEqual([200, 429])
    expect(order).toEqual(['next', 'went on', 'answered'])
    await close()
  })
})

describe('Fastify', () => {
  const apps: ReturnType<typeof fastify>[] = []
  const create = () => {
    const app = fastify()
    apps.push(app)
    return app
  }
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())))
  const all = async (app: ReturnType<typeof fastify>, urls: string[]) => {
    const statuses: number[] = []
    for (const url of urls) statuses.push((await app.inject(url)).statusCode)
    return statuses
  }

  test('a limit is a hook too, for preHandler and for requests that are not found', async () => {
    const app = create()
    const limit = forFastify({ limit: 2, window: '1h' })
    app.setNotFoundHandler({ preHandler: limit.hook }, (_request, reply) => void reply.code(404).send('none'))
    app.get('/in', { preHandler: [limit.hook] }, async (request) => `left ${request.rateLimit?.remaining}`)
    app.get('/out', async () => 'free')
    expect(await all(app, ['/out', '/none', '/in', '/none', '/in', '/out'])).toEqual([200, 404, 200, 429, 429, 200])
    expect((await limit.limiter.peek('127.0.0.1')).allowed).toBe(false)
  })

  test('the name of the config key is an option, so two packages run side by side', async () => {
    const app = create()
    await app.register(fastifyRateLimit, { global: false })
    await app.register(forFastify({ limit: 100, window: '1h' }, { configKey: 'headgate' }))
    app.get('/theirs', { config: { rateLimit: { max: 1 } } as object }, async () => 'ok')
    app.get('/ours', { config: { headgate: '1/1h' } as object }, async () => 'ok')
    app.get('/none', { config: { headgate: false } as object }, async () => 'ok')
    expect(await all(app, ['/theirs', '/theirs', '/ours', '/ours', '/none', '/none'])).toEqual([
      ...[200, 429],
      ...[200, 429],
      ...[200, 200],
    ])
    expect((await app.inject('/none')).headers).not.toHaveProperty('x-ratelimit-limit')
  })

  test('also on routes that were declared before the plugin was loaded, and their HEAD', async () => {
    const app = create()
    app.get('/early', { config: { headgate: '1/1h' } as object }, async () => 'ok')
    await app.register(forFastify, { limit: 100, window: '1h', configKey: 'headgate' })
    expect((await app.inject({ method: 'HEAD', url: '/early' })).statusCode).toBe(200)
    expect(await all(app, ['/early'])).toEqual([429])
  })

  test('rejects a key that is no text', () => {
    expect(() => forFastify('1/1h', { configKey: 1 as never })).toThrow(
      expect.objectContaining({ code: 'HEADGATE_OPTION' }),
    )
  })
})
