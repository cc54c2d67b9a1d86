import { createServer, type Server, STATUS_CODES } from 'node:http'
import express from 'express'
import fastify from 'fastify'
import { H3 } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterEach, expect, test, vi } from 'vitest'
import { rateLimit as onExpress } from '../../adapters/express.ts'
import { rateLimit as onFastify } from '../../adapters/fastify/index.ts'
import { rateLimit as onH3 } from '../../adapters/h3.ts'
import { rateLimit as onHono } from '../../adapters/hono.ts'
import { rateLimit as onKoa } from '../../adapters/koa.ts'
import { rateLimit as onNode } from '../../adapters/node.ts'
import { type Decision, RateLimiter } from '../../src/index.ts'
import { contract, stillStore } from '../support/contract.ts'
import { get, type Received } from '../support/frameworks.ts'
import { serve } from '../support/served-app.ts'

/* Whatever `refuse` does, each refused request ends, no handler runs for it unless `refuse` lets it go on, and it holds nothing. */

afterEach(() => void vi.restoreAllMocks())

type Refuse = (decision: Decision, request: unknown, response: Responding) => unknown

/** What the responses of the frameworks have. */
interface Responding {
  send?(text: string): unknown
  end?(text: string): unknown
  body?: unknown
  readonly state?: object
  readonly app?: object
}

/** Responds as a handler of the framework does. */
function respond(response: Responding): unknown {
  if (typeof response.send === 'function') return response.send('mine')
  if (typeof response.end === 'function') return response.end('mine')
  if (response.state === undefined || response.app === undefined) return new Response('mine', { status: 429 })
  response.body = 'mine'
  return undefined
}

const own = 'Too many requests. Try again in 3600 seconds.\n'
const later =
  (refuse: Refuse): Refuse =>
  async (...given) => {
    await new Promise((resolve) => setImmediate(resolve))
    return refuse(...given)
  }
const fail = () => {
  throw new Error('broken')
}

contract((app, _lacks, name) => {
  // Nest answers with the JSON of its exception, as soon as `refuse` has returned.
  const nest = name.startsWith('Nest')
  const ours = nest ? expect.stringContaining(`"message":"${own.trim()}"`) : own
  const refused = async (refuse: Refuse): Promise<Received & { ran: number }> => {
    const limiter = new RateLimiter({ policies: ['1/1h fixed-window', '9 at once'], store: stillStore().store })
    const { url, handled } = await app({ limiter, keys: () => 'k', refuse })
    expect((await get(url)).status).toBe(200)
    const received = await get(url)
    await vi.waitFor(async () => expect((await limiter.peek('k')).policies[1]?.remaining).toBe(9))
    return { ...received, ran: handled() }
  }

  test.each<[string, Refuse, object]>([
    ['responds itself', (_decision, _request, response) => respond(response), { status: 429, body: 'mine', ran: 1 }],
    ['returns false', () => false, { status: 429, body: ours, ran: 1 }],
    ['returns true', () => true, { status: 200, body: 'ok', ran: 2 }],
    ['throws', fail, { status: 500, body: 'broken', ran: 1 }],
  ])('a refuse that %s, at once or later', async (_what, refuse, expected) => {
    for (const each of [refuse, later(refuse)]) {
      const received = await refused(each)
      expect(received).toMatchObject(expected)
      if (received.status === 200) expect(received.headers).not.toHaveProperty('retry-after')
    }
  })

  test('a refuse that returns nothing, at once or later, leaves no request without a response', async () => {
    for (const refuse of [() => undefined, async () => undefined]) {
      const { status, body } = await refused((_decision, _request, response) => {
        // A response of Node may come later, by a callback.
        if (typeof response.end === 'function' && !nest) setImmediate(() => respond(response))
        return refuse()
      })
      const either = expect.stringMatching(/^(mine|Too Many Requests|Too many requests. .*\n|)$/)
      expect([status, body]).toEqual([429, nest ? expect.stringContaining('"message":"Too many requests.') : either])
      if (name === 'Fastify') expect(body).toBe(own)
    }
  })
})

/* A request that `refuse` admits has the status that code before the limit has set. */

const refusing = { limit: 0, window: '1h', keys: () => 'k', refuse: () => true } as const
const byInject = async (app: { inject(path: string): Promise<{ statusCode: number; statusMessage: string }> }) => {
  const { statusCode, statusMessage } = await app.inject('/')
  return `${statusCode} ${statusMessage}`
}
const byServer = async (server: Server) => {
  const { url, close } = await serve(server)
  const { status, statusText } = await fetch(url)
  await close()
  return `${status} ${statusText}`
}
const before: Record<string, (status: number | undefined) => Promise<string>> = {
  Express(status) {
    const app = express()
    app.use((_request, response, next) => next(status && void response.status(status)))
    app.use(onExpress(refusing), (_request, response) => void response.send('ok'))
    return byServer(createServer(app))
  },
  async Koa(status) {
    const app = new Koa()
    app.use((context, next) => {
      if (status !== undefined) context.status = status
      return next()
    })
    app.use(onKoa(refusing))
    app.use((context) => {
      context.body = 'ok'
    })
    return byServer(createServer(app.callback()))
  },
  async Fastify(status) {
    const app = fastify()
    app.addHook('onRequest', async (_request, reply) => void (status && reply.code(status)))
    await app.register(onFastify(refusing))
    app.get('/', () => 'ok')
    return byInject(app as never)
  },
  async Hono(status) {
    const app = new Hono()
    app.use((context, next) => {
      if (status !== undefined) context.status(status as 401)
      return next()
    })
    app.use(onHono(refusing))
    app.get('/', (context) => context.text('ok'))
    const response = await app.request('/')
    return `${response.status} ${STATUS_CODES[response.status]}`
  },
  async h3(status) {
    const app = new H3()
    app.use((event) => void (status && Object.assign(event.res, { status })))
    app.use(onH3(refusing))
    app.get('/', () => 'ok')
    const response = await app.request('/')
    return `${response.status} ${STATUS_CODES[response.status]}`
  },
  'node:http'(status) {
    const limit = onNode(refusing)
    return byServer(
      createServer((request, response) => {
        if (status !== undefined) response.statusCode = status
        void limit(request, response, () => response.end('ok'))
      }),
    )
  },
}

test.each(Object.entries(before))(
  'a request that refuse admits on %s keeps the status of earlier code',
  async (_, run) => {
    expect([await run(undefined), await run(401)]).toEqual(['200 OK', '401 Unauthorized'])
  },
)

test('Koa sends its own text for a request that refuse admits and that no route matches', async () => {
  const app = new Koa()
  app.use(onKoa(refusing))
  expect(await byServer(createServer(app.callback()))).toBe('404 Not Found')
})

test.each([
  [206, 0],
  [401, 1],
])(
  'status %i below a refusal of Koa that refuse admits counts as %i failures for a limit outside',
  async (status, failures) => {
    const app = new Koa()
    const limiter = new RateLimiter({ policies: '5/1h sliding-log' })
    app.use(onKoa({ limiter, keys: () => 'k', count: 'failures' }))
    app.use(onKoa(refusing))
    app.use((context) => {
      context.status = status
      context.body = 'part'
      if (status === 401) context.status = 206 // as code for ranges does, below a failure
    })
    const { url, close } = await serve(createServer(app.callback()))
    expect((await fetch(url, { headers: { range: 'bytes=0-3' } })).status).toBe(206)
    await close()
    await expect.poll(async () => (await limiter.usage('k')).policies[0]?.used).toBe(failures)
  },
)
