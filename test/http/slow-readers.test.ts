import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import Router from '@koa/router'
import express from 'express'
import fastify from 'fastify'
import { H3 } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { toNodeHandler } from 'srvx/node'
import { expect, test, vi } from 'vitest'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { rateLimit as forFetch, type RateLimited } from '../../adapters/fetch.ts'
import { rateLimit as forH3 } from '../../adapters/h3.ts'
import { rateLimit as forHono } from '../../adapters/hono.ts'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import { rateLimit as forNode } from '../../adapters/node.ts'
import { memoryStore, RateLimiter } from '../../src/index.ts'
import { faultyStore } from '../../src/testing/index.ts'
import { until } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { untilUsed, used } from '../support/leases.ts'

/*
 * Clients that hold units in flight by not reading: what the docs promise of them, and of the timeout that the docs
 * advise. The timeout of a socket is Node's, so these tests take real time.
 */

const keys = () => 'k'

interface Served {
  readonly server: Server
  close(): Promise<unknown>
}

async function listening(server: Server): Promise<Served> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    server,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

/** More than the buffers of two sockets hold. */
const large = Buffer.alloc(12 << 20)
/** A body that never ends, as server-sent events have. */
const endless = () => new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('event')) })

type Start = (limiter: RateLimiter, body: () => Buffer | ReadableStream) => Promise<Served>
type Body = ReturnType<Parameters<Start>[1]>

/** Frameworks whose handlers write on Node's response. */
const onNode: Record<string, (limiter: RateLimiter) => Promise<Served>> = {
  'node:http'(limiter) {
    const limit = forNode({ limiter, keys })
    const handle: RequestListener = async (request, response) => {
      if (await limit(request, response)) response.end(large)
    }
    return listening(createServer(handle))
  },
  Express(limiter) {
    const app = express().use(forExpress({ limiter, keys }))
    return listening(createServer(app.use((_request, response) => void response.send(large))))
  },
  Koa(limiter) {
    const router = new Router().get('/', forKoa({ limiter, keys }), (context) => {
      context.body = large
    })
    return listening(createServer(new Koa().use(router.routes()).callback()))
  },
  async Fastify(limiter) {
    const app = fastify({ connectionTimeout: 2000, forceCloseConnections: true })
    await app.register(forFastify({ limiter, keys }))
    app.get('/', async () => large)
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { server: app.server, close: () => app.close() }
  },
}

function web(fetch: (request: Request) => unknown): Promise<Served> {
  return listening(createAdaptorServer({ fetch: fetch as never, overrideGlobalObjects: false }) as Server)
}

/** Frameworks whose handlers return a Response. */
const onWeb: Record<string, Start> = {
  'fetch on @hono/node-server'(limiter, body) {
    return web(forFetch({ limiter, keys }).wrap(() => new Response(body() as never)))
  },
  'Hono on @hono/node-server'(limiter, body) {
    const app = new Hono().use(forHono({ limiter, keys }, { connInfo: getConnInfo }))
    return web(app.get('/', () => new Response(body() as never)).fetch as never)
  },
  'h3 on srvx'(limiter, body) {
    const app = new H3({ silent: true }).use(forH3({ limiter, keys })).get('/', () => new Response(body() as never))
    return listening(createServer(toNodeHandler(app.fetch as never) as RequestListener))
  },
}

function ask({ server }: Served, requests: number): Socket {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
  socket.pause().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(requests))
  return socket
}

const all: [string, (limiter: RateLimiter) => Promise<Served>][] = [
  ...Object.entries(onNode),
  ...Object.entries(onWeb).map(([name, start]): [string, (typeof onNode)[string]] => [
    name,
    (limiter) => start(limiter, (): Body => large),
  ]),
]

