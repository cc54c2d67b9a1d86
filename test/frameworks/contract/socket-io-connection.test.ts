import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server, type Socket } from 'socket.io'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { limitConnections, limitMessages } from '../../../adapters/sockets/index.ts'
import { memoryStore, RateLimiter, type Store, tokenBucket } from '../../../src/index.ts'
import { asyncStore } from '../../support/async-store.ts'

/* What one connection gets by packets of socket.io. The clients are raw: no library keeps them from sending any packet. */

const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 10_000, interval: 2 })

async function serve(accept: (socket: Socket) => void) {
  const http = createServer().listen(0, '127.0.0.1')
  await once(http, 'listening')
  const io = new Server(http)
  const delivered: string[] = []
  let left = 0
  const connected = (socket: Socket) => {
    accept(socket)
    socket.on('disconnect', () => left++)
    socket.on('say', (text: string) => delivered.push(text))
  }
  io.on('connection', connected)
  io.of(/^\/room-\d+$/).on('connection', connected)
  onTestFinished(() => io.close())
  const { port } = http.address() as AddressInfo
  return { io, http, delivered, port, left: () => left }
}

/** A connection of engine.io over one WebSocket. */
async function connect(port: number) {
  const client = new WebSocket(`ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`).on('error', () => {})
  onTestFinished(() => client.terminate())
  const got: string[] = []
  client.on('message', (data) => got.push(`${data}`))
  await eventually(() => expect(got[0]).toMatch(/^0/))
  const namespaces = (found: RegExp) => got.filter((packet) => found.test(packet)).length
  return {
    client,
    notices: () => namespaces(/rate_limited/),
    /** Sends CONNECT, and waits until the server has confirmed it. */
    async join(namespace = '') {
      const before = namespaces(/^40/)
      client.send(`40${namespace && `${namespace},`}`)
      await eventually(() => expect(namespaces(/^40/)).toBe(before + 1))
    },
    say(times: number, namespace = '') {
      for (let n = 0; n < times; n++) client.send(`42${namespace && `${namespace},`}["say","m"]`)
    },
    /** Sends DISCONNECT, which the server does not confirm: a CONNECT too soon after it is an error to socket.io. */
    async leave(left: () => number, namespace = '') {
      const before = left()
      client.send(`41${namespace && `${namespace},`}`)
      await eventually(() => expect(left()).toBe(before + 1))
    },
  }
}

const stores: [string, () => Store][] = [
  ['a synchronous store', () => memoryStore()],
  ['an asynchronous store', () => asyncStore(memoryStore())],
]

describe.each(stores)('one connection has one quota, on %s', (_name, createStore) => {
  const limiterOf = () => new RateLimiter({ policies: '20/1h', store: createStore() })

  test('however often its client sends CONNECT and DISCONNECT', async () => {
    const limiter = limiterOf()
    const { delivered, port, left } = await serve((socket) => void limitMessages(socket, limiter))
    const { join, say, leave, notices } = await connect(port)
    for (let round = 1; round <= 10; round++) {
      await join()
      say(30)
      await eventually(() => expect(delivered.length + notices()).toBe(30 * round))
      await leave(left)
    }
    expect(delivered).toHaveLength(20)
  })

  test('in however many namespaces, one after the other and at once', async () => {
    const limiter = limiterOf()
    const { delivered, port } = await serve((socket) => void limitMessages(socket, limiter))
    const { join, say, notices } = await connect(port)
    for (let room = 1; room <= 10; room++) {
      await join(`/room-${room}`)
      say(15, `/room-${room}`)
    }
    for (let room = 1; room <= 10; room++) say(15, `/room-${room}`)
    await eventually(() => expect(delivered.length + notices()).toBe(300))
    expect(delivered).toHaveLength(20)
  })

  test('in the scope connection too, beside a key that it shares', async () => {
    const policies = [
      tokenBucket({ name: 'mine', limit: 20, window: '1h', scope: 'connection' }),
      tokenBucket({ name: 'all', limit: 50, window: '1h', scope: 'user' }),
    ]
    const limiter = new RateLimiter({ policies, store: createStore() })
    const { delivered, port, left } = await serve(
      (socket) => void limitMessages(socket, limiter, { key: { user: 'ann' } }),
    )
    for (const expected of [20, 40, 50]) {
      const { join, say, leave, notices } = await connect(port)
      for (const round of [1, 2]) {
        await join()
        say(30)
        const before = expected === 50 ? 40 : expected - 20
        await eventually(() => expect(delivered.length - before + notices()).toBe(30 * round))
        await leave(left)
      }
      expect(delivered).toHaveLength(expected)
    }
  })
})

