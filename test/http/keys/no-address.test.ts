import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import express from 'express'
import fastify from 'fastify'
import { type Context, Hono } from 'hono'
import Koa from 'koa'
import { toNodeHandler } from 'srvx/node'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import compatible, { ipKeyGenerator, type Options } from '../../../adapters/compat/express-rate-limit.ts'
import compatibleFastify, { normalizeIP } from '../../../adapters/compat/fastify-rate-limit.ts'
import { rateLimiter as compatibleHono } from '../../../adapters/compat/hono-rate-limiter.ts'
import compatibleKoa, { type MiddlewareOptions } from '../../../adapters/compat/koa-ratelimit.ts'
import { rateLimit as forExpress } from '../../../adapters/express.ts'
import { rateLimit as forFastify } from '../../../adapters/fastify/index.ts'
import { rateLimit as forKoa } from '../../../adapters/koa.ts'
import { forgetWarnings } from '../../../src/common/warn.ts'
import { byHeader, byIp, byRoute, combine, type NoAddressEvent } from '../../../src/index.ts'
import { until } from '../../support/contract.ts'
import { frameworks as allFrameworks } from '../../support/frameworks.ts'

const warned = vi.spyOn(process, 'emitWarning')
beforeEach(() => {
  forgetWarnings()
  warned.mockReset().mockImplementation(() => undefined)
})
afterEach(forgetWarnings)

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close()
})

/** Serves an app that counts its requests, on a port or on a unix socket. Returns where. */
type Start = (limit: unknown, handled: () => void, where: number | string) => Promise<number | string>

async function serve(app: unknown, where: number | string): Promise<number | string> {
  const server = createServer(app as never)
  server.listen(where as number)
  await once(server, 'listening')
  closers.push(() => {
    server.close()
    server.closeAllConnections()
  })
  return typeof where === 'string' ? where : (server.address() as AddressInfo).port
}

const frameworks: Record<string, Start> = {
  async Express(limit, handled, where) {
    const app = express()
    app.use(forExpress(limit as string))
    app.use((_request, response) => {
      handled()
      response.end('ok')
    })
    return serve(app, where)
  },
  async Koa(limit, handled, where) {
    const app = new Koa()
    app.silent = true
    app.use(forKoa(limit as string))
    app.use((context) => {
      handled()
      context.body = 'ok'
    })
    return serve(app.callback(), where)
  },
  async Fastify(limit, handled, where) {
    const app = fastify({ forceCloseConnections: true })
    await app.register(forFastify(limit as string))
    app.get('/', async () => {
      handled()
      return 'ok'
    })
    await app.listen(typeof where === 'string' ? { path: where } : { port: where, host: '127.0.0.1' })
    closers.push(() => void app.close())
    return typeof where === 'string' ? where : (app.server.address() as AddressInfo).port
  },
}

/** Writes a request and resets the connection before the server reads it. */
function writeAndReset(port: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n', () => socket.resetAndDestroy())
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
  })
}

