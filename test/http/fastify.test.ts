import { Readable } from 'node:stream'
import fastify, { type FastifyInstance, type FastifyPluginCallback, type FastifyReply } from 'fastify'
import plugin from 'fastify-plugin'
import { afterEach, expect, test } from 'vitest'
import { rateLimit } from '../../adapters/fastify/index.ts'
import { byHeader, policy, RateLimiter } from '../../src/index.ts'

/** What only a Fastify plugin has: limits of routes, routes without a limit, 404s, and scopes of plugins. */
let app: FastifyInstance
afterEach(() => app.close())

async function statuses(...urls: string[]): Promise<number[]> {
  const all: number[] = []
  for (const url of urls) all.push((await app.inject(url)).statusCode)
  return all
}

test('a route has its own limit, or none; the others share the global one', async () => {
  app = fastify()
  await app.register(rateLimit('3/1h'))
  app.get('/a', async () => 'a')
  app.get('/b', async () => 'b')
  app.get('/login', { config: { rateLimit: '1/1h' } }, async () => 'login')
  app.get('/signup', { config: { rateLimit: '1/1h' } }, async () => 'signup')
  app.get('/health', { config: { rateLimit: false } }, async ({ rateLimit }) => rateLimit)
  expect(await statuses('/a', '/b', '/a', '/b')).toEqual([200, 200, 200, 429])
  expect(await statuses('/login', '/login', '/signup', '/signup')).toEqual([200, 429, 200, 429])
  expect(await statuses('/health', '/health', '/health', '/health', '/health')).toEqual([200, 200, 200, 200, 200])
  expect((await app.inject('/health')).json()).toBeNull()
})

test('a route’s own limit inherits keys, headers and refusal, and may override them', async () => {
  app = fastify()
  const policies = [policy('100/1h'), policy('50/1h', { name: 'user', scope: 'user' })]
  const keys = { default: byHeader('x-key'), user: byHeader('x-user') }
  await app.register(rateLimit({ policies, keys, headers: 'draft-11' }))
  app.get('/', async () => 'ok')
  app.get('/own', { config: { rateLimit: '1/1h' } }, async () => 'own')
  app.get('/other', { config: { rateLimit: { limit: 1, window: '1h', headers: 'legacy' } } }, async () => 'other')
  const own = async (key: string) => app.inject({ url: '/own', headers: { 'x-key': key } })
  expect((await own('a')).headers.ratelimit).toMatch(/^"1h";r=0;t=\d+$/)
  expect([(await own('a')).statusCode, (await own('c')).statusCode]).toEqual([429, 200])
  expect((await app.inject('/other')).headers['x-ratelimit-limit']).toBe('1')
})

test('routes that are given the same limiter share one quota; HEAD shares that of GET', async () => {
  app = fastify()
  await app.register(rateLimit(false))
  const shared = new RateLimiter({ policies: '2/1h' })
  app.get('/a', { config: { rateLimit: shared } }, async () => 'a')
  app.get('/b', { config: { rateLimit: { limiter: shared, headers: 'draft-11' } } }, async () => 'b')
  app.get('/c', { config: { rateLimit: '1/1h' } }, async () => 'c')
  app.get('/free', async () => 'free')
  expect(await statuses('/a', '/b', '/a', '/b')).toEqual([200, 200, 429, 429])
  expect((await app.inject('/b')).headers['ratelimit-policy']).toBe('"1h";q=2;w=3600')
  expect((await app.inject({ method: 'HEAD', url: '/c' })).statusCode).toBe(200)
  expect(await statuses('/c', '/free', '/free', '/free')).toEqual([429, 200, 200, 200])
})

test('a request for an unknown route counts too', async () => {
  app = fastify()
  await app.register(rateLimit('2/1h'))
  app.get('/', async () => 'ok')
  expect(await statuses('/nothing', '/here', '/', '/nothing')).toEqual([404, 404, 429, 429])
})

test('a request counts too if the application has its own not-found handler', async () => {
  app = fastify()
  await app.register(rateLimit('1/1h'))
  app.setNotFoundHandler((_request, reply) => {
    reply.code(404).send('gone')
  })
  expect(await statuses('/nothing', '/nothing')).toEqual([404, 429])
})

test('a plugin limits the routes below it', async () => {
  app = fastify()
  await app.register(
    async (api) => {
      await api.register(rateLimit('1/1h'))
      api.get('/', async () => 'api')
    },
    { prefix: '/api' },
  )
  app.get('/', async () => 'root')
  expect(await statuses('/api', '/api', '/', '/', '/')).toEqual([200, 429, 200, 200, 200])
})

test('an invalid policy throws when its route is declared', async () => {
  app = fastify()
  await app.register(rateLimit(false))
  expect(() => app.get('/', { config: { rateLimit: { limit: -1, window: '1h' } } }, async () => 'ok')).toThrow(
    expect.objectContaining({ code: 'HEADGATE_LIMIT' }),
  )
})

test('the function itself can be registered, with its options', async () => {
  app = fastify()
  await app.register(rateLimit, { limit: 2, window: '1h', headers: 'draft-11' })
  app.get('/', async () => 'ok')
  expect(await statuses('/', '/', '/')).toEqual([200, 200, 429])
  const broken = fastify()
  await expect(broken.register(rateLimit, { limit: -1, window: '1h' })).rejects.toMatchObject({
    code: 'HEADGATE_LIMIT',
  })
})

