import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createWebSocketStream, WebSocket, WebSocketServer } from 'ws'
import { limitMessages } from '../../adapters/sockets/index.ts'
import { memoryStore, RateLimiter } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { describeMessages } from '../support/socket-contract.ts'
import { wsLibrary } from '../support/ws-library.ts'

describeMessages('ws', wsLibrary)

/** A server that gives each socket to `accept`, and a client of it. */
async function connected(accept: (socket: WebSocket) => void): Promise<WebSocket> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', accept)
  await once(server, 'listening')
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    client.terminate()
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  await once(client, 'open')
  return client
}

describe('listeners of every kind get admitted messages only', () => {
  test.each<[string, (socket: WebSocket, got: (text: string) => void) => void]>([
    ['on', (socket, got) => socket.on('message', (data) => got(data.toString()))],
    ['addEventListener', (socket, got) => socket.addEventListener('message', ({ data }) => got(data.toString()))],
    [
      'onmessage',
      (socket, got) => {
        socket.onmessage = ({ data }) => got(data.toString())
      },
    ],
    ['a stream', (socket, got) => createWebSocketStream(socket).on('data', (data) => got(data.toString()))],
  ])('%s, before and after the limit', async (_name, listen) => {
    const got: string[] = []
    const client = await connected((socket) => {
      listen(socket, (text) => got.push(`before ${text}`))
      limitMessages(socket, '2/1h')
      if (_name === 'on') listen(socket, (text) => got.push(`after ${text}`))
    })
    const notice = once(client, 'message')
    for (const text of ['1', '2', '3']) client.send(text)
    await notice
    await vi.waitFor(() => expect(got.filter((text) => text.startsWith('before'))).toEqual(['before 1', 'before 2']))
    expect(got.filter((text) => text.startsWith('after'))).toEqual(_name === 'on' ? ['after 1', 'after 2'] : [])
  })

  test('binary messages stay binary, and once gets one', async () => {
    const got: [string, boolean][] = []
    const client = await connected((socket) => {
      limitMessages(socket, '3/1h')
      socket.once('message', (data, isBinary) => got.push([data.toString(), isBinary]))
    })
    client.send(Buffer.from('1'))
    client.send('2')
    await vi.waitFor(() => expect(got).toEqual([['1', true]]))
  })
})

