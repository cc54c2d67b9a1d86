import fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/fastify/index.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import { watchForwarded } from '../../src/http/keys/by-ip.ts'
import { byRoute, memoryStore, RateLimiter } from '../../src/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { get } from '../support/frameworks.ts'

/** Ways to set up Fastify that left a route without its limit, or with two. */
const warned = vi.spyOn(process, 'emitWarning')
let app: FastifyInstance
beforeEach(() => {
  forgetWarnings()
  watchForwarded()
  warned.mockReset().mockReturnValue(undefined)
})
afterEach(() => app.close())

const listen = () => app.listen({ host: '127.0.0.1', port: 0 })

async function statuses(url: string, ...requests: string[]): Promise<number[]> {
  const all: number[] = []
  for (const request of requests) {
    const [method, path] = request.split(' ')
    all.push((await get(url + path, {}, method)).status)
  }
  return all
}

test.each([null, undefined, 'mine', { getter: () => 'mine' }])(
  'it is an error if request.rateLimit was decorated before, with %j',
  async (value) => {
    app = fastify()
    app.decorateRequest('rateLimit' as never, value as never)
    await expect(app.register(rateLimit('1/1h'))).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
    app = fastify()
    app.decorateRequest('rateLimit' as never, value as never)
    const nested = app.register(async (inner) => {
      await inner.register(rateLimit('1/1h'))
    })
    await expect(nested).rejects.toThrow('request.rateLimit')
  },
)

test('HEAD shares the quota of GET for a list of methods', async () => {
  app = fastify()
  await app.register(rateLimit(false))
  const config = { rateLimit: '2/1h' }
  app.route({ method: ['POST', 'GET'], url: '/list', config, handler: async () => 'ok' })
  app.route({ method: ['GET', 'HEAD'], url: '/both', config, handler: async () => 'ok' })
  const url = await listen()
  expect(await statuses(url, 'HEAD /list', 'GET /list', 'POST /list', 'HEAD /list')).toEqual([200, 200, 429, 429])
  expect(await statuses(url, 'HEAD /both', 'GET /both', 'HEAD /both')).toEqual([200, 200, 429])
})

test.each(['both', 'slash', 'no-slash'] as const)(
  'HEAD shares the quota of GET for / under a prefix: %s',
  async (slash) => {
    for (const before of [true, false]) {
      app = fastify()
      const config = { rateLimit: '3/1h' }
      app.register(
        async (api) => {
          if (!before) await api.register(rateLimit(false))
          api.get('/', { config, prefixTrailingSlash: slash }, async () => 'ok')
          if (before) api.register(rateLimit(false))
        },
        { prefix: '/api' },
      )
      const url = await listen()
      const paths = { both: ['/api', '/api/'], slash: ['/api/', '/api/'], 'no-slash': ['/api', '/api'] }[slash]
      const requests = paths.flatMap((path) => [`HEAD ${path}`, `GET ${path}`])
      expect(await statuses(url, ...requests), String(before)).toEqual([200, 200, 200, 429])
      await app.close()
    }
  },
)

test('byRoute gives HEAD the route of GET, also for / under a prefix', async () => {
  app = fastify()
  await app.register(rateLimit({ limit: 3, window: '1h', keys: byRoute() }))
  app.register(async (api) => void api.get('/', async () => 'ok'), { prefix: '/api' })
  app.get('/', async () => 'ok')
  const url = await listen()
  expect(await statuses(url, 'HEAD /api/', 'GET /api', 'HEAD /api', 'GET /api/', 'HEAD /api/')).toEqual([
    200, 200, 200, 429, 429,
  ])
  expect(await statuses(url, 'HEAD /', 'GET /', 'GET /', 'HEAD /')).toEqual([200, 200, 200, 429])
})

test('HEAD shares the quota of GET for a route that was declared before the plugin', async () => {
  app = fastify()
  const config = { rateLimit: '2/1h' }
  app.get('/a', { config }, async () => 'ok')
  app.get('/b', { config }, async () => 'ok')
  app.route({ method: ['POST', 'GET'], url: '/list', config, handler: async () => 'ok' })
  app.post('/a', { config }, async () => 'ok')
  app.register(rateLimit(false))
  const url = await listen()
  expect(await statuses(url, 'HEAD /a', 'GET /a', 'HEAD /a', 'GET /a')).toEqual([200, 200, 429, 429])
  expect(await statuses(url, 'GET /b', 'POST /a', 'POST /a', 'POST /a')).toEqual([200, 200, 200, 429])
  expect(await statuses(url, 'HEAD /list', 'POST /list', 'GET /list')).toEqual([200, 200, 429])
})

