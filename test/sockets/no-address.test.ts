import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { limitConnections, limitMessages, requestKey } from '../../adapters/sockets/index.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import { byHeader, byIp, combine, type KeyExtractor, memoryStore, RateLimiter, slidingLog } from '../../src/index.ts'
import { asyncStore } from '../support/async-store.ts'

const warned = vi.spyOn(process, 'emitWarning')
beforeEach(() => {
  forgetWarnings()
  warned.mockReset().mockImplementation(() => undefined)
})

type OnConnection = (socket: WebSocket, request: IncomingMessage) => void

async function listen(onConnection: OnConnection, where: number | string = 0, before = (_server: unknown) => {}) {
  const server = createServer()
  const sockets = new WebSocketServer({ server })
  before(server)
  sockets.on('connection', onConnection)
  server.listen(where as number)
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.close()
  })
  return { sockets, port: (server.address() as AddressInfo).port }
}

const upgrade = [
  'GET / HTTP/1.1',
  'Host: x',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
  'X-Forwarded-For: 192.0.2.1',
  '\r\n',
].join('\r\n')

/** Asks for an upgrade, and resets the connection before the server reads it. */
function upgradeAndReset(port: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(upgrade, () => socket.resetAndDestroy()))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
  })
}

/** Opens a connection that stays: the server has read all that came before. True if it was admitted. */
async function opened(port: number, headers = {}): Promise<boolean> {
  const client = new WebSocket(`ws://127.0.0.1:${port}`, { headers })
  onTestFinished(() => client.terminate())
  client.on('error', () => undefined)
  return new Promise((resolve) => {
    client.on('open', () => client.ping())
    client.on('pong', () => resolve(true))
    client.on('close', () => resolve(false))
  })
}

const extractors: [string, KeyExtractor<IncomingMessage>][] = [
  ['by address', byIp()],
  ['by a header that is missing', byHeader('x-key')],
  ['by several extractors', combine(byIp(), byHeader('user-agent'))],
  ['behind trusted proxies', byIp({ trustedProxies: 1 })],
  ['by an extractor that finds nothing', () => undefined],
]

describe('clients that have left before their address was read', () => {
  test.each(extractors)('share no key of requestKey, %s, and end nothing', async (_how, extractor) => {
    const keys: string[] = []
    const limiter = new RateLimiter({ policies: '5/1h sliding-log' })
    const { sockets, port } = await listen((socket, request) => {
      const key = requestKey(request, extractor)
      if (request.socket.remoteAddress === undefined) keys.push(key)
      limitMessages(socket, limiter, { key })
    })
    for (let n = 0; n < 20; n++) await upgradeAndReset(port)
    expect(await opened(port, { 'x-forwarded-for': '198.51.100.1' })).toBe(true)
    expect(keys.length).toBeGreaterThan(0)
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys).not.toContain('~')
    await vi.waitFor(() => expect(sockets.clients.size).toBe(1))
    expect(warned).not.toHaveBeenCalledWith(expect.stringContaining('no address'), expect.anything())
  })

  test.each([
    ['at once', byIp(), memoryStore],
    ['with an extractor that answers later', async () => undefined, memoryStore],
    ['with a store that answers later', byIp(), () => asyncStore(memoryStore())],
  ])('open no connection, %s', async (_how, keys, createStore) => {
    const limiter = new RateLimiter({ policies: '5/1h sliding-log', store: createStore() })
    const connected = vi.fn()
    const limited = (server: unknown) => void limitConnections(server as never, limiter, { keys: keys as never })
    const { port } = await listen(connected, 0, limited)
    for (let n = 0; n < 20; n++) await upgradeAndReset(port)
    expect(await opened(port)).toBe(true)
    expect(connected).toHaveBeenCalledTimes(1)
    expect((await limiter.peek('~')).remaining).toBe(5)
  })
})

describe('a platform that tells no valid address', () => {
  const keys = byIp({ platform: 'nginx', warn: false })
  const hostile = ['', 'x', '192.0.2.1, 192.0.2.2', 'unknown']

  test.each(hostile)(
    'X-Real-IP of %j: requestKey closes the connection, and no proxy shares its quota',
    async (field) => {
      const found: string[] = []
      const { port } = await listen((_socket, request) => void found.push(requestKey(request, keys)))
      expect([await opened(port, { 'x-real-ip': field }), await opened(port, { 'x-real-ip': field })]).toEqual([
        false,
        false,
      ])
      expect(found[0]).not.toBe(found[1])
      expect(await opened(port, { 'x-real-ip': '192.0.2.1' })).toBe(true)
      expect(found[2]).toBe('192.0.2.1')
    },
  )

  test.each(hostile)('X-Real-IP of %j: limitConnections closes the connection', async (field) => {
    const limiter = new RateLimiter({ policies: slidingLog({ limit: 1, window: '1h' }) })
    const { port } = await listen(vi.fn(), 0, (server) => void limitConnections(server as never, limiter, { keys }))
    expect(await opened(port, { 'x-real-ip': field })).toBe(false)
    expect([
      await opened(port, { 'x-real-ip': '192.0.2.1' }),
      await opened(port, { 'x-real-ip': '192.0.2.2' }),
    ]).toEqual([true, true])
  })
})

test('over a unix socket, all clients have one key, and one warning says so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 's')
  const found: string[] = []
  await listen((_socket, request) => void found.push(requestKey(request)), path)
  for (let n = 0; n < 2; n++) {
    const client = new WebSocket(`ws+unix://${path}:/`)
    await once(client, 'open')
    client.terminate()
  }
  await vi.waitFor(() => expect(found).toEqual(['~', '~']))
  expect(warned.mock.calls).toEqual([
    [expect.stringContaining('unix socket'), { type: 'HeadgateWarning', code: 'HEADGATE_NO_ADDRESS' }],
  ])
})