test('it can be registered twice, for two plugins side by side', async () => {
  app = fastify()
  for (const prefix of ['/a', '/b']) {
    await app.register(
      async (part) => {
        await part.register(rateLimit('1/1h'))
        part.get('/', async () => 'ok')
      },
      { prefix },
    )
  }
  expect(await statuses('/a', '/a', '/b', '/b')).toEqual([200, 429, 200, 429])
})

test.each([
  ['a limit and a limit', [rateLimit('1/1h'), rateLimit('100/1m')]],
  ['a limit and limits of routes', [rateLimit('1/1h'), rateLimit(false, { configKey: 'strict' })]],
  ['limits of routes and a limit', [rateLimit(false), rateLimit('1/1h')]],
])('two on one instance are an error, because one would replace the other: %s', async (_what, [first, second]) => {
  app = fastify()
  await app.register(first as FastifyPluginCallback)
  await expect(
    app.register(plugin(async (inner) => void inner.register(second as FastifyPluginCallback))),
  ).rejects.toEqual(
    expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringContaining("policies: ['") }),
  )
})

test('a limit that is registered twice on one instance counts a request once', async () => {
  app = fastify()
  const limit = rateLimit('2/1h')
  for (const _ of [1, 2]) await app.register(limit)
  app.get('/', async () => 'ok')
  expect(await statuses('/', '/', '/')).toEqual([200, 200, 429])
})

test('a route that is declared before the plugin is loaded keeps its own limit', async () => {
  app = fastify()
  app.get('/before', { config: { rateLimit: '1/1h' } }, async () => 'ok')
  app.register(rateLimit(false))
  app.get('/after', { config: { rateLimit: '1/1h' } }, async () => 'ok')
  app.get('/free', async () => 'ok')
  expect(await statuses('/before', '/before', '/after', '/after', '/free', '/free')).toEqual([
    200, 429, 200, 429, 200, 200,
  ])
})

test('a later hook can remove the limit of a route', async () => {
  app = fastify()
  await app.register(rateLimit('1/1h'))
  app.addHook('onRoute', (route) => {
    if (route.url === '/free') route.config = { ...route.config, rateLimit: false }
  })
  app.get('/limited', async () => 'ok')
  app.get('/free', async () => 'ok')
  expect(await statuses('/free', '/free', '/limited', '/limited')).toEqual([200, 200, 200, 429])
})

test('with nested limiters the innermost decides, and a request counts once', async () => {
  app = fastify()
  await app.register(rateLimit('3/1h'))
  await app.register(
    async (inner) => {
      await inner.register(rateLimit('1/1h'))
      inner.get('/', async () => 'ok')
      inner.get('/own', { config: { rateLimit: '2/1h' } }, async () => 'own')
    },
    { prefix: '/inner' },
  )
  app.get('/', async () => 'ok')
  expect(await statuses('/inner', '/inner', '/inner/own', '/inner/own', '/inner/own')).toEqual([
    200, 429, 200, 200, 429,
  ])
  expect(await statuses('/', '/', '/', '/')).toEqual([200, 200, 200, 429])
})

test('no value in a body switches off a limit whose key and cost are made a text and a number', async () => {
  app = fastify()
  const limiter = new RateLimiter({ policies: '3/1h fixed-window' })
  const limit = rateLimit({
    limiter,
    keys: ({ body }) => String((body as { account?: unknown })?.account),
    cost: ({ body }) => Number((body as { units?: unknown })?.units),
  })
  app.post('/', { preHandler: limit.hook }, async () => 'done')
  const ask = async (payload: object) => (await app.inject({ method: 'POST', url: '/', payload })).statusCode
  const costs = [0, -1, 0.5, null, false, '', 'x', {}, { '1h': 0 }, [{ '1h': 0 }], [], 4]
  for (const units of costs)
    expect([units, [500, 429].includes(await ask({ account: 'ann', units }))]).toEqual([units, true])
  for (const account of [false, null, 0, [], {}, 'ann']) {
    const statuses = [1, 1, 1, 1].map(() => ask({ account, units: 1 }))
    expect([account, ...(await Promise.all(statuses))]).toEqual([account, 200, 200, 200, 429])
  }
})

test('refuse may return the reply, and respond later or with a stream', async () => {
  type Refuse = (decision: unknown, request: unknown, reply: FastifyReply) => unknown
  const respond = (reply: FastifyReply) => {
    setTimeout(() => void reply.send('later'), 5)
    return reply
  }
  const cases: [string, Refuse][] = [
    ['later', (_decision, _request, reply) => respond(reply)],
    ['later', async (_decision, _request, reply) => respond(reply)],
    ['abc', (_decision, _request, reply) => reply.send(Readable.from([Buffer.from('abc')]))],
  ]
  for (const [expected, refuse] of cases) {
    app = fastify()
    await app.register(rateLimit({ limit: 1, window: '1h', refuse: refuse as never }))
    app.get('/', async () => 'hello')
    await app.inject('/')
    const { statusCode, body } = await app.inject('/')
    expect([statusCode, body]).toEqual([429, expected])
    await app.close()
  }
})

test('refuse may return its response, as handlers do', async () => {
  for (const refuse of [() => ({ sorry: 1 }), async () => ({ sorry: 1 })]) {
    app = fastify()
    await app.register(rateLimit({ limit: 1, window: '1h', refuse }))
    app.get('/', async () => 'ok')
    await app.inject('/')
    const { statusCode, body } = await app.inject('/')
    expect([statusCode, body]).toEqual([429, '{"sorry":1}'])
    await app.close()
  }
})
