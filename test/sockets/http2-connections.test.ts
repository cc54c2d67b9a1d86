import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
  type SessionOptions,
} from 'node:http2'
import { type AddressInfo, connect as connectTcp, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type ConnectionOptions, limitConnections } from '../../adapters/sockets/index.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import { byHeader, byIp, memoryStore, RateLimiter, type Store, slidingLog } from '../../src/index.ts'
import { faultyStore } from '../../src/testing/index.ts'
import { heldStore } from '../support/answering-stores.ts'
import { asyncStore } from '../support/async-store.ts'

/* Extended CONNECT (RFC 8441): WebSockets and other protocols, each on a stream of HTTP/2. */

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants
const codes = [NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR, NGHTTP2_REFUSED_STREAM, NGHTTP2_CANCEL]

const warned = vi.spyOn(process, 'emitWarning')
beforeEach(() => {
  forgetWarnings()
  warned.mockReset().mockImplementation(() => undefined)
})

const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 5000, interval: 5 })
const pass = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const used = async (limiter: RateLimiter, key = '127.0.0.1') =>
  (await limiter.peek(key)).policies.map(({ limit, remaining }) => limit - remaining)

type Accept = (stream: ServerHttp2Stream) => unknown
const accepts: Accept = (stream) => stream.on('error', () => {}).respond({ ':status': 200 })

/** A server whose application accepts every extended CONNECT, and `seen`, the streams that the application has seen. */
async function listen(
  policies: string | RateLimiter,
  options: ConnectionOptions = {},
  accept = accepts,
  where: string | number = 0,
) {
  const server = createServer({ settings: { enableConnectProtocol: true } })
  const seen: ServerHttp2Stream[] = []
  const sockets: Socket[] = []
  server.on('stream', (stream, headers) => {
    if (headers[':protocol'] === undefined) return
    seen.push(stream)
    accept(stream)
  })
  const limiter = limitConnections(server, policies, options)
  server.listen(where as number, where === 0 ? '127.0.0.1' : undefined)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const port = where === 0 ? (server.address() as AddressInfo).port : 0
  /** A client that has read the settings of the server. */
  const dial = async (settings: SessionOptions['settings'] = {}): Promise<ClientHttp2Session> => {
    const socket = where === 0 ? connectTcp(port, '127.0.0.1') : connectTcp(where as string)
    sockets.push(socket)
    const session = connect('http://a', { settings, createConnection: () => socket }).on('error', () => {})
    onTestFinished(() => session.destroy())
    await once(session, 'remoteSettings')
    return session
  }
  return { server, seen, sockets, limiter, dial }
}

