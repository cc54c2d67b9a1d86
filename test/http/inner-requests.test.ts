/* A batch calls the application for each of its parts, with the environment of the outer request, so that the address is known. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { type HttpBindings, serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { H3, type H3Event, serve as serveH3 } from 'h3'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { stream } from 'hono/streaming'
import { describe, expect, onTestFinished, test } from 'vitest'
import { rateLimit as fetchLimit } from '../../adapters/fetch.ts'
import { rateLimit as h3Limit } from '../../adapters/h3.ts'
import { rateLimit as honoLimit } from '../../adapters/hono.ts'
import { ownResponse } from '../../adapters/node-pair.ts'
import { concurrency, fixedWindow, type PolicyLike, RateLimiter } from '../../src/index.ts'
import { get } from '../support/frameworks.ts'

interface Options {
  readonly limiter: RateLimiter
  readonly count?: 'failures'
}

/** Sends one part of a batch. */
type Part = (status: number) => Promise<Response>
type Batch = (part: Part) => Promise<unknown>

const keys = () => 'k'
const loginOf = (request: Request) =>
  new Response('login', { status: Number(new URL(request.url).searchParams.get('s')) })
const part = (status: number) => new Request(`http://app/login?s=${status}`)

function hono(options: Options, batch: Batch) {
  const app = new Hono()
  app.get('/login', honoLimit({ ...options, keys, connInfo: getConnInfo }), (c) => loginOf(c.req.raw))
  app.get('/batch', async (c) => c.json(await batch(async (status) => app.fetch(part(status).clone(), c.env))))
  return listening(serve({ fetch: app.fetch, port: 0 }))
}

function fetched(options: Options, batch: Batch) {
  const login = fetchLimit({ ...options, keys }).wrap((request: Request, _env: HttpBindings) => loginOf(request))
  const listener = async (_request: Request, env: HttpBindings) =>
    Response.json(await batch((status) => login(part(status).clone(), env)))
  return listening(serve({ fetch: listener as never, port: 0 }))
}

async function h3(options: Options, batch: Batch) {
  const app = new H3({ silent: true })
  app.get('/login', ({ req }) => loginOf(req), { middleware: [h3Limit({ ...options, keys })] })
  app.get('/batch', ({ req }) =>
    batch(async (status) =>
      app.fetch(Object.assign(part(status), { runtime: req.runtime as NonNullable<typeof req.runtime> })),
    ),
  )
  const server = serveH3(app, { port: 0, silent: true })
  await server.ready()
  onTestFinished(() => server.close(true))
  return `${server.url}batch`
}