test('trustProxy with a number of hops trusts nobody, so forwarded addresses give the warning', async () => {
  const forwarded = { 'x-forwarded-for': '192.0.2.1' }
  for (const [trustProxy, warnings] of [
    ['127.0.0.1', 0],
    ['10.0.0.0/8', 0],
    [true, 0],
    [() => false, 0],
    [1, 1],
  ] as const) {
    app = fastify({ trustProxy: trustProxy as true })
    await app.register(rateLimit('9/1h'))
    app.get('/', async () => 'ok')
    await get(await listen(), forwarded)
    expect(warned, String(trustProxy)).toHaveBeenCalledTimes(warnings)
    await app.close()
  }
  expect(warned).toHaveBeenCalledWith(expect.stringContaining('no proxy is trusted'), {
    type: 'HeadgateWarning',
    code: 'HEADGATE_FORWARDED',
  })
})

test('options of register are an error if the limiter has its options already', async () => {
  app = fastify()
  await expect(app.register(rateLimit('4/1h'), { limit: 2 } as never)).rejects.toMatchObject({
    code: 'HEADGATE_OPTION',
    message: expect.stringContaining('"limit"'),
  })
  app = fastify()
  await app.register(rateLimit('4/1h'), { prefix: '/api', logLevel: 'warn' })
})

test('a limit beside false is an error, because false limits nothing', () => {
  app = fastify()
  for (const options of [
    { limit: 2, window: '1h' },
    { policies: '2/1h' },
    { headers: 'draft-99' },
    { kyes: () => 'a' },
  ]) {
    expect(() => rateLimit(false, options as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  }
  expect(() => rateLimit(false, { limit: 2 } as never)).toThrow('limits nothing')
  expect(() => rateLimit(false, { keys: { user: () => 'a' }, count: 'failures', delay: { max: '1s' } })).not.toThrow()
})

describe('a route with its own policies below a limit with a store for several processes', () => {
  const around = () => ({ name: 'api', policies: '100/1h', store: asyncStore(memoryStore()) })
  /** The warnings of an application with these limits of routes. */
  async function warnings(limits: readonly unknown[], limit: object | string | false = around()) {
    app = fastify()
    await app.register(rateLimit(limit as never))
    limits.forEach((own, n) => {
      app.get(`/${n}`, { config: { rateLimit: own as never } }, async () => 'ok')
    })
    await app.ready()
    await app.close()
    return warned.mock.calls.map(([message, options]) => [message, (options as { code?: string }).code] as const)
  }

  test('gives one warning if it has no store, because each process then counts it apart', async () => {
    const given = await warnings(['5/1m', { cost: 2 }, { policies: '7/1m' }, { limit: 8, window: '1m' }])
    expect(given).toEqual([
      [expect.stringContaining('the route GET /0 and 2 more has no store'), 'HEADGATE_ROUTE_STORE'],
    ])
    expect(await warnings(['5/1m'])).toHaveLength(1)
  })

  test('gives no warning if it has a store or a limiter, or changes the limit around it, or has no limit', async () => {
    const policies = '5/1m'
    const given = { policies, name: 'given', store: asyncStore(memoryStore()) }
    const apart = { policies, store: memoryStore() }
    const limiter = new RateLimiter({ policies })
    expect(await warnings([given, apart, limiter, { limiter }, { cost: 2 }, {}, false])).toEqual([])
  })

  test.each(['100/1h', { policies: '100/1h', store: memoryStore() }, false] as const)(
    'gives no warning below %j, which counts in this process',
    async (limit) => expect(await warnings(['5/1m'], limit)).toEqual([]),
  )

  test('gives no warning if a limit in a memory store is registered between the two', async () => {
    app = fastify()
    await app.register(rateLimit(around()))
    await app.register(async (inner) => {
      await inner.register(rateLimit('50/1h'))
      inner.get('/', { config: { rateLimit: '5/1m' } }, async () => 'ok')
    })
    await app.ready()
    expect(warned).not.toHaveBeenCalled()
  })
})