function ask(session: ClientHttp2Session, headers = {}): ClientHttp2Stream {
  const head = { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/chat', ':scheme': 'http' }
  return session.request({ ...head, ':authority': 'a', ...headers }).on('error', () => {})
}

const answer = async (stream: ClientHttp2Stream) => ((await once(stream, 'response')) as [IncomingHttpHeaders])[0]
const status = async (stream: ClientHttp2Stream) => (await answer(stream))[':status']

const stores: [string, () => Store][] = [
  ['a synchronous store', () => memoryStore()],
  ['an asynchronous store', () => asyncStore(memoryStore())],
]

describe.each(stores)('streams on %s', (_name, createStore) => {
  const limiterOf = (policies: string | string[]) => new RateLimiter({ policies, store: createStore() })

  test('each stream of one connection is one connection, and a closed one makes room', async () => {
    const { dial, seen, limiter } = await listen(limiterOf('3 at once'))
    const session = await dial()
    const streams = Array.from({ length: 20 }, () => ask(session))
    const statuses = await Promise.all(streams.map(status))
    expect(statuses).toEqual([200, 200, 200, ...Array(17).fill(429)])
    expect(await status(ask(await dial()))).toBe(429)
    expect(seen).toHaveLength(3)
    expect(await used(limiter)).toEqual([3])
    streams[1]?.close()
    await eventually(async () => expect(await used(limiter)).toEqual([2]))
    expect(await status(ask(session))).toBe(200)
    expect(await status(ask(session))).toBe(429)
    expect(seen).toHaveLength(4)
  })

  test('a refusal has its fields and a body, ends the stream, and leaves the session open', async () => {
    const { dial, seen } = await listen(limiterOf('1/1h sliding-log'))
    const session = await dial()
    expect(await status(ask(session))).toBe(200)
    const refused = ask(session)
    refused.write('early')
    const fields = await answer(refused)
    expect(fields).toMatchObject({ ':status': 429, 'retry-after': '3600', 'content-type': 'text/plain' })
    expect(await refused.setEncoding('utf8').toArray()).toEqual(['Too Many Requests'])
    await eventually(() => expect(refused.rstCode).toBe(NGHTTP2_NO_ERROR))
    await eventually(() => expect(refused.destroyed).toBe(true))
    expect([session.closed, seen.length]).toEqual([false, 1])
  })

  const moments: [string, Accept, (stream: ClientHttp2Stream) => Promise<unknown>][] = [
    ['in the same write as its request', accepts, async () => {}],
    ['before the answer', (stream) => void stream.on('error', () => {}), () => pass(20)],
    ['after the answer', accepts, answer],
    ['while the server has paused it', (stream) => accepts(stream.pause()), answer],
    [
      'with data that the server does not read',
      (stream) => accepts(stream.once('readable', () => {})),
      async (stream) => {
        await answer(stream)
        await new Promise((resolve) => stream.write('data', resolve))
      },
    ],
  ]
  const resets = moments.flatMap((moment) => codes.map((code) => [code, ...moment] as const))

  test.each(resets)('a reset with code %i %s gives the unit back', async (code, _when, accept, until) => {
    const { dial, limiter } = await listen(limiterOf(['9 at once', '9/1h sliding-log']), {}, accept)
    const session = await dial()
    const streams = Array.from({ length: 4 }, () => ask(session))
    await Promise.all(
      streams.map(async (stream) => {
        await until(stream)
        stream.close(code)
      }),
    )
    await eventually(() => expect(streams.every(({ destroyed }) => destroyed)).toBe(true))
    await eventually(async () => expect((await used(limiter))[0]).toBe(0))
    const last = ask(session)
    await eventually(async () => expect((await used(limiter))[0]).toBe(1))
    last.close()
  })

  test.each<[string, Accept, (session: ClientHttp2Session, socket: Socket) => unknown]>([
    ['the session is destroyed', accepts, (session) => session.destroy()],
    ['the connection is reset', accepts, (_session, socket) => socket.resetAndDestroy()],
    ['nobody answers, and the session is destroyed', () => {}, (session) => session.destroy()],
    ['the server ends it', (stream) => stream.respond() ?? stream.end(), () => {}],
    ['the server resets it', (stream) => stream.close(NGHTTP2_CANCEL), () => {}],
    ['the server destroys it', (stream) => void stream.destroy(), () => {}],
    ['the application refuses it', (stream) => stream.respond({ ':status': 401 }, { endStream: true }), () => {}],
  ])('%s: no unit is in flight, and with releaseOnClose no other unit is taken', async (_how, accept, leave) => {
    for (const releaseOnClose of [false, true]) {
      const limiter = limiterOf(['5 at once', '5/1h sliding-log'])
      const { dial, seen, sockets } = await listen(limiter, { releaseOnClose }, accept)
      const session = await dial()
      for (let n = 0; n < 3; n++) ask(session)
      await eventually(() => expect(seen).toHaveLength(3))
      leave(session, sockets[0] as Socket)
      await eventually(async () => expect(await used(limiter)).toEqual([0, releaseOnClose ? 0 : 3]))
    }
  })
})

test.each([...codes, 'the session'])(
  'a client that resets (%s) before the decision leaves no unit, and the application sees no stream',
  async (code) => {
    const held = heldStore(memoryStore())
    const policies = ['9 at once', '9/1h sliding-log']
    const { dial, seen, limiter } = await listen(
      new RateLimiter({ policies, store: held.store, storeTimeout: Infinity }),
    )
    const session = await dial()
    const stream = ask(session)
    await eventually(() => expect(held.calls()).toBe(1))
    if (typeof code === 'string') session.destroy()
    else stream.close(code)
    await pass(50)
    held.release()
    await eventually(async () => expect(await used(limiter)).toEqual([0, 0]))
    expect(seen).toEqual([])
    expect(warned).not.toHaveBeenCalled()
  },
)

/** Listeners of a session see each stream before those of the server, and so before the limit. */
const onSessionStreams = (server: Http2Server, listener: Accept) =>
  server.on('session', (session) => session.prependListener('stream', listener))

test('a stream that the client has closed before the decision, and that is not destroyed, is not opened', async () => {
  const held = heldStore(memoryStore())
  const limiter = new RateLimiter({ policies: '9 at once', store: held.store, storeTimeout: Infinity })
  const { server, dial, seen } = await listen(limiter)
  const streams: ServerHttp2Stream[] = []
  onSessionStreams(server, (stream) => streams.push(stream.pause()))
  const stream = ask(await dial())
  await eventually(() => expect(held.calls()).toBe(1))
  await new Promise((resolve) => stream.write('data that nobody reads', resolve))
  stream.close(NGHTTP2_NO_ERROR)
  await eventually(() => expect([streams[0]?.closed, streams[0]?.destroyed]).toEqual([true, false]))
  held.release()
  await eventually(async () => expect(await used(limiter)).toEqual([0]))
  expect(seen).toEqual([])
})

test('an error of a stream just before the decision does not end the process', async () => {
  const held = heldStore(memoryStore())
  const limiter = new RateLimiter({ policies: '9 at once', store: held.store, storeTimeout: Infinity })
  const { server, dial, seen } = await listen(limiter)
  const streams: ServerHttp2Stream[] = []
  onSessionStreams(server, (stream) => streams.push(stream))
  const stream = ask(await dial())
  await eventually(() => expect(held.calls()).toBe(1))
  await Promise.resolve() // the decision follows in this turn, and the event 'error' in the next tick
  held.release()
  streams[0]?.destroy(new Error('lost'))
  await eventually(() => expect(stream.destroyed).toBe(true))
  await eventually(async () => expect(await used(limiter)).toEqual([0]))
  expect(seen).toEqual([])
})

test('a stream that was destroyed before the limit saw it has no address, and takes no unit of another client', async () => {
  const { server, dial, seen, limiter } = await listen('5/1h sliding-log')
  onSessionStreams(server, (stream) => stream.destroy())
  await once(ask(await dial()), 'close')
  expect(seen).toEqual([])
  expect(await used(limiter, '~')).toEqual([0])
  expect(warned).not.toHaveBeenCalled()
})

test('an open stream holds its unit for longer than a lease, also before its answer', async () => {
  const limiter = new RateLimiter({ policies: '2 at once lease 200ms' })
  const { dial, seen } = await listen(limiter, {}, (stream) => seen.length > 1 && accepts(stream))
  const session = await dial()
  const streams = [ask(session), ask(session)]
  await pass(700)
  expect(await used(limiter)).toEqual([2])
  for (const stream of streams) stream.close()
  await eventually(async () => expect(await used(limiter)).toEqual([0]))
})

test('two limits on one server, and the event connect of the compatibility API', async () => {
  const server = createServer({ settings: { enableConnectProtocol: true } })
  const connected = vi.fn((_request, response) => response.writeHead(200).flushHeaders())
  server.on('connect', connected)
  server.on('request', (_request, response) => response.end('hello'))
  const limiters = [limitConnections(server, '2 at once'), limitConnections(server, '3/1h sliding-log')]
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    session.destroy()
    server.close()
  })
  await once(session, 'remoteSettings')
  const streams = [ask(session), ask(session)]
  expect(await Promise.all(streams.map(status))).toEqual([200, 200])
  expect(await status(ask(session))).toBe(429)
  streams[0]?.close()
  await eventually(async () => expect(await used(limiters[0] as RateLimiter)).toEqual([1]))
  expect(await status(ask(session))).toBe(429)
  expect(connected).toHaveBeenCalledTimes(2)
  for (let n = 0; n < 5; n++) expect(await status(session.request({ ':path': '/' }))).toBe(200)
  expect(await status(session.request({ ':method': 'CONNECT', ':authority': 'b:443' }))).toBe(200)
  expect(connected).toHaveBeenCalledTimes(3)
})