test('delay: TCP holds back a client that sends more than the queue takes', async () => {
  const clock = new ManualClock()
  const limiter = new RateLimiter({ policies: '50/1s token-bucket', store: memoryStore({ clock: clock.now }) })
  const messages = 2000
  const got: number[] = []
  let mostWaiting = 0
  const client = await connected((socket) => {
    const limit = limitMessages(socket, limiter, { overLimit: 'delay', maxQueue: 100, sleeper: clock.sleeper })
    socket.on('message', (data) => {
      got.push(Number(data.toString().trim()))
      mostWaiting = Math.max(mostWaiting, limit.waiting)
    })
  })
  // 16 MB, which is more than the buffers of a TCP connection hold.
  for (let n = 0; n < messages; n++) client.send(String(n).padEnd(8192))
  await vi.waitFor(() => expect(clock.sleeping).toBe(1))
  expect(client.bufferedAmount).toBeGreaterThan(1_000_000)
  while (got.length < messages) {
    clock.advance('20ms')
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(got).toEqual(Array.from({ length: messages }, (_, n) => n))
  expect(mostWaiting).toBeLessThan(100)
})

test('two limits on one socket: a message has to pass both', async () => {
  const got: string[] = []
  const client = await connected((socket) => {
    limitMessages(socket, '3/1h', { notify: ({ message: [data] }) => got.push(`first refuses ${data}`) })
    limitMessages(socket, '2/2h', { notify: ({ message: [data] }) => got.push(`second refuses ${data}`) })
    socket.on('message', (data) => got.push(data.toString()))
  })
  for (const text of ['1', '2', '3', '4']) client.send(text)
  await vi.waitFor(() => expect(got).toEqual(['1', '2', 'second refuses 3', 'first refuses 4']))
})

test.each([
  ['before', true],
  ['while messages wait', false],
])(
  'a socket that the application has paused %s stays paused until the application resumes it',
  async (_when, early) => {
    const clock = new ManualClock()
    const limiter = new RateLimiter({ policies: '1/1s token-bucket', store: memoryStore({ clock: clock.now }) })
    const got: string[] = []
    let socket: WebSocket | undefined
    const client = await connected((accepted) => {
      socket = accepted
      limitMessages(accepted, limiter, { overLimit: 'delay', sleeper: clock.sleeper })
      accepted.on('message', (data) => {
        got.push(data.toString())
        if (early && got.length === 1) accepted.pause()
      })
    })
    for (const text of ['1', '2', '3']) client.send(text)
    await vi.waitFor(() => expect([got.length, clock.sleeping]).toEqual([1, 1]))
    expect(socket?.isPaused).toBe(true)
    if (!early) socket?.pause()
    clock.advance('3s')
    await vi.waitFor(() => expect(clock.sleeping).toBe(0))
    client.send('4')
    await sleep(50)
    expect([got, socket?.isPaused]).toEqual([['1', '2', '3'], true])
    socket?.resume()
    await vi.waitFor(() => expect([got, socket?.isPaused]).toEqual([['1', '2', '3', '4'], false]))
  },
)

test('a stream whose reader stalls keeps little, while a limit delays messages', async () => {
  const clock = new ManualClock()
  const limiter = new RateLimiter({ policies: '1/1s token-bucket', store: memoryStore({ clock: clock.now }) })
  let stream: Duplex | undefined
  const client = await connected((socket) => {
    stream = createWebSocketStream(socket)
    limitMessages(socket, limiter, { overLimit: 'delay', sleeper: clock.sleeper })
  })
  for (let n = 0; n < 2000; n++) client.send(String(n).padEnd(8192))
  await vi.waitFor(() => expect(clock.sleeping).toBe(1))
  for (let n = 0; n < 500; n++) {
    clock.advance('1s')
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect([stream?.readableLength, clock.sleeping]).toEqual([expect.any(Number), 0])
  expect(stream?.readableLength).toBeLessThan(500_000)
})

test('a listener that throws on a delayed message is an uncaught exception, and later messages are delivered', async () => {
  const uncaught = vi.spyOn(globalThis, 'queueMicrotask')
  const thrown: unknown[] = []
  uncaught.mockImplementation((task) => {
    try {
      task()
    } catch (error) {
      thrown.push(error)
    }
  })
  onTestFinished(() => uncaught.mockRestore())
  const clock = new ManualClock()
  const limiter = new RateLimiter({ policies: '1/1s token-bucket', store: memoryStore({ clock: clock.now }) })
  const got: string[] = []
  const client = await connected((socket) => {
    limitMessages(socket, limiter, { overLimit: 'delay', sleeper: clock.sleeper })
    socket.on('message', (data) => {
      got.push(data.toString())
      if (got.length === 2) throw new Error('the second')
    })
  })
  for (const text of ['1', '2', '3']) client.send(text)
  await vi.waitFor(() => expect(clock.sleeping).toBe(1))
  clock.advance('2s')
  await vi.waitFor(() => expect(got).toEqual(['1', '2', '3']))
  expect(thrown).toEqual([expect.objectContaining({ message: 'the second' })])
})

test.each([
  ['a synchronous store', memoryStore()],
  ['an asynchronous store', asyncStore(memoryStore())],
])(
  'delay, %s: of the messages before a close, those that fit are delivered, and notify gets the others',
  async (_which, store) => {
    const limiter = new RateLimiter({ policies: '3/1h', store })
    const events: string[] = []
    const client = await connected((socket) => {
      socket.on('message', (data) => events.push(data.toString()))
      socket.on('close', () => events.push('close'))
      limitMessages(socket, limiter, {
        overLimit: 'delay',
        maxWait: '2h',
        key: 'ann',
        notify: ({ reason, message: [data] }) => void events.push(`${reason} ${data}`),
      })
    })
    const { _socket: connection } = client as unknown as { _socket: Duplex }
    connection.cork() // so that all frames arrive in one packet
    for (const text of ['1', '2', '3', '4', '5']) client.send(text)
    client.close()
    connection.uncork()
    await expect.poll(() => events).toEqual(['1', '2', '3', 'limit 4', 'limit 5', 'close'])
    expect((await limiter.peek('ann')).remaining).toBe(0)
  },
)

test('a second limit with a key of its own is kept until it has the last messages of the first limit', async () => {
  const far = asyncStore(memoryStore(), () => sleep(20))
  const first = new RateLimiter({ name: 'first', policies: '50/1h', store: far })
  const second = new RateLimiter({ name: 'second', policies: '3/1h', store: far })
  const events: string[] = []
  const client = await connected((socket) => {
    socket.on('message', (data) => events.push(data.toString()))
    socket.on('close', () => events.push('close'))
    limitMessages(socket, first, { overLimit: 'delay' })
    limitMessages(socket, second, { notify: ({ message: [data] }) => void events.push(`no ${data}`) })
  })
  client.send('1')
  await expect.poll(() => events).toEqual(['1'])
  const { _socket: connection } = client as unknown as { _socket: Duplex }
  connection.cork()
  for (const text of ['2', '3', '4', '5']) client.send(text)
  client.close()
  connection.uncork()
  await expect.poll(() => events).toEqual(['1', '2', '3', 'no 4', 'no 5', 'close'])
})

test('a limit adds no listener to a WebSocket', async () => {
  let counts: number[] = []
  await connected((socket) => {
    const count = () => socket.eventNames().length
    const before = count()
    limitMessages(socket, '1/1h')
    counts = [before, count()]
  })
  await vi.waitFor(() => expect(counts).toHaveLength(2))
  expect(counts[1]).toBe(counts[0])
  expect(() => limitMessages(new EventEmitter() as never, '1/1s')).toThrow(/WebSocket of ws/)
})

test('delay: a message whose wait is maxWait is delivered, although timers may end a little too early', async () => {
  const limiter = new RateLimiter({ policies: '1/100ms token-bucket' })
  const delivered: string[] = []
  let sockets = 0
  await Promise.all(
    Array.from({ length: 30 }, async () => {
      const client = await connected((socket) => {
        socket.on('message', (data) => delivered.push(data.toString()))
        limitMessages(socket, limiter, { overLimit: 'delay', maxWait: '100ms', key: `${sockets++}` })
      })
      client.send('1')
      client.send('2')
    }),
  )
  await expect.poll(() => delivered.filter((text) => text === '2').length).toBe(30)
})