test.concurrent.each(all)('%s: the timeout of sockets ends a response that nobody reads', async (_name, start) => {
  const limiter = new RateLimiter({ policies: '10 at once lease 1s' })
  const app = await start(limiter)
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  if (app.server.timeout === 0) app.server.setTimeout(2000) // Fastify sets it by an option
  const slow = Array.from({ length: 10 }, () => ask(app, 1))
  await untilUsed(limiter, 10)
  expect((await get(url)).status).toBe(429)
  const held = performance.now()
  while ((await used(limiter)) > 0) {
    expect(performance.now() - held).toBeLessThan(20_000)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  for (const client of slow) client.destroy()
  await app.close()
})

test.each(Object.entries(onWeb))(
  '%s: a client that has pipelined eight endless responses and leaves holds nothing',
  async (_name, start) => {
    const limiter = new RateLimiter({ policies: '10 at once' })
    const app = await start(limiter, endless)
    for (let round = 0; round < 4; round++) {
      const client = ask(app, 8)
      await untilUsed(limiter, 8)
      client.resume()
      await until(() => client.bytesRead > 0)
      client.destroy()
      await untilUsed(limiter, 0)
    }
    await app.close()
  },
)

test('guesses behind a response that nobody reads are open, and begin the ban when the timeout of sockets ends them', async () => {
  const limiter = new RateLimiter({ policies: '5/15m sliding-log', penalty: { on: 'spent', ban: '1h' } })
  const limit = forNode({ limiter, keys, count: 'failures' })
  let checked = 0
  const app = await listening(
    createServer(async (request, response) => {
      if (request.url === '/large') return void response.end(large)
      if (!(await limit(request, response))) return
      checked++
      response.writeHead(401).end()
    }),
  )
  app.server.setTimeout(1000)
  const { port } = app.server.address() as AddressInfo
  const guesser = connect(port, '127.0.0.1').on('error', () => undefined)
  guesser.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n')
  guesser.write('GET /login HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(9))
  await until(() => checked === 5)
  expect(await limiter.peek('k')).toMatchObject({ allowed: false, policy: '15m' })
  await vi.waitFor(async () => expect((await limiter.peek('k')).policy).toBe('penalty'), 20_000)
  expect(checked).toBe(5)
  guesser.destroy()
  await app.close()
})

const guesses = { policies: '5/15m sliding-log', penalty: { on: 'spent', ban: '1h' }, keys, count: 'failures' } as const

/** A handler that each guess fails, of a server that never reads a response to its end, as a worker whose client resets its connection. */
const failing = {
  fetch() {
    const limit = forFetch(guesses)
    return { limit, handler: limit.wrap(() => new Response('wrong', { status: 401 })) }
  },
  hono() {
    const limit = forHono(guesses)
    const app = new Hono().use(limit).post('/', (c) => c.text('wrong', 401))
    return { limit, handler: (request: Request) => app.fetch(request) }
  },
}

test.each(Object.entries(failing))(
  '%s: a failure begins the ban with its status, although nobody reads its body',
  async (_name, make) => {
    const { limit, handler } = make()
    const statuses: number[] = []
    for (let n = 0; n < 6; n++) {
      statuses.push((await handler(new Request('http://a/', { method: 'POST' }))).status)
      expect((await limit.limiter.peek('k')).policy === 'penalty').toBe(n >= 4)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  },
)

test('a failure begins the ban with its status below another limit too, if the handler throws', async () => {
  const limit = forFetch(guesses)
  const outer = forFetch({ policies: '100/1h', keys, count: 'failures' })
  const inner: (request: Request) => Promise<Response> = limit.wrap(() =>
    Promise.reject(Object.assign(new Error('wrong'), { status: 401 })),
  )
  const handler = outer.wrap(
    (request: Request): Promise<Response> => inner(request).catch(() => new Response('wrong', { status: 401 })),
  )
  for (let n = 0; n < 5; n++) expect((await handler(new Request('http://a/'))).status).toBe(401)
  expect((await limit.limiter.peek('k')).policy).toBe('penalty')
})

test.each([
  ['a success', 'failures', 200, '15m'],
  ['a success', 'successes', 200, 'penalty'],
  ['a failure', 'successes', 401, '15m'],
  ['a failure', (): boolean => false, 401, '15m'],
  ['a failure', (): boolean => true, 401, 'penalty'],
] as const)('%s with count: %s and status %i begins no ban before its end', async (_name, count, status, policy) => {
  const limit = forFetch({ ...guesses, count })
  const handler = limit.wrap(() => new Response('body', { status }))
  const requests = Array.from({ length: 5 }, () => handler(new Request('http://a/', { method: 'POST' })))
  const responses = await Promise.all(requests)
  expect((await limit.limiter.peek('k')).policy).toBe('15m')
  for (const response of responses) await response.text()
  expect((await limit.limiter.peek('k')).policy).toBe(policy)
})

test('with settle, a failure begins no ban before its end, because the application may settle it until then', async () => {
  const limit = forFetch({ ...guesses, settle: true })
  const handler = limit.wrap(() => new Response('body', { status: 502 }))
  const requests = Array.from({ length: 5 }, async () => {
    const request = new Request('http://a/', { method: 'POST' })
    const response = await handler(request)
    return async () => {
      await (request as RateLimited).rateLimit.settle(0)
      await response.text()
    }
  })
  for (const end of await Promise.all(requests)) await end()
  expect(await limit.limiter.peek('k')).toMatchObject({ allowed: true, remaining: 5 })
})

test('end waits for the ban that a failure has begun before', async () => {
  const store = faultyStore(memoryStore())
  const limit = forFetch({ ...guesses, policies: '1/15m sliding-log', store })
  const result = await limit(new Request('http://a/', { method: 'POST' }))
  store.fail({ kind: 'delay', by: '30ms' })
  result.apply(new Response('wrong', { status: 401 }))
  await result.end(401)
  store.heal()
  expect((await limit.limiter.peek('k')).policy).toBe('penalty')
})