test('every protocol of an extended CONNECT is limited', async () => {
  const { dial } = await listen('1/1h sliding-log')
  const session = await dial()
  expect(await status(ask(session, { ':protocol': 'connect-udp' }))).toBe(200)
  expect(await status(ask(session))).toBe(429)
})

test('keys read the request of the stream: its proxies, a header, the path and the authority', async () => {
  const policies = ['address', 'user', 'text'].map((scope) =>
    slidingLog({ limit: 5, window: '1h', scope, name: scope }),
  )
  const limiter = new RateLimiter({ policies })
  const keys = {
    address: byIp({ trustedProxies: 1 }),
    user: byHeader('x-user'),
    text: ({ method, url, headers, httpVersion }: IncomingMessage) =>
      [method, url, (headers as IncomingHttpHeaders)[':authority'], httpVersion].join(' '),
  }
  const { dial } = await listen(limiter, { keys })
  const head = { 'x-forwarded-for': '192.0.2.9, 203.0.113.1', 'x-user': 'ann' }
  expect(await status(ask(await dial(), head))).toBe(200)
  const key = { address: '203.0.113.1', user: 'ann', text: 'CONNECT /chat a 2.0' }
  expect((await limiter.peek(key)).policies.map(({ remaining }) => remaining)).toEqual([4, 4, 4])
})

