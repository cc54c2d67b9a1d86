import { defineWebSocketHandler, H3, type H3Config, type H3Event, HTTPError, serve as serveH3 } from 'h3'
import { expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/h3.ts'
import { byIp, byParam, fixedWindow, RateLimiter } from '../../src/index.ts'
import { stillStore, until } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'

const address = () => '192.0.2.1'
const hourly = (limit: number) => ({ policies: fixedWindow({ limit, window: '1h' }), store: stillStore().store })

test('every response gets the fields: of a value, a Response, a redirect, a 404 and an error', async () => {
  const app = new H3({ silent: true }).use(rateLimit(hourly(9), { address }))
  app.get('/text', () => 'text')
  app.get('/raw', () => new Response('raw'))
  app.get('/redirect', () => Response.redirect('http://a/', 302))
  app.get('/teapot', () => new Response('teapot', { status: 418 }))
  app.get('/error', () => {
    throw new HTTPError({ status: 403 })
  })
  const seen: unknown[] = []
  for (const path of ['text', 'raw', 'redirect', 'teapot', 'error', 'nowhere']) {
    const { status, headers } = await app.request(`/${path}`)
    seen.push([status, headers.get('x-ratelimit-remaining')])
  }
  expect(seen).toEqual([
    [200, '8'],
    [200, '7'],
    [302, '6'],
    [418, '5'],
    [403, '4'],
    [404, '3'],
  ])
})

test('byParam finds one key for a parameter, however a client encodes it', async () => {
  const limit = rateLimit({ ...hourly(1), keys: byParam('user') })
  const app = new H3({ silent: true }).get('/users/:user', () => 'hello', { middleware: [limit as never] })
  const statuses: number[] = []
  for (const user of ['jos%C3%A9', 'jos%c3%a9', '%6Aos%C3%a9', 'josé', 'ann']) {
    statuses.push((await app.request(`/users/${user}`)).status)
  }
  expect(statuses).toEqual([200, 429, 429, 429, 200])
})

test('refuse returns what a handler may return', async () => {
  const seen: unknown[] = []
  for (const refuse of [() => ({ slow: 1 }), () => new Response('own', { status: 420 }), () => undefined]) {
    const app = new H3().use(rateLimit({ ...hourly(1), refuse }, { address })).get('/', () => 'hello')
    await app.request('/')
    const response = await app.request('/')
    seen.push([response.status, await response.text(), response.headers.get('retry-after')])
  }
  expect(seen).toEqual([
    [429, '{"slow":1}', '3600'],
    [420, 'own', '3600'],
    [429, '', '3600'],
  ])
})

test('the end of a response is that of its body where no server of Node tells it', async () => {
  const limiter = new RateLimiter(hourly(9))
  const used = async () => 9 - (await limiter.peek('k')).remaining
  const app = new H3({ silent: true })
  app.use(rateLimit({ limiter, keys: () => 'k', count: (event) => (event.res.status ?? 200) >= 500 }))
  app.get('/', () => new Response('body', { headers: { 'x-own': 'yes' } }))
  app.get('/object', () => ({ a: 1 }))
  app.get('/error', () => {
    throw new Error('no')
  })
  const response = await app.request('/')
  expect([await used(), response.headers.get('x-own')]).toEqual([1, 'yes'])
  expect(await response.text()).toBe('body')
  expect(await (await app.request('/object')).json()).toEqual({ a: 1 })
  await (await app.request('/nowhere')).text()
  await app.request('/', { method: 'HEAD' })
  await until(() => true)
  expect(await used()).toBe(0)
  await (await app.request('/error')).text()
  await until(() => true)
  expect(await used()).toBe(1)
})

test.each(['GET', 'HEAD'])('a status that count has seen is not that of another response, %s', async (method) => {
  const seen: unknown[] = []
  const count = (event: H3Event) => {
    seen.push(event.res.status, event.context.rateLimit.key)
    return true
  }
  const app = new H3()
  app.use(async (_event, next) => {
    await next()
    return 'fallback'
  })
  app.use(rateLimit({ ...hourly(9), keys: () => 'k', count }))
  app.all('/', () => new Response(null, { status: 404 }))
  expect((await app.request('/', { method })).status).toBe(200)
  expect(seen).toEqual([404, 'k'])
})

test.each(['GET', 'POST', 'HEAD'])('an async count of %s finds the status after it has waited', async (method) => {
  const limiter = new RateLimiter(hourly(9))
  const seen: unknown[] = []
  const count = async (event: H3Event) => {
    const before = event.res.status
    await new Promise((resolve) => setTimeout(resolve, 5))
    seen.push(before, event.res.status)
    return event.res.status === 401
  }
  const app = new H3({ silent: true })
  app.use(async (event, next) => {
    const value = await next()
    event.res.headers.set('x-outer', 'yes')
    return value
  })
  app.use(rateLimit({ limiter, keys: () => 'k', count }))
  app.all('/bare', () => new Response(null, { status: 401 }))
  app.all('/text', (event) => {
    event.res.status = 401
    return 'wrong'
  })
  app.all('/thrown', () => {
    throw new HTTPError({ status: 401 })
  })
  app.all('/fine', () => 'fine')
  for (const path of ['/bare', '/text', '/thrown', '/fine']) {
    const response = await app.request(path, { method })
    await response.text()
    expect([response.status, response.headers.get('x-outer')]).toEqual([
      path === '/fine' ? 200 : 401,
      path === '/thrown' ? null : path === '/fine' ? 'yes' : null,
    ])
  }
  await expect.poll(() => seen).toEqual([401, 401, 401, 401, 401, 401, 200, 200])
  await expect.poll(async () => (await limiter.usage('k')).policies[0]?.used).toBe(3)
})

test.each([
  ['bun', { bun: { server: { requestIP: () => ({ address: '10.0.0.1' }) } } }],
  ['deno', { deno: { info: { remoteAddr: { hostname: '10.0.0.1' } } } }],
])(
  'a server on %s that trusts every proxy gives no address to a platform or to trusted proxies',
  async (_, runtime) => {
    const rules = [{ keys: byIp({ platform: 'nginx' }) }, { trustedProxies: ['10.0.0.1'] }]
    for (const rule of [...rules, { keys: byIp({ trustedProxies: ['10.0.0.1'] }) }]) {
      const app = new H3().use(rateLimit({ ...hourly(2), ...rule } as never))
      app.get('/', ({ context }) => context.rateLimit.key)
      const seen = []
      for (const forged of ['9.9.9.1', '9.9.9.2', '9.9.9.3']) {
        const headers = { 'x-real-ip': '203.0.113.7', 'x-forwarded-for': `${forged}, 203.0.113.7` }
        const request = Object.defineProperties(new Request('http://x/', { headers }), {
          runtime: { value: runtime },
          ip: { value: forged }, // what srvx takes from the field
        })
        const response = await app.fetch(request)
        seen.push(response.status === 200 ? await response.text() : response.status)
      }
      expect(seen).toEqual(['203.0.113.7', '203.0.113.7', 429])
    }
  },
)

const counting: readonly { more?: string[]; count?: 'failures'; delay?: { max: string } }[] = [
  {},
  { count: 'failures' },
  { more: ['5 at once'] },
  { delay: { max: '1s' } },
]

test.each(counting)('a handler that returns nothing has answered, with %j', async ({ more = [], ...options }) => {
  const policies = ['9/1h token-bucket', ...more]
  const limit = rateLimit({ policies, store: stillStore().store, ...options, keys: () => 'k' })
  const app = new H3({ silent: true }).use(limit)
  app.post('/nothing', () => undefined)
  app.post('/created', (event) => {
    event.res.status = 201
    event.res.headers.set('location', '/x')
  })
  app.post('/logout', (event) => void Object.assign(event.res, { status: 204 }))
  const statuses = []
  for (const path of ['nothing', 'created', 'logout', 'nowhere']) {
    const response = await app.request(`/${path}`, { method: 'POST' })
    await response.text()
    statuses.push(response.status)
  }
  expect(statuses).toEqual([200, 201, 204, 404])
  await until(() => true)
  expect((await limit.limiter.peek('k')).policies[0]?.used).toBe('count' in options ? 1 : 4)
})

test.each(counting)(
  'a route of WebSockets keeps its hooks, and a refusal opens none, with %j',
  async ({ more = [], ...options }) => {
    const policies = ['2/1h token-bucket', ...more]
    const limit = rateLimit({ policies, store: stillStore().store, ...options, keys: () => 'k' })
    const app = new H3({ silent: true }).use(limit)
    const hooks = { message: () => undefined }
    app.get('/ws', defineWebSocketHandler(hooks))
    const upgrade = () => app.request('/ws', { headers: { upgrade: 'websocket', connection: 'upgrade' } })
    for (let n = 0; n < 2; n++) expect(await upgrade()).toMatchObject({ crossws: hooks })
    const refused = await upgrade()
    expect([refused.status, refused.headers.get('retry-after'), 'crossws' in refused]).toEqual([429, '1800', false])
    expect((await app.request('/nowhere', { headers: { upgrade: 'h2c' } })).status).toBe(429)
  },
)

/** `serve` of h3 does this. */
const freeze = (app: H3) => Object.assign(app, { config: Object.freeze(app.config) })

test.each<[string, H3Config, number]>([
  ['no onError', {}, 500],
  ['a status for a value', { onError: (_error, { res }) => Object.assign(res, { status: 401 }) && 'wrong' }, 401],
  ['a later status', { onError: async (_error, { res }) => Object.assign(res, { status: 401 }) && 'wrong' }, 401],
  ['a Response', { onError: () => new Response('wrong', { status: 401 }) }, 401],
  ['a success', { onError: () => new Response('known') }, 200],
])('count gets the status that onError gives to an error: %s', async (_what, config, wanted) => {
  for (const frozen of [false, true]) {
    const [statuses, own]: unknown[][] = [[], []]
    const count = (event: H3Event) => (statuses as unknown[]).push(event.res.status) > 0
    const onResponse = ({ status }: Response) => void own?.push(status)
    const app = new H3({ ...config, onResponse, silent: true })
    app.use(rateLimit({ ...hourly(9), keys: () => 'k', count }))
    app.get('/error', () => {
      throw new Error('thrown on purpose')
    })
    if (frozen) freeze(app)
    const seen = []
    for (const path of ['error', 'nowhere', 'error']) seen.push((await app.request(`/${path}`)).status)
    const each = [wanted, wanted === 500 ? 404 : wanted, wanted]
    await until(() => statuses?.length === 3)
    expect([seen, statuses, own]).toEqual([each, each, each])
  }
})

test('with a frozen configuration, the first request of a late limit counts by the status that onError sets', async () => {
  const statuses: unknown[] = []
  const onError: H3Config['onError'] = (_error, { res }) => Object.assign(res, { status: 401 }) && 'wrong'
  const app = new H3({ onError, silent: true }).use(async (_event, next) => {
    await Promise.resolve()
    return next()
  })
  app.use(rateLimit({ ...hourly(9), keys: () => 'k', count: (event) => statuses.push(event.res.status) > 0 }))
  app.get('/', () => {
    throw new Error('thrown on purpose')
  })
  freeze(app)
  for (const _ of [1, 2]) expect((await app.request('/')).status).toBe(401)
  await vi.waitFor(() => expect(statuses).toEqual([401, 401]))
})

test('a middleware around the limit may turn an error into a response', async () => {
  const limit = rateLimit({ ...hourly(9), keys: () => 'k', count: 'failures' })
  const app = new H3({ silent: true }).use(async (_event, next) => {
    try {
      return await next()
    } catch {
      return 'known'
    }
  })
  app.use(limit).get('/', () => {
    throw new Error('thrown on purpose')
  })
  expect((await app.request('/')).status).toBe(200)
  await until(() => true)
  expect((await limit.limiter.peek('k')).policies[0]?.used).toBe(0)
})

test('a server that trusts every proxy does not make the leftmost address believed', async () => {
  const app = new H3().use(rateLimit(hourly(1))).get('/', () => 'hello')
  const server = serveH3(app, {
    port: 0,
    hostname: '127.0.0.1',
    silent: true,
    trustProxy: true,
    gracefulShutdown: false,
  })
  await server.ready()
  const seen: number[] = []
  for (const forged of ['6.6.6.6, 192.0.2.1', '7.7.7.7, 192.0.2.1', '192.0.2.2']) {
    seen.push((await get(server.url as string, { 'x-forwarded-for': forged })).status)
  }
  await server.close(true)
  expect(seen).toEqual([200, 429, 200])
})

test.each([{ address: '192.0.2.1' }, { trustedProxies: 0 }, { ip: address }])('%j is an error', (options) => {
  expect(() => rateLimit('1/1h', options as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
})