function get(where: number | string, headers = {}): Promise<number> {
  const at = typeof where === 'string' ? { socketPath: where } : { port: where, host: '127.0.0.1' }
  return new Promise((resolve, reject) => {
    const request = send({ ...at, headers, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('error', reject).end()
  })
}

describe.each(Object.entries(frameworks))('%s', (_name, start) => {
  const vanish = async (limit: object) => {
    let handled = 0
    let seen = 0
    const counted = (event: unknown) => {
      seen++
      expect(event as NoAddressEvent).toMatchObject({ limiter: 'default', enforced: true, shared: false, count: seen })
    }
    const addressless = channel('headgate:no-address')
    addressless.subscribe(counted)
    const port = (await start(limit, () => handled++, 0)) as number
    for (let n = 0; n < 10; n++) await writeAndReset(port)
    expect(await get(port, { 'x-key': 'k' })).not.toBe(0) // the server has read all of them by now
    addressless.unsubscribe(counted)
    return { handled, seen }
  }

  test.each([
    ['by address', {}],
    ['by a header that is missing', { keys: byHeader('x-key') }],
    ['by several extractors', { keys: combine(byRoute(), byIp()) }],
    ['behind trusted proxies', { keys: byIp({ trustedProxies: 1, warn: false }) }],
  ])('a client that writes and resets the connection is not admitted: %s', async (_how, options) => {
    const { handled, seen } = await vanish({ limit: 20, window: '1h', ...options })
    expect(handled).toBe(1)
    expect(seen).toBeGreaterThan(0)
    expect(warned).not.toHaveBeenCalledWith(expect.stringContaining('no address'), expect.anything())
  })

  test('a deny list refuses a client without an address', async () => {
    const { handled } = await vanish({ limit: 20, window: '1h', keys: () => 'k', deny: ['203.0.113.7'] })
    expect(handled).toBe(1)
  })

  describe('over a unix socket', () => {
    const listen = async (limit: object) => {
      const folder = mkdtempSync(join(tmpdir(), 'headgate-'))
      closers.push(() => rmSync(folder, { recursive: true, force: true }))
      return start(limit, () => undefined, join(folder, 's'))
    }

    test('all requests share one limit, which one warning and each event say', async () => {
      const events: NoAddressEvent[] = []
      const record = (event: unknown) => void events.push(event as NoAddressEvent)
      channel('headgate:no-address').subscribe(record)
      const path = await listen({ limit: 2, window: '1h' })
      expect([await get(path), await get(path), await get(path)]).toEqual([200, 200, 429])
      channel('headgate:no-address').unsubscribe(record)
      expect(events.map(({ enforced, shared, count }) => ({ enforced, shared, count }))).toEqual(
        [1, 2, 3].map((count) => ({ enforced: false, shared: true, count })),
      )
      expect(warned).toHaveBeenCalledTimes(1)
      expect(warned).toHaveBeenCalledWith(expect.stringContaining('trustedProxies: 1'), {
        type: 'HeadgateWarning',
        code: 'HEADGATE_NO_ADDRESS',
      })
    })

    test.each([[1], [['10.0.0.1']]])('trustedProxies %j reads the header', async (trustedProxies) => {
      const path = await listen({ limit: 1, window: '1h', keys: byIp({ trustedProxies }) })
      const from = (address: string) => get(path, { 'x-forwarded-for': address })
      expect([await from('192.0.2.1'), await from('192.0.2.2'), await from('203.0.113.9, 192.0.2.1')]).toEqual([
        200, 200, 429,
      ])
      expect(warned).not.toHaveBeenCalled()
    })

    test('a deny list refuses every request, with the warning', async () => {
      const path = await listen({ limit: 2, window: '1h', deny: ['203.0.113.7'] })
      expect(await get(path)).toBe(403)
      await until(() => warned.mock.calls.length === 1)
    })
  })
})

/** The frameworks on a server of Node: elsewhere, nobody sees that a client has left. */
const served = Object.entries(allFrameworks).filter(([name]) => !/^(Express|Koa|Fastify|.*without Node$)/.test(name))

test.each(served)('%s: a client that writes and resets the connection is not admitted', async (_name, start) => {
  for (const more of [{}, { keys: byHeader('x-key') }, { keys: () => 'k', deny: ['203.0.113.7'] }]) {
    const { url, handled, close } = await start({ limit: { limit: 20, window: '1h', ...more } })
    const port = Number(new URL(url).port)
    for (let n = 0; n < 10; n++) await writeAndReset(port)
    expect(await get(port, { 'x-key': 'k' })).toBe(200)
    expect(handled()).toBe(1)
    await close()
  }
})

describe('the module in place of express-rate-limit', () => {
  const start = async (options: Partial<Options>, where: number | string) => {
    const handled = vi.fn()
    const app = express()
    app.use(compatible({ limit: 5, windowMs: 3_600_000, validate: false, ...options }))
    app.use((_request, response) => {
      handled()
      response.end('ok')
    })
    return { handled, where: await serve(app, where) }
  }

  test.each<[string, Partial<Options>]>([
    ['by its default', {}],
    ['without networks', { ipv6Subnet: false }],
    ['by networks that are found later', { ipv6Subnet: async () => 64 }],
    ['by ipKeyGenerator', { keyGenerator: ({ ip }) => ipKeyGenerator(ip as string) }],
    ['by a key that nobody has', { keyGenerator: () => undefined as never }],
    ['by an empty key that comes later', { keyGenerator: async () => '' }],
  ])('refuses a client that resets its connection: %s', async (_how, options) => {
    const { handled, where } = await start(options, 0)
    for (let n = 0; n < 10; n++) await writeAndReset(where as number)
    expect(await get(where)).toBe(200)
    expect(handled).toHaveBeenCalledTimes(1)
  })

  test('counts all requests over a unix socket together', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-'))
    closers.push(() => rmSync(folder, { recursive: true, force: true }))
    const { where } = await start({ limit: 1 }, join(folder, 's'))
    expect([await get(where), await get(where)]).toEqual([200, 429])
  })
})

/** Serves an app with one of these modules. Each request adds how it ended: the status of its error, or 200 for one that is handled. */
const compatibles = {
  async koa(options: object, ended: (status: number) => void, where: number | string) {
    const app = new Koa()
    app.silent = true
    app.use(async (_context, next) => {
      try {
        await next()
      } catch (error) {
        ended((error as { status?: number }).status ?? 500)
        throw error
      }
    })
    app.use(compatibleKoa({ driver: 'memory', db: new Map(), ...(options as MiddlewareOptions) }))
    app.use((context) => {
      ended(200)
      context.body = 'ok'
    })
    return serve(app.callback(), where)
  },
  async fastify(options: object, ended: (status: number) => void, where: number | string) {
    const app = fastify({ forceCloseConnections: true })
    await app.register(compatibleFastify, options)
    app.setErrorHandler((error: { statusCode?: number }, _request, reply) => {
      ended(error.statusCode ?? 500)
      reply.code(error.statusCode ?? 500).send(error)
    })
    app.get('/', async () => {
      ended(200)
      return 'ok'
    })
    await app.listen(typeof where === 'string' ? { path: where } : { port: where, host: '127.0.0.1' })
    closers.push(() => void app.close())
    return typeof where === 'string' ? where : (app.server.address() as AddressInfo).port
  },
  async hono(options: object, ended: (status: number) => void, where: number | string) {
    const app = new Hono()
    app.use(async (context, next) => {
      await next()
      ended(context.res.status)
    })
    app.use(compatibleHono({ limit: 5, keyGenerator: addressOf, ...options } as never))
    app.get('/', (context) => context.text('ok'))
    return serve(getRequestListener(app.fetch, { overrideGlobalObjects: false }), where)
  },
  async 'hono on srvx'(options: object, ended: (status: number) => void, where: number | string) {
    const app = new Hono()
    app.use(async (context, next) => {
      await next()
      ended(context.res.status)
    })
    app.use(
      compatibleHono({
        limit: 5,
        keyGenerator: ({ req }: Context) => (req.raw as { ip?: string }).ip,
        ...options,
      } as never),
    )
    app.get('/', (context) => context.text('ok'))
    return serve(toNodeHandler(app.fetch), where)
  },
}

const addressOf = (context: Context) => getConnInfo(context).remote.address

test.each<[keyof typeof compatibles, string, object]>([
  ['koa', 'by its default', {}],
  ['koa', 'by an address that is not there', { id: (context: Koa.Context) => context.req.socket.remoteAddress }],
  ['fastify', 'by its default', {}],
  ['fastify', 'by another network', { ipv6Subnet: 48 }],
  ['fastify', 'by normalizeIP', { keyGenerator: ({ ip }: { ip: string }) => normalizeIP(ip) }],
  ['fastify', 'by an empty key that comes later', { keyGenerator: async () => '' }],
  ['hono', 'by the address of the connection', {}],
  ['hono', 'by an empty key that comes later', { keyGenerator: async (c: Context) => addressOf(c) ?? '' }],
  ['hono on srvx', 'by the address of the connection', {}],
])('the module for %s refuses a client that resets its connection with 403: %s', async (name, _how, options) => {
  const ends: number[] = []
  const where = await compatibles[name](options, (status) => ends.push(status), 0)
  for (let n = 0; n < 10; n++) await writeAndReset(where as number)
  const last = await get(where)
  expect(last).toBe(200)
  expect(ends.pop()).toBe(200)
  expect(ends).not.toHaveLength(0)
  expect(new Set(ends)).toEqual(new Set([403]))
})

test('the module for hono counts requests without a key together while their clients are there', async () => {
  const ends: number[] = []
  const where = await compatibles.hono({ limit: 1, keyGenerator: () => undefined }, (status) => ends.push(status), 0)
  expect([await get(where), await get(where)]).toEqual([200, 429])
})

test('the module for fastify counts all requests over a unix socket together', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-'))
  closers.push(() => rmSync(folder, { recursive: true, force: true }))
  const where = await compatibles.fastify({ max: 1 }, () => undefined, join(folder, 's'))
  expect([await get(where), await get(where)]).toEqual([200, 429])
})