test('over a unix socket, all clients have one key; an address that a platform does not tell gets 403', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { dial, limiter } = await listen('1/1h sliding-log', {}, accepts, join(folder, 's'))
  expect([await status(ask(await dial())), await status(ask(await dial()))]).toEqual([200, 429])
  expect(await used(limiter, '~')).toEqual([1])
  const behind = await listen('5/1h', { keys: byIp({ platform: 'nginx', warn: false }) })
  expect(await status(ask(await behind.dial(), { 'x-real-ip': 'unknown' }))).toBe(403)
})

test.each([
  ['local', 200, 429],
  ['open', 200, 200],
  ['closed', 503, 503],
  ['throw', 500, 500],
] as const)('a store that fails, with onStoreError %s: %i, then %i', async (onStoreError, ...expected) => {
  const store = faultyStore(memoryStore())
  store.fail('error')
  const { dial, seen } = await listen(new RateLimiter({ policies: '1 at once', store, onStoreError }))
  const session = await dial()
  expect([await status(ask(session)), await status(ask(session))]).toEqual(expected)
  expect(seen).toHaveLength(expected.filter((each) => each === 200).length)
  expect(warned).toHaveBeenCalledTimes(onStoreError === 'throw' ? 1 : 0)
})

test('a client that does not take its refusal loses the stream, and keeps the session', async () => {
  const { dial, server } = await listen(new RateLimiter({ policies: { limit: 0, window: '1h' } }))
  const closed = vi.fn()
  onSessionStreams(server, (stream) => stream.on('close', closed))
  const session = await dial({ initialWindowSize: 0 })
  const stream = ask(session)
  expect(await status(stream)).toBe(429)
  await pass(500)
  expect(closed).not.toHaveBeenCalled()
  await eventually(() => expect(closed).toHaveBeenCalledTimes(1))
  expect(session.closed).toBe(false)
})
