import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { every, except, some } from 'hono/combine'
import { HTTPException } from 'hono/http-exception'
import { expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { type RateLimitVariables, rateLimit } from '../../adapters/hono.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import { byRoute, fixedWindow, RateLimiter, type RateLimiterOptions, type RequestDecision } from '../../src/index.ts'
import { stillStore, until } from '../support/contract.ts'
import { serve } from '../support/served-app.ts'

const address = () => '192.0.2.1'
const hourly = (limit: number): RateLimiterOptions => ({
  policies: fixedWindow({ limit, window: '1h' }),
  store: stillStore().store,
})

test('every response gets the fields: of a handler, a raw Response, a redirect, a 404 and an error', async () => {
  const app = new Hono()
  app.use(rateLimit(hourly(9), { address }))
  app.get('/text', (c) => c.text('text'))
  app.get('/raw', () => new Response('raw'))
  app.get('/redirect', () => Response.redirect('http://a/', 302))
  app.get('/error', () => {
    throw new Error('no')
  })
  app.get('/forbidden', () => {
    throw new HTTPException(403)
  })
  app.get('/nothing', (() => undefined) as never)
  app.onError((error, c) => (error instanceof HTTPException ? error.getResponse() : c.text('sorry', 500)))
  const seen: unknown[] = []
  for (const path of ['text', 'raw', 'redirect', 'error', 'forbidden', 'nothing', 'nowhere']) {
    const { status, headers } = await app.request(`/${path}`)
    seen.push([status, headers.get('x-ratelimit-remaining')])
  }
  expect(seen).toEqual([
    [200, '8'],
    [200, '7'],
    [302, '6'],
    [500, '5'],
    [403, '4'],
    [500, '3'],
    [404, '2'],
  ])
})

test('two limiters on one route join their fields, and the decision is that of the last', async () => {
  const app = new Hono<{ Variables: RateLimitVariables }>()
  const headers = ['draft-11', 'legacy'] as const
  const daily = { policies: fixedWindow({ name: 'daily', limit: 9, window: '1d' }) }
  const burst = { policies: fixedWindow({ name: 'burst', limit: 1, window: '1h' }) }
  app.use(rateLimit({ ...daily, headers, address }))
  app.get('/', rateLimit({ ...burst, headers, address }), (c) => c.json(c.var.rateLimit?.policy))
  const first = await app.request('/')
  const second = await app.request('/')
  expect([await first.json(), second.status]).toEqual(['burst', 429])
  for (const response of [first, second]) {
    expect(response.headers.get('ratelimit-policy')).toBe('"daily";q=9;w=86400, "burst";q=1;w=3600')
    expect(response.headers.get('x-ratelimit-limit')).toBe('1')
  }
})

test('refuse may return a Response of its own, or one of the context with status 429', async () => {
  const seen: unknown[] = []
  for (const refuse of [(_: unknown, c: Context) => c.json({ slow: 1 }), () => new Response('own', { status: 420 })]) {
    const app = new Hono()
    app.use(rateLimit({ ...hourly(1), refuse } as never, { address }))
    app.get('/', (c) => c.text('hello'))
    await app.request('/')
    const response = await app.request('/')
    seen.push([response.status, await response.text(), response.headers.get('retry-after')])
  }
  expect(seen).toEqual([
    [429, '{"slow":1}', '3600'],
    [420, 'own', '3600'],
  ])
})

test('byRoute in app.use finds the route that answers', async () => {
  const app = new Hono()
  app.use(rateLimit({ ...hourly(1), keys: byRoute() } as never, { address }))
  app.get('/users/:id', (c) => c.text('user'))
  app.all('/all', (c) => c.text('all'))
  app.get('/*', (c) => c.text('page'))
  const seen: number[] = []
  for (const path of ['/users/1', '/users/2', '/all', '/a', '/b']) seen.push((await app.request(path)).status)
  expect(seen).toEqual([200, 429, 200, 200, 429])
})

async function onNode(app: Hono) {
  const served = await serve(createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server)
  onTestFinished(served.close)
  return (path: string) => fetch(served.url + path)
}

async function withoutServer(app: Hono) {
  return async (path: string) => app.request(path)
}

test.each([
  ['on @hono/node-server', onNode],
  ['without a server', withoutServer],
])('count gets the status of the handler, if middleware around the limit answers 304, %s', async (_where, start) => {
  const limiter = new RateLimiter(hourly(9))
  const app = new Hono()
  app.use(rateLimit({ ...hourly(90), keys: () => 'all', count: 'successes' }))
  app.use(async (c, next) => {
    await next()
    c.res = new Response(null, { status: 304 })
  })
  app.use(rateLimit({ limiter, keys: () => 'k', count: 'failures' }))
  const byFunction = new RateLimiter(hourly(9))
  const count = async ({ req, res }: Context, { res: same }: Context) => {
    await until(() => true)
    return res === same && res.status === Number(req.param('status')) && res.status >= 400
  }
  app.use(rateLimit({ limiter: byFunction, keys: () => 'k', count }))
  app.get('/:status', (c) => c.body(null, Number(c.req.param('status')) as 200))
  const ask = await start(app)
  for (const status of [401, 200, 404]) expect((await ask(`/${status}`)).status).toBe(304)
  const remaining = async () => [(await limiter.peek('k')).remaining, (await byFunction.peek('k')).remaining]
  await expect.poll(remaining).toEqual([7, 7])
})

test('if a function in the options throws after the decision, the unit in flight is free', async () => {
  const attach = () => {
    throw new Error('no')
  }
  const limit = rateLimit({ policies: '2 at once', keys: () => 'k', attach })
  const app = new Hono().use(limit).get('/', (c) => c.text('hello'))
  app.onError((error, c) => c.text(error.message, 500))
  for (let n = 0; n < 3; n++) expect(await (await app.request('/')).text()).toBe('no')
  await until(() => true)
  expect((await limit.limiter.peek('k')).remaining).toBe(2)
})

test('the end of a response is that of its body where no server of Node tells it', async () => {
  const limiter = new RateLimiter(hourly(9))
  const used = async () => 9 - (await limiter.peek('k')).remaining
  const app = new Hono()
  app.use(rateLimit({ limiter, keys: () => 'k', count: (c) => c.res.status === 500 }))
  app.get('/', (c) => c.body('body', 200, { 'x-own': 'yes' }))
  app.get('/empty', (c) => c.body(null, 204))
  app.get('/error', () => {
    throw new Error('no')
  })
  const response = await app.request('/')
  expect([await used(), response.headers.get('x-own')]).toEqual([1, 'yes'])
  expect(await response.text()).toBe('body')
  await until(() => true)
  expect(await used()).toBe(0)
  await app.request('/empty')
  await app.request('/', { method: 'HEAD' })
  await until(() => true)
  expect(await used()).toBe(0)
  await (await app.request('/error')).text()
  await until(() => true)
  expect(await used()).toBe(1)
})

test('a limit by address without connInfo or address is an error when it is made', () => {
  const message = expect.stringContaining("rateLimit('100/15m', { connInfo: getConnInfo })")
  expect(() => rateLimit('1/1h')).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION', message }))
  for (const options of [
    { connInfo: {} },
    { address: '192.0.2.1' },
    { trustedProxies: -1 },
    { getConnInfo: address },
  ]) {
    expect(() => rateLimit('1/1h', options as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  }
})

test('a request without a key, where nothing finds an address, is refused with a warning that says what to write', async () => {
  forgetWarnings()
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined)
  const app = new Hono().get('/', rateLimit({ policies: '1/1h', keys: (c) => c.req.header('x-key') }), (c) =>
    c.text('ok'),
  )
  expect((await app.request('/')).status).toBe(403)
  const [message, { code }] = warned.mock.calls[0] as unknown as [string, { code: string }]
  expect(code).toBe('HEADGATE_NO_ADDRESS')
  expect(message).toContain('Let keys return a key for each request')
  expect(message).toContain('{ connInfo: getConnInfo }')
  forgetWarnings()
})

test('a call of app.request without an environment has no address', async () => {
  const [warned, lost] = [vi.spyOn(process, 'emitWarning').mockReturnValue(undefined), { incoming: {} }]
  const app = new Hono<{ Bindings: object }>().get('/', rateLimit('1/1h', { connInfo: getConnInfo }), (c) =>
    c.text('ok'),
  )
  const statuses = async (environment?: object, count = 2) => {
    const responses = Array.from({ length: count }, () => app.request('/', {}, environment))
    return (await Promise.all(responses)).map(({ status }) => status)
  }
  expect(await statuses()).toEqual([403, 403])
  expect(await statuses({})).toEqual([403, 403])
  expect(await statuses({ incoming: { socket: { remoteAddress: '192.0.2.1' } } })).toEqual([200, 429])
  expect(await statuses(lost, 1)).toEqual([500])
  const broken = () => {
    throw new Error('broken')
  }
  const other = new Hono().get('/', rateLimit('1/1h', { connInfo: broken }), (c) => c.text('ok'))
  expect((await other.request('/')).status).toBe(500)
  warned.mockRestore()
  forgetWarnings()
})

test('the cost may read the body, and the handler reads it again', async () => {
  const cost = async (c: Context) => ((await c.req.json()) as { tokens: number }).tokens
  const limit = rateLimit({ policies: '100/1h', keys: () => 'ann', cost })
  const app = new Hono().post('/', limit, async (c) => c.json(await c.req.json()))
  const response = await app.request('/', { method: 'POST', body: '{"tokens":70}' })
  expect(await response.json()).toEqual({ tokens: 70 })
  expect((await limit.limiter.peek('ann')).remaining).toBe(30)
})

test('the decision has its type', () => {
  const limit = rateLimit('1/1h', { connInfo: () => ({ remote: { address: '192.0.2.1' } }) })
  new Hono().get('/', limit, (c) => {
    expectTypeOf(c.var.rateLimit).toEqualTypeOf<RequestDecision>()
    return c.text('typed')
  })
  expectTypeOf(limit.limiter).toEqualTypeOf<RateLimiter>()
})

const failing = (status: 401 | 404) => {
  throw new HTTPException(status)
}

test.each([
  ['every', 'an exception with status 401', () => failing(401), 401],
  [
    'every',
    'an exception after the response of the handler',
    (_c: Context, next: () => unknown) => Promise.resolve(next()).then(() => failing(401)),
    401,
  ],
  ['some', 'an exception with status 401', () => failing(401), 401],
  ['except', 'an exception with status 401', () => failing(401), 401],
  ['every', 'an error that Hono answers with status 500', () => Promise.reject(new Error('no')), 500],
] as const)('behind %s of hono/combine, count judges %s', async (name, _what, check, wanted) => {
  const around = {
    every,
    some: (...all: MiddlewareHandler[]) => some(every(...all)),
    except: (...all: MiddlewareHandler[]) => except('/public', ...all),
  }[name]
  const counts = {
    failures: 'failures',
    wanted: (c: Context) => c.res.status === wanted,
    others: (c: Context) => c.res.status !== wanted,
  } as const
  for (const start of [withoutServer, onNode]) {
    for (const [kind, count] of Object.entries(counts)) {
      const limit = rateLimit({ policies: '2/1h sliding-log', keys: () => 'k', count })
      const app = new Hono().use(around(limit, check as MiddlewareHandler)).get('/', (c) => c.text('ok'))
      const ask = await start(app)
      const statuses: number[] = []
      for (let n = 0; n < 4; n++) {
        const response = await ask('/')
        await response.text()
        await until(() => true)
        statuses.push(response.status)
      }
      const counted = [wanted, wanted, 429, 429]
      expect([kind, statuses]).toEqual([kind, kind === 'others' ? [wanted, wanted, wanted, wanted] : counted])
    }
  }
})

test('count judges status 500 if a handler throws what is no Error', async () => {
  for (const start of [withoutServer, onNode]) {
    const limit = rateLimit({ policies: '2/1h sliding-log', keys: () => 'k', count: (c) => c.res.status === 500 })
    const app = new Hono()
    app.use(limit)
    app.use('/after', async (_c, next) => next().then(() => Promise.reject({ status: 401 })))
    app.get('/after', (c) => c.text('ok')).get('/', () => Promise.reject({ status: 401 }))
    const ask = await start(app)
    for (const path of ['/', '/after']) await ask(path).catch(() => undefined)
    await until(() => true)
    expect((await limit.limiter.peek('k')).remaining).toBe(0)
  }
})

const checks: Record<string, MiddlewareHandler | (() => boolean)> = {
  'an exception': () => failing(401),
  'an error': () => Promise.reject(new Error('no')),
  'a condition': () => false,
}

test.each(Object.entries(checks))('a failure that an alternative of some replaces counts: %s', async (_what, check) => {
  for (const start of [withoutServer, onNode]) {
    const limit = rateLimit({ policies: '2/1h sliding-log', keys: () => 'k', count: 'failures' })
    const app = new Hono()
    app.use(some(every(limit, check), (_c, next) => next())).get('/', (c) => c.text('guest'))
    const ask = await start(app)
    for (let n = 0; n < 2; n++) expect(await (await ask('/')).text()).toBe('guest')
    await until(() => true)
    expect((await limit.limiter.peek('k')).remaining).toBe(0)
  }
})
