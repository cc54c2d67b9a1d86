import { EventEmitter, once } from 'node:events'
import { createServer, get, type IncomingMessage, type Server } from 'node:http'
import { createServer as createHttp2Server, createSecureServer } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import express from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type ConnectionOptions, limitConnections, limitMessages, requestKey } from '../../adapters/sockets/index.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import {
  byHeader,
  byIp,
  concurrency,
  memoryStore,
  policy,
  RateLimiter,
  type Store,
  slidingLog,
} from '../../src/index.ts'
import { faultyStore } from '../../src/testing/index.ts'
import { heldStore } from '../support/answering-stores.ts'
import { asyncStore } from '../support/async-store.ts'

beforeEach(forgetWarnings)

const eventually = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 2 })

async function listen(policies: string | RateLimiter, options?: ConnectionOptions) {
  const server = createServer((_request, response) => response.end('hello'))
  const sockets = new WebSocketServer({ server })
  limitConnections(server, policies, options)
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.close()
  })
  return { server, sockets, port: (server.address() as AddressInfo).port }
}

/** Opens a connection: resolves to the open socket, or to the response that refuses it. */
async function open(port: number, localAddress = '127.0.0.1', headers = {}): Promise<WebSocket | IncomingMessage> {
  const client = new WebSocket(`ws://127.0.0.1:${port}`, { localAddress, headers })
  client.on('error', () => {})
  return new Promise((resolve) => {
    client.on('open', () => resolve(client))
    client.on('unexpected-response', (_request, response) => resolve(response.resume()))
  })
}

const outcome = async (opening: Promise<WebSocket | IncomingMessage>) => {
  const opened = await opening
  return opened instanceof WebSocket ? 'open' : `${opened.statusCode} ${opened.headers['retry-after'] ?? '-'}`
}

const limiterOn = (store: Store, onStoreError: 'local' | 'closed' | 'throw' | 'open' = 'local') =>
  new RateLimiter({ policies: slidingLog({ limit: 2, window: '1h' }), store, onStoreError })

describe.each([
  ['a synchronous store', () => memoryStore()],
  ['an asynchronous store', () => asyncStore(memoryStore())],
])('connections on %s', (_name, createStore) => {
  test('an address opens as many as the limit admits; the next one gets 429, another address does not', async () => {
    const { port } = await listen(limiterOn(createStore()))
    for (const result of ['open', 'open', '429 3600', '429 3600']) expect(await outcome(open(port))).toBe(result)
    expect(await outcome(open(port, '127.0.0.2'))).toBe('open')
  })

  test('releaseOnClose: so many are open at once, however they end', async () => {
    const limiter = limiterOn(createStore())
    const { port } = await listen(limiter, { releaseOnClose: true })
    const [one, two] = [(await open(port)) as WebSocket, (await open(port)) as WebSocket]
    expect(await outcome(open(port))).toMatch(/^429/)
    one.close()
    two.terminate()
    const left = async () => (await limiter.peek('127.0.0.1')).remaining
    await vi.waitFor(async () => expect(await left()).toBe(2))
    for (const result of [/^open/, /^open/, /^429/]) expect(await outcome(open(port))).toMatch(result)
  })
})

test('a client over the open connections is told the wait of the policy', async () => {
  const policies = concurrency({ limit: 1, lease: '1h', retryAfter: '2s' })
  const { port } = await listen(new RateLimiter({ policies, store: memoryStore() }))
  for (const result of ['open', '429 2']) expect(await outcome(open(port))).toBe(result)
})

test('connections and messages with the same policies count apart', async () => {
  const { port, sockets } = await listen('2/57m')
  const seen: string[] = []
  sockets.on('connection', (socket, request) => {
    limitMessages(socket, '2/57m', { key: requestKey(request) })
    socket.on('message', (data) => seen.push(`${data}`))
  })
  const first = (await open(port)) as WebSocket
  for (const text of ['a', 'b', 'c']) first.send(text)
  await eventually(() => expect(seen).toEqual(['a', 'b']))
  expect(await outcome(open(port))).toBe('open')
})

test('requests that are no upgrade are not counted', async () => {
  const { server, port } = await listen('1/1h')
  for (const _ of [1, 2, 3]) expect(await status(server)).toBe(200)
  expect(await outcome(open(port))).toBe('open')
})

function status(server: Server): Promise<number | undefined> {
  const { port } = server.address() as AddressInfo
  return new Promise((resolve) => get({ port }, (response) => resolve(response.resume().statusCode)))
}

