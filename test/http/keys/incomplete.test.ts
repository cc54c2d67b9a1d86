/*
 * Node 20 keeps the first 1000 fields of a request. A client with more fields can keep Node from reading the field of a proxy, if the proxy
 * sends it last, as Caddy does. Such a request has no address, so it is refused, and counts for nobody. Later versions of Node answer it
 * with status 431.
 */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { rateLimit as forExpress } from '../../../adapters/express.ts'
import { rateLimit as forFastify } from '../../../adapters/fastify/index.ts'
import { rateLimit as forFetch } from '../../../adapters/fetch.ts'
import { rateLimit as forH3 } from '../../../adapters/h3.ts'
import { rateLimit as forHono } from '../../../adapters/hono.ts'
import { rateLimit as forKoa } from '../../../adapters/koa.ts'
import { rateLimit as forNode } from '../../../adapters/node.ts'
import { requestKey } from '../../../adapters/sockets/index.ts'
import { byIp, RateLimiter } from '../../../src/index.ts'

const proxies = ['127.0.0.1']
const onNode = (keys?: object) => (limiter: RateLimiter) => {
  const limit = forNode({ limiter, ...keys }, keys ? {} : { trustedProxies: proxies })
  return async (request: Parameters<RequestListener>[0], response: Parameters<RequestListener>[1]) => {
    if (await limit(request, response)) response.end('ok')
  }
}
const doors: Record<string, (limiter: RateLimiter) => RequestListener | Promise<RequestListener>> = {
  'Express with trust proxy'(limiter) {
    const app = express().set('trust proxy', proxies)
    return app.use(forExpress(limiter), (_request, response) => void response.send('ok'))
  },
  'Koa with proxy'(limiter) {
    const app = new Koa({ proxy: true, maxIpsCount: 1 })
    app.use(forKoa(limiter))
    app.use((context) => {
      context.body = 'ok'
    })
    return app.callback()
  },
  async 'Fastify with trustProxy'(limiter) {
    const app = fastify({ trustProxy: proxies })
    await app.register(forFastify(limiter))
    app.get('/', async () => 'ok')
    await app.ready()
    return (request, response) => app.routing(request, response)
  },
  'Hono with trustedProxies'(limiter) {
    const app = new Hono().use(forHono(limiter, { address: () => '127.0.0.1', trustedProxies: proxies }))
    return getRequestListener(app.get('/', (context) => context.text('ok')).fetch)
  },
  'h3 with trustedProxies'(limiter) {
    const app = new H3().use(forH3(limiter, { trustedProxies: proxies })).get('/', () => 'ok')
    return toNodeHandler(app) as RequestListener
  },
  'a fetch handler with trustedProxies'(limiter) {
    const limit = forFetch(limiter, { address: () => '127.0.0.1', trustedProxies: proxies })
    return getRequestListener(limit.wrap(() => new Response('ok')))
  },
  'node:http with trustedProxies': onNode(),
  'node:http with byIp({ trustedProxies })': onNode({ keys: byIp({ trustedProxies: proxies }) }),
  'node:http with byIp({ platform })': onNode({ keys: byIp({ platform: 'nginx', warn: false }) }),
}

let server: Server
beforeEach(() => void vi.spyOn(process, 'emitWarning').mockReturnValue(undefined))
afterEach(() => {
  vi.restoreAllMocks()
  server.close()
  server.closeAllConnections()
})

async function listen(listener: RequestListener): Promise<Server> {
  server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** The status of a request with this many short fields before those of the proxy. */
async function status(fields: number, version = '1.1'): Promise<number> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const proxy = 'X-Forwarded-For: 203.0.113.7\r\nX-Real-IP: 203.0.113.7\r\nConnection: close\r\n\r\n'
  socket.write(`GET / HTTP/${version}\r\nHost: a\r\n${'a:\r\n'.repeat(fields)}${proxy}`)
  let text = ''
  for await (const chunk of socket) text += chunk
  return Number(text.slice(9, 12))
}

/** True if this version of Node drops fields. */
let drops: boolean
beforeAll(async () => {
  await listen((_request, response) => response.end())
  drops = (await status(1500)) === 200
  server.close()
})

describe.each(Object.entries(doors))('%s', (_name, door) => {
  test('a request whose head Node has cut off is refused, and takes nothing from anybody', async () => {
    const limiter = new RateLimiter({ policies: '2/1h' })
    await listen(await door(limiter))
    expect([await status(10), await status(990), await status(10)]).toEqual([200, 200, 429])
    const refused = drops ? 403 : 431
    for (const fields of [1000, 1500, 3000]) expect(await status(fields)).toBe(refused)
    expect(await status(1000, '2.0')).toBe(refused)
    expect((await limiter.peek('127.0.0.1')).remaining).toBe(2)
  })

  test('server.maxHeadersCount says how many fields Node keeps', async () => {
    const { maxHeadersCount, ...rest } = { maxHeadersCount: 0, policies: '9/1h' }
    const running = await listen(await door(new RateLimiter(rest)))
    running.maxHeadersCount = maxHeadersCount
    expect(await status(1500)).toBe(200)
    running.maxHeadersCount = 50
    expect([await status(40), await status(60)]).toEqual([200, drops ? 403 : 431])
  })
})

test('limits without a trusted proxy count such a request for its peer', async () => {
  const limiter = new RateLimiter({ policies: '2/1h' })
  await listen(express().use(forExpress(limiter), (_request, response) => void response.send('ok')))
  const counted = drops ? [200, 200, 429] : [200, 431, 200]
  expect([await status(10), await status(1500), await status(10)]).toEqual(counted)
})

test('requestKey closes such a connection', async () => {
  const keys: string[] = []
  await listen((request, response) => {
    keys.push(requestKey(request, byIp({ trustedProxies: proxies })))
    response.end()
  })
  expect(await status(10)).toBe(200)
  await status(1500).catch(() => undefined)
  expect(keys).toEqual(drops ? ['203.0.113.7', expect.stringMatching(/^~/)] : ['203.0.113.7'])
})