async function listening(server: ReturnType<typeof serve>, path = '/batch'): Promise<string> {
  onTestFinished(() => void server.close())
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as { port: number }).port}${path}`
}

const chunked = 'transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n'

test.each<[string, string, (limited: Hono) => Hono, target?: string]>([
  ['replaces, with a body of known length', 'content-length: 1\r\n\r\na', (app) => app],
  ['replaces, with a body in chunks', chunked, (app) => app],
  ['passes on to a mounted application', chunked, (app) => new Hono().mount('/', app.fetch)],
  ['passes on to an application mounted on a path', chunked, (app) => new Hono().mount('/api', app.fetch)],
  ['decodes once', chunked, (app) => new Hono().mount('/api', app.fetch), '/api/%65xport'],
  [
    'passes on with an encoded per cent sign',
    chunked,
    (app) => new Hono().mount('/api', app.fetch),
    '/api/%252565xport',
  ],
  [
    'decodes in one of many layers',
    chunked,
    (app) => new Hono().mount('/api', app.fetch),
    `/api/${'%'.repeat(40)}${'3'.repeat(80)}5`,
  ],
  ['decodes in parts', chunked, (app) => new Hono().mount('/api', app.fetch), '/api/%%36%35xport'],
])(
  'a request that middleware %s is in flight until the client has the response',
  async (_what, rest, around, target) => {
    const limit = honoLimit({ policies: '2 at once', keys })
    const app = new Hono().use(bodyLimit({ maxSize: 9 }))
    app.post('/api/export', limit, () => new Response(new Uint8Array(16_000_000)))
    app.post('/:any', limit, () => new Response(new Uint8Array(16_000_000)))
    const url = await listening(serve({ fetch: around(app).fetch, port: 0 }), '/api/export')
    const clients = [1, 2].map(() => connect(Number(new URL(url).port), '127.0.0.1').pause())
    onTestFinished(() => clients.forEach((client) => void client.destroy()))
    for (const client of clients) client.write(`POST ${target ?? '/api/export'} HTTP/1.1\r\nhost: a\r\n${rest}`)
    const inFlight = async () => (await limit.limiter.peek('k')).policies[0]?.used
    await expect.poll(inFlight).toBe(2)
    expect((await fetch(url, { method: 'POST' })).status).toBe(429)
    await new Promise((resolve) => setTimeout(resolve, 100)) // time for the server to read the responses to their end
    expect(await inFlight()).toBe(2)
    for (const client of clients) client.destroy()
    await expect.poll(inFlight).toBe(0)
  },
)

test('no spelling of its target makes the request of a client an inner one', async () => {
  const parts = [
    'a',
    '%2e',
    '..',
    '.',
    '%2F',
    '%zz',
    '//',
    '/',
    ';x',
    '?q=1',
    '#f',
    '%41',
    '\\',
    '\xe9',
    '"',
    '<',
    '|',
    '%00',
    '@',
    ':',
    '+',
  ]
  const pairs = parts.flatMap((one) => parts.flatMap((other) => [`/${one}${other}`, `/${one}/${other}`]))
  const targets = ['/', '//', '//evil.example/x', 'http://h', 'http://h/x/../y', ...pairs]
  const seen: unknown[] = []
  const app = new Hono<{ Bindings: HttpBindings }>()
  app.all('*', ({ env, req, text }) => {
    const pair = { req: env.incoming, res: env.outgoing }
    seen.push([req.raw, new Request(req.raw)].every((each) => ownResponse(each, pair) === env.outgoing) || req.raw.url)
    return text('')
  })
  const { port } = new URL(await listening(serve({ fetch: app.fetch, port: 0 })))
  const send = async (target: string) => {
    const client = connect(Number(port), '127.0.0.1').resume()
    client.write(Buffer.from(`GET ${target} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n`, 'latin1'))
    await once(client, 'close')
  }
  for (const target of targets) await send(target)
  expect(seen.length).toBeGreaterThan(targets.length / 2) // node:http refuses some
  expect(seen.filter((own) => own !== true)).toEqual([])
})

describe.each([
  ['Hono on @hono/node-server', hono],
  ['fetch on @hono/node-server', fetched],
  ['h3 on srvx', h3],
])('%s', (_name, start) => {
  const hourly = fixedWindow({ name: 'hour', limit: 5, window: '1h' })
  const statuses = async (send: Part, all: readonly number[]) => {
    const seen: number[] = []
    for (const status of all) {
      const response = await send(status)
      await response.text()
      seen.push(response.status)
    }
    return seen
  }
  const made = (...policies: PolicyLike[]) => {
    const limiter = new RateLimiter({ policies })
    return { limiter, used: async () => (await limiter.peek('k')).policies.map((policy) => policy.used) }
  }

  test('each part counts by its own status, before the batch has ended', async () => {
    const { limiter, used } = made(hourly)
    const batch: Batch = async (send) => [await statuses(send, [401, 200, 200, 200, 200, 200, 401]), await used()]
    const { body, headers } = await get(await start({ limiter, count: 'failures' }, batch))
    expect(JSON.parse(body)).toEqual([[401, 200, 200, 200, 200, 200, 401], [2]])
    expect(headers).not.toHaveProperty('x-ratelimit-remaining')
    expect(await used()).toEqual([2])
  })

  test('each part has its unit in flight until its body was read', async () => {
    const { limiter, used } = made(hourly, concurrency({ name: 'busy', limit: 1 }))
    const { body } = await get(await start({ limiter }, (send) => statuses(send, [200, 200, 200])))
    expect([JSON.parse(body), await used()]).toEqual([
      [200, 200, 200],
      [3, 0],
    ])
  })

  test('a part whose body nobody reads ends with the batch', async () => {
    const { limiter, used } = made(hourly, concurrency({ name: 'busy', limit: 15 }))
    const batch: Batch = async (send) => [await send(200), await send(404)].map(({ status }) => status)
    const { body } = await get(await start({ limiter, count: 'failures' }, batch))
    expect(JSON.parse(body)).toEqual([200, 404])
    await expect.poll(used).toEqual([1, 0])
  })

  test('a part that a batch sends after its response has an end of its own', async () => {
    const { limiter, used } = made(hourly, concurrency({ name: 'busy', limit: 1 }))
    let ended = () => {}
    const late = new Promise<void>((resolve) => {
      ended = resolve
    })
    const seen: number[] = []
    const batch: Batch = async (send) => {
      void late.then(async () => seen.push(...(await statuses(send, [200, 200]))))
      return 'later'
    }
    await get(await start({ limiter }, batch))
    ended()
    await expect.poll(used).toEqual([2, 0])
    expect(seen).toEqual([200, 200])
  })
})

test.each<[string, (limit: object) => Promise<string>]>([
  [
    'Hono',
    (limit) => {
      const app = new Hono<{ Bindings: HttpBindings }>().use(honoLimit(limit as never))
      app.get('/login', async ({ env }) => respondsItself(env.outgoing))
      return listening(serve({ fetch: app.fetch, port: 0 }), '/login')
    },
  ],
  [
    'fetch',
    (limit) => {
      const login = fetchLimit(limit as never).wrap((_request: Request, env: HttpBindings) =>
        respondsItself(env.outgoing),
      )
      return listening(serve({ fetch: login as never, port: 0 }), '/login')
    },
  ],
])('%s: a handler that responds on the response of node:http counts by that status', async (_name, start) => {
  const limiter = new RateLimiter({ policies: fixedWindow({ limit: 2, window: '1h' }) })
  const url = await start({ limiter, keys, count: 'failures' })
  for (const used of [1, 2]) {
    expect((await get(url)).status).toBe(401)
    await expect.poll(async () => (await limiter.peek('k')).policies[0]?.used).toBe(used)
  }
  expect((await get(url)).status).toBe(429)
})

function respondsItself(outgoing: HttpBindings['outgoing']): Response {
  setImmediate(() => outgoing.writeHead(401).end('no'))
  return RESPONSE_ALREADY_SENT
}

test('h3: a client that writes the path of an inner request at the end of its own path makes no failure free', async () => {
  const limiter = new RateLimiter({ policies: fixedWindow({ limit: 3, window: '1h' }) })
  const app = new H3({ silent: true })
  app.get('/login', () => new Response('no', { status: 401 }), {
    middleware: [h3Limit({ limiter, keys, count: 'failures' })],
  })
  const inner = (event: H3Event) =>
    app.fetch(Object.assign(part(401), { runtime: event.req.runtime as NonNullable<typeof event.req.runtime> }))
  app.get('/batch/**', async (event) => [(await inner(event)).status, (await inner(event)).status])
  const server = serveH3(app, { port: 0, silent: true })
  await server.ready()
  onTestFinished(() => server.close(true))
  const batches = []
  for (const _ of [1, 2, 3]) batches.push(JSON.parse((await get(`${server.url}batch/login`)).body))
  expect(batches).toEqual([
    [401, 401],
    [401, 429],
    [429, 429],
  ])
})

test('the parts of a batch that streams its response each end with their own body', async () => {
  const limit = honoLimit({ policies: '1 at once', keys })
  const app = new Hono<{ Bindings: HttpBindings }>()
  app.get('/part', limit, (c) => c.text('part'))
  app.get('/batch', (c) =>
    stream(c, async (body) => {
      await body.write('begin')
      for (let n = 0; n < 12; n++) {
        const response = await app.fetch(new Request('http://app/part'), c.env)
        await response.text()
        await body.write(` ${response.status}`)
      }
    }),
  )
  const { body } = await get(await listening(serve({ fetch: app.fetch, port: 0 })))
  expect(body).toBe(`begin${' 200'.repeat(12)}`)
})

test.each([
  [401, 200, 1],
  [200, 401, 1],
  [401, 401, 2],
  [200, 200, 0],
])(
  'parts that pass the same Request to a limit each count by their own status: %d and %d',
  async (first, second, wanted) => {
    const limiter = new RateLimiter({ policies: fixedWindow({ limit: 9, window: '1h' }) })
    const limit = fetchLimit({ limiter, keys, count: 'failures' })
    const login = limit.wrap((_request: Request, _env: unknown, status: number) => new Response('login', { status }))
    const batch = async (request: Request, env: unknown) => {
      const parts = await Promise.all([first, second].map((status) => login(request, env, status)))
      return Response.json(await Promise.all(parts.map((response) => response.text())))
    }
    const used = async () => (await limiter.peek('k')).policies[0]?.used
    await get(await listening(serve({ fetch: batch as never, port: 0 })))
    await expect.poll(used).toBe(wanted)
    await limiter.reset('k')
    await batch(new Request('http://app/batch'), undefined)
    await expect.poll(used).toBe(wanted)
  },
)