test('one connection has one quota with equal policies as a text', async () => {
  const limits = '20/1h sliding-log'
  const { delivered, port, left } = await serve((socket) => void limitMessages(socket, limits))
  const { join, say, leave, notices } = await connect(port)
  for (let round = 1; round <= 5; round++) {
    await join()
    say(10)
    await eventually(() => expect(delivered.length + notices()).toBe(10 * round))
    await leave(left)
  }
  expect(delivered).toHaveLength(20)
})

test('its state stays while the connection is open, and goes when that closes, however it does', async () => {
  const memory = memoryStore()
  const limiter = new RateLimiter({ policies: '20/1h', store: asyncStore(memory) })
  const { delivered, port, left } = await serve((socket) => void limitMessages(socket, limiter))
  for (const [n, end] of ([(c) => c.close(), (c) => c.terminate()] as ((client: WebSocket) => void)[]).entries()) {
    const { client, join, say, leave } = await connect(port)
    for (const room of ['', '/room-1', '/room-2']) {
      await join(room)
      say(2, room)
    }
    await eventually(() => expect(delivered).toHaveLength(6 * (n + 1)))
    await leave(left)
    await leave(left, '/room-1')
    await join()
    expect(memory.stats().keys).toBe(1)
    end(client)
    await eventually(() => expect(memory.stats().keys).toBe(0))
  }
})

test('messages in flight are refused, with what to write', async () => {
  const errors: unknown[] = []
  const { port } = await serve((socket) => {
    try {
      limitMessages(socket, '2 at once')
    } catch (error) {
      errors.push(error)
    }
  })
  const { join } = await connect(port)
  await join()
  expect(errors).toEqual([
    expect.objectContaining({ code: 'HEADGATE_POLICY', message: expect.stringContaining('limitConnections(server') }),
  ])
})

test('limitConnections wants the http server that a Server of socket.io is attached to', async () => {
  const { io, http } = await serve(() => {})
  for (const given of [io, new Server()]) {
    expect(() => limitConnections(given as never, '2/1m')).toThrow(/limitConnections\(io\.httpServer/)
  }
  expect(limitConnections(io.httpServer as typeof http, '2/1m')).toBeInstanceOf(RateLimiter)
})

test.each([false, true])(
  'connections in flight, with releaseOnClose: %s: two are open, for longer than a lease, and a closed one makes room',
  async (releaseOnClose) => {
    const lease = 300
    const { http, port, left } = await serve(() => {})
    const limiter = limitConnections(http, `2 at once lease ${lease}ms`, { releaseOnClose })
    const used = async () => 2 - (await limiter.peek('127.0.0.1')).remaining
    const refused = async () => {
      const client = new WebSocket(`ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`).on('error', () => {})
      const [, response] = await once(client, 'unexpected-response')
      return response.statusCode
    }
    const [one, two] = [await connect(port), await connect(port)]
    await one.join()
    for (const end = performance.now() + 4 * lease; performance.now() < end; ) {
      expect(await refused()).toBe(429)
      await new Promise((resolve) => setTimeout(resolve, lease / 3))
    }
    await one.leave(left)
    expect(await refused()).toBe(429)
    one.client.terminate()
    await eventually(async () => expect(await used()).toBe(1))
    const three = await connect(port)
    two.client.close()
    three.client.close()
    await eventually(async () => expect(await used()).toBe(0))
  },
)