test('keys: behind a proxy, and by a header for a scope of its own', async () => {
  const policies = [
    slidingLog({ name: 'address', limit: 2, window: '1h', scope: 'address' }),
    slidingLog({ name: 'user', limit: 1, window: '1h', scope: 'user' }),
  ]
  const keys = { address: byIp({ trustedProxies: 1 }), user: byHeader('x-user') }
  const { port } = await listen(new RateLimiter({ policies }), { keys })
  const from = (address: string, user: string) =>
    outcome(open(port, '127.0.0.1', { 'x-forwarded-for': `192.0.2.9, ${address}`, 'x-user': user }))
  expect(await from('203.0.113.1', 'ann')).toBe('open')
  expect(await from('203.0.113.2', 'ann')).toMatch(/^429/)
  expect(await from('203.0.113.1', 'bob')).toBe('open')
  expect(await from('203.0.113.1', 'cid')).toMatch(/^429/)
})

test.each([
  ['local', 'open'],
  ['open', 'open'],
  ['closed', '503 1'],
  ['throw', '500 -'],
] as const)('a store that fails, with onStoreError %s: %s', async (onStoreError, result) => {
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warnings.mockRestore())
  const store = faultyStore(memoryStore())
  store.fail('error')
  const { port } = await listen(limiterOn(store, onStoreError))
  expect(await outcome(open(port))).toBe(result)
  expect(warnings).toHaveBeenCalledTimes(onStoreError === 'throw' ? 1 : 0)
})

test('a client that resets the connection while the store decides takes no unit and ends nothing', async () => {
  const memory = memoryStore()
  const held = heldStore(memory)
  const limiter = new RateLimiter({ policies: '2/1h sliding-log', store: held.store, storeTimeout: Infinity })
  const { sockets, port } = await listen(limiter)
  const client = connectTcp(port, '127.0.0.1')
  client.write('GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
  await eventually(() => expect(held.calls()).toBe(1))
  client.resetAndDestroy()
  await once(client, 'close')
  held.release()
  await vi.waitFor(async () => expect((await limiter.peek('127.0.0.1')).remaining).toBe(2))
  expect(sockets.clients.size).toBe(0)
})

test('a shutdown while the store decides: the connection gets 503, holds no unit, and the server closes', async () => {
  const store = faultyStore(memoryStore())
  const limiter = new RateLimiter({ policies: '9 at once', store })
  const { server, sockets, port } = await listen(limiter)
  store.fail('partition')
  const opening = outcome(open(port))
  await eventually(() => expect(store.counts.calls).toBe(1))
  sockets.close()
  const closed = new Promise((resolve) => server.close(resolve))
  store.heal()
  expect(await opening).toBe('503 -')
  await closed
  await vi.waitFor(async () => expect((await limiter.peek('127.0.0.1')).remaining).toBe(9))
})

test('a `server.emit` that other code has wrapped may return nothing', async () => {
  const server = createServer()
  const emit = server.emit.bind(server) as (...values: unknown[]) => boolean
  server.emit = ((...values: unknown[]) => void emit(...values)) as never
  new WebSocketServer({ server }).on('connection', (socket) => socket.send('hello'))
  limitConnections(server, '100/1m')
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  expect(String((await once(client, 'message'))[0])).toBe('hello')
  client.terminate()
  server.close()
})

test('an extractor that never answers ends in status 500, not in a connection that stays open', async () => {
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  onTestFinished(() => warnings.mockRestore())
  const { port } = await listen('5/1h', { keys: () => new Promise(() => {}) })
  expect(await outcome(open(port))).toBe('500 -')
  expect(warnings.mock.calls[0]?.[0]).toMatch(/keys did not answer within 5000 ms/)
})

test('a ban of a penalty has the status of the penalty, and a request without an address gets 403', async () => {
  const penalty = { after: 1, within: '1m', ban: '1h', status: 403 } as const
  const { port } = await listen(new RateLimiter({ policies: '1/1m sliding-log', penalty }))
  for (const result of ['open', /^4/, '403 3600']) expect(await outcome(open(port))).toMatch(result)
  const behind = await listen('5/1h', { keys: byIp({ platform: 'nginx', warn: false }) })
  expect(await outcome(open(behind.port, '127.0.0.1', { 'x-real-ip': 'unknown' }))).toBe('403 -')
})

test('a client that does not take its refusal is cut off', async () => {
  const { server, port } = await listen(new RateLimiter({ policies: { limit: 0, window: '1h' } }))
  const client = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true })
  client.write('GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
  await once(client, 'connect')
  const connections = () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
  await vi.waitFor(async () => expect(await connections()).toBe(0), { timeout: 5000 })
  client.destroy()
})

test('requestKey gives the address, its prefix for IPv6, or what an extractor says', async () => {
  const request = (remoteAddress: string | undefined, headers = {}) =>
    ({ socket: { remoteAddress }, headers, method: 'GET' }) as unknown as IncomingMessage
  expect(requestKey(request('203.0.113.7'))).toBe('203.0.113.7')
  expect(requestKey(request('2001:db8:1:2::7'))).toBe('2001:db8:1:0::/56')
  expect(requestKey(request('::ffff:203.0.113.7'))).toBe('203.0.113.7')
  expect(requestKey(request('203.0.113.7', { 'x-user': 'ann' }), byHeader('x-user'))).toBe('ann')
  expect(requestKey(request(undefined))).toBe('~')
  for (const wrong of [undefined, {}, { request: request('203.0.113.7') }]) {
    expect(() => requestKey(wrong as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  }
  for (const found of [Promise.resolve('ann'), Promise.reject(new Error('late'))]) {
    expect(() => requestKey(request('203.0.113.7'), () => found)).toThrow(/at once/)
  }
})

describe('a server that emits no upgrades is an error, which names what to give', () => {
  test.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /got undefined\. Write limitConnections\(createServer\(\)/],
    ['a WebSocketServer', new WebSocketServer({ noServer: true }), /new WebSocketServer\(\{ server \}\)/],
    ['an application of Express', express(), /const server = app\.listen\(8080\)/],
    ['an application of Koa', new Koa(), /const server = app\.listen\(8080\)/],
    ['an application of Fastify', fastify(), /limitConnections\(app\.server/],
    ['the process', process, /limitConnections\(createServer\(\)/],
    ['an emitter', new EventEmitter(), /limitConnections\(createServer\(\)/],
    ['a server of node:net', createTcpServer(), /limitConnections\(createServer\(\)/],
    ['a server of node:tls', createTlsServer({}), /limitConnections\(createServer\(\)/],
    ['its own look-alike', { emit() {}, listen() {}, setTimeout() {} }, /limitConnections\(createServer\(\)/],
  ])('%s', (_name, given, fix) => {
    const act = () => limitConnections(given as Server, '10/1m')
    expect(act).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringMatching(fix) }))
    expect(act).toThrow(/server must be a server of node:http, node:https or node:http2/)
  })

  test('servers of node:http, node:https and node:http2 are none', () => {
    const servers = [createServer(), createHttpsServer({}), createHttp2Server(), createSecureServer({})]
    for (const server of servers) expect(limitConnections(server, '10/1m')).toBeInstanceOf(RateLimiter)
  })
})

const socket = () => new WebSocket('ws://127.0.0.1:1', { autoPong: false }).on('error', () => {})

describe('misuse is an error', () => {
  const two = new RateLimiter({
    policies: [
      slidingLog({ name: 'a', limit: 1, window: '1h', scope: 'a' }),
      slidingLog({ name: 'b', limit: 1, window: '1h', scope: 'connection' }),
    ],
  })
  const counted = { limit: 1, window: '1h', countRefused: true }

  test.each<[string, () => unknown, string, RegExp]>([
    ['no socket', () => limitMessages(undefined as never, '1/1s'), 'HEADGATE_OPTION', /WebSocket of ws/],
    ['policies as socket', () => limitMessages('1/1s' as never, {} as never), 'HEADGATE_OPTION', /WebSocket of ws/],
    [
      'a server',
      () => limitMessages(new WebSocketServer({ noServer: true }) as never, '1/1s'),
      'HEADGATE_OPTION',
      /WebSocket of ws/,
    ],
    ['no policies', () => limitMessages(socket(), undefined as never), 'HEADGATE_POLICY', /'20\/1s'/],
    ['a wrong policy', () => limitMessages(socket(), 'often'), 'HEADGATE_POLICY', /often/],
    ['an unknown option', () => limitMessages(socket(), '1/1s', { keys: 'a' } as never), 'HEADGATE_OPTION', /keys/],
    [
      'options that are none',
      () => limitMessages(socket(), '1/1s', 'drop' as never),
      'HEADGATE_OPTION',
      /an object of options/,
    ],
    [
      'overLimit',
      () => limitMessages(socket(), '1/1s', { overLimit: 'ignore' as never }),
      'HEADGATE_OPTION',
      /'drop', 'close' or 'delay'/,
    ],
    ['cost', () => limitMessages(socket(), '1/1s', { cost: 0 }), 'HEADGATE_COST', /cost/],
    ['cost null', () => limitMessages(socket(), '1/1s', { cost: null as never }), 'HEADGATE_COST', /cost/],
    [
      'a cost of another policy',
      () => limitMessages(socket(), two, { key: 'k', cost: { a: 1, c: 0 } }),
      'HEADGATE_COST',
      /"c"/,
    ],
    ['only', () => limitMessages(socket(), '1/1s', { only: ['say'] } as never), 'HEADGATE_OPTION', /no event name/],
    ['notify', () => limitMessages(socket(), '1/1s', { notify: true as never }), 'HEADGATE_OPTION', /notify/],
    ['maxQueue', () => limitMessages(socket(), '1/1s', { maxQueue: 0 }), 'HEADGATE_OPTION', /maxQueue/],
    [
      'maxWait',
      () => limitMessages(socket(), '1/1s', { overLimit: 'delay', maxWait: 'soon' }),
      'HEADGATE_OPTION',
      /maxWait/,
    ],
    ['maxWait without delay', () => limitMessages(socket(), '1/1s', { maxWait: '1s' }), 'HEADGATE_OPTION', /no effect/],
    [
      'sleeper',
      () => limitMessages(socket(), '1/1s', { overLimit: 'delay', sleeper: 5 as never }),
      'HEADGATE_OPTION',
      /sleeper/,
    ],
    [
      'delay with countRefused',
      () => limitMessages(socket(), counted, { overLimit: 'delay' }),
      'HEADGATE_OPTION',
      /countRefused/,
    ],
    ['key undefined', () => limitMessages(socket(), '1/1s', { key: undefined as never }), 'HEADGATE_KEY', /requestKey/],
    ['key null', () => limitMessages(socket(), '1/1s', { key: null as never }), 'HEADGATE_KEY', /requestKey/],
    ['key a number', () => limitMessages(socket(), '1/1s', { key: 7 as never }), 'HEADGATE_KEY', /requestKey/],
    ['a scope without key', () => limitMessages(socket(), two), 'HEADGATE_KEY', /"a"/],
    [
      'a scope without text',
      () => limitMessages(socket(), two, { key: { a: undefined as never } }),
      'HEADGATE_KEY',
      /"a"/,
    ],
    ['a key for no scope', () => limitMessages(socket(), two, { key: { a: 'x', c: 'y' } }), 'HEADGATE_OPTION', /"c"/],
    ['messages in flight', () => limitMessages(socket(), '2 at once'), 'HEADGATE_POLICY', /limitConnections\(server/],
    [
      'messages in flight beside a rate',
      () => limitMessages(socket(), new RateLimiter({ policies: ['5/1s', '2 at once lease 1s'] }), { key: 'a' }),
      'HEADGATE_POLICY',
      /'20\/1s'/,
    ],
    ['keys', () => limitConnections(createServer(), '1/1s', { keys: 'ip' as never }), 'HEADGATE_OPTION', /keys/],
    [
      'releaseOnClose',
      () => limitConnections(createServer(), '1/1s', { releaseOnClose: 1 as never }),
      'HEADGATE_OPTION',
      /releaseOnClose/,
    ],
    [
      'an unknown connection option',
      () => limitConnections(createServer(), '1/1s', { key: 'a' } as never),
      'HEADGATE_OPTION',
      /key/,
    ],
  ])('%s', (_name, act, code, message) => {
    expect(act).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }))
  })
})

test('a key may have scopes that only other plans of the limiter have', () => {
  const events = policy('50/1s token-bucket', { name: 'events', scope: 'connection' })
  const free = [policy('20/1m', { name: 'messages', scope: 'user' }), events]
  const limiter = new RateLimiter({ policies: free })
  const key = { user: 'ann' }
  expect(limitMessages(socket(), limiter, { key }).key).toEqual({ user: 'ann', connection: expect.any(String) })
  expect(limitMessages(socket(), limiter.withPlan(events), { key }).key).toEqual(expect.any(String))
  expect(() => limitMessages(socket(), limiter.withPlan(free), { key: { usr: 'ann' } as never })).toThrow(/"user"/)
})
