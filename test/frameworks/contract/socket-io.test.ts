import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server, type Socket as ServerSocket } from 'socket.io'
import { io, type Socket } from 'socket.io-client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { limitMessages, type SocketIoOptions } from '../../../adapters/sockets/index.ts'
import { memoryStore, RateLimiter } from '../../../src/index.ts'
import { faultyStore, ManualClock } from '../../../src/testing/index.ts'
import { asyncStore } from '../../support/async-store.ts'
import { describeMessages } from '../../support/socket-contract.ts'
import { socketIoLibrary } from './socket-io-library.ts'

describeMessages('socket.io', socketIoLibrary)

test('an acknowledgement of a dropped message gets the notice', async () => {
  const { url, close } = await socketIoLibrary.serve('1/1h')
  onTestFinished(close)
  const client = io(url, { transports: ['websocket'] })
  onTestFinished(() => void client.disconnect())
  expect(await client.emitWithAck('say', 'm1')).toBe('heard')
  expect(await client.emitWithAck('say', 'm2')).toMatchObject({ error: 'too_many_messages', policy: '1h' })
})

test('over long polling too', async () => {
  const { url, close, delivered } = await socketIoLibrary.serve('2/1h')
  onTestFinished(close)
  const client = io(url, { transports: ['polling'] })
  onTestFinished(() => void client.disconnect())
  const answers = await Promise.all(['m1', 'm2', 'm3'].map((text) => client.emitWithAck('say', text)))
  expect([delivered, answers]).toEqual([
    ['m1', 'm2'],
    ['heard', 'heard', expect.objectContaining({ error: 'too_many_messages' })],
  ])
})

/** A client of a server that calls this function for its connection. */
async function clientOf(connected: (socket: ServerSocket) => void, options: object = {}): Promise<Socket> {
  const http = createServer().listen(0, '127.0.0.1')
  await once(http, 'listening')
  const server = new Server(http, options)
  server.on('connection', connected)
  server.of('/other')
  server.of(/^\/room-\d+$/).on('connection', connected)
  const client = io(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, { transports: ['websocket'] })
  onTestFinished(async () => {
    client.disconnect()
    await server.close()
  })
  return client
}

test('with connectionStateRecovery, socket.io stores no notice, and the client gets it', async () => {
  let adapter: object = {}
  const client = await clientOf(
    (socket) => {
      adapter = socket.nsp.adapter
      limitMessages(socket, '1/1h')
    },
    { connectionStateRecovery: {} },
  )
  client.emit('say', 'm1').emit('say', 'm2')
  const [notice] = (await once(client as never, 'rate_limited')) as [object]
  expect(notice).toMatchObject({ policy: '1h' })
  expect(adapter).toHaveProperty('packets', []) // the field of socket.io with the stored packets
})

test('listeners of onAny get only the admitted messages, in their order', async () => {
  const heard: string[] = []
  const hear = (who: string) => (_name: string, text: string) => void heard.push(`${who} ${text}`)
  const [removed, early, late, first] = [hear('removed'), hear('early'), hear('late'), hear('first')]
  let listeners: unknown
  const client = await clientOf((socket) => {
    socket.onAny(early).onAny(removed)
    limitMessages(socket, '2/1h')
    socket.onAny(late).prependAny(first).offAny(removed)
    listeners = socket.listenersAny()
    socket.on('say', (text: string) => void heard.push(`say ${text}`))
  })
  const refused = once(client as never, 'rate_limited')
  for (const text of ['m1', 'm2', 'm3']) client.emit('say', text)
  await refused
  const order = ['first', 'early', 'late', 'say']
  for (const text of ['m1', 'm2', 'm3']) {
    const expected = text === 'm3' ? [] : order.map((who) => `${who} ${text}`)
    expect(heard.filter((line) => line.endsWith(text))).toEqual(expected)
  }
  expect(listeners).toEqual([first, early, late])
})

test('offAny without a listener removes all of them', async () => {
  const heard: string[] = []
  const client = await clientOf((socket) => {
    limitMessages(socket, '2/1h')
    socket.onAny((name: string) => void heard.push(name)).offAny()
    socket.on('say', (acknowledge: () => void) => acknowledge())
  })
  await client.emitWithAck('say')
  expect(heard).toEqual([])
})

test.each(['drop', 'close'] as const)(
  'only: other events take nothing, and overtake no message. %s',
  async (overLimit) => {
    const heard: unknown[] = []
    const refused: unknown[] = []
    const limiter = new RateLimiter({ policies: '2/1h', store: asyncStore(memoryStore()) })
    const client = await clientOf((socket) => {
      const notify = ({ message }: { message: readonly unknown[] }) => void refused.push(message)
      limitMessages(socket, limiter, { only: ['say'], key: 'ann', overLimit, notify })
      socket.on('say', (text) => heard.push(text))
      socket.on('typing', () => heard.push('typing'))
    })
    for (const text of ['m1', 'm2', 'm3', 'm4']) client.emit('typing').emit('say', text)
    await vi.waitFor(() =>
      expect(refused).toEqual(['m3', ...(overLimit === 'drop' ? ['m4'] : [])].map((text) => ['say', text])),
    )
    const later = overLimit === 'drop' ? ['typing', 'typing'] : ['typing']
    await vi.waitFor(() => expect(heard).toEqual(['typing', 'm1', 'typing', 'm2', ...later]))
    expect((await limiter.peek('ann')).policies[0]?.used).toBe(2)
  },
)

test.each<SocketIoOptions>([{ only: ['42'] }, { cost: ([name]) => (name === '42' ? 1 : 0) }])(
  'a client that sends the name of an event as a number is limited too: %j',
  async (options) => {
    const heard: string[] = []
    const client = await clientOf((socket) => {
      limitMessages(socket, '1/1h', options)
      socket.on('42', (text) => heard.push(text))
      socket.on('end', (acknowledge: () => void) => acknowledge())
    })
    client.emit('42', 'm1').emit(42 as never, 'm2')
    await client.emitWithAck('end')
    expect(heard).toEqual(['m1'])
  },
)

test('only, with delay: other events wait behind a delayed message, for the order stays', async () => {
  const clock = new ManualClock()
  const heard: string[] = []
  const limiter = new RateLimiter({ policies: '1/1s token-bucket', store: memoryStore({ clock: clock.now }) })
  const client = await clientOf((socket) => {
    limitMessages(socket, limiter, { only: ['say'], overLimit: 'delay', sleeper: clock.sleeper })
    socket.onAny((name, text) => heard.push(`${name} ${text}`))
  })
  client.emit('say', 1).emit('say', 2).emit('leave', 3)
  await vi.waitFor(() => expect([heard, clock.sleeping]).toEqual([['say 1'], 1]))
  await clock.pass('1s')
  expect(heard).toEqual(['say 1', 'say 2', 'leave 3'])
})

test.each([[[]], ['say'], [[1]], [null]])('only: %j is an error', async (only) => {
  const thrown = new Promise((resolve) => {
    void clientOf((socket) => {
      try {
        limitMessages(socket, '1/1s', { only: only as never })
      } catch (error) {
        resolve(error)
      }
    })
  })
  expect(await thrown).toMatchObject({ code: 'HEADGATE_OPTION', message: expect.stringContaining("only: ['say']") })
})

test.each<[string, (n: number) => unknown]>([
  ['texts', () => 'x'.repeat(900_000)],
  ['binary data in a list', () => [{ data: Buffer.alloc(900_000) }]],
  ['names of properties', (n) => ({ [`${n}${'x'.repeat(900_000)}`]: 1 })],
])(
  'the messages that wait hold at most 16 MB: %s',
  async (_what, messageOf) => {
    let limit: { readonly waiting: number } | undefined
    const refused: unknown[] = []
    const client = await clientOf((socket) => {
      const notify = ({ reason }: { reason: string }) => void refused.push(reason)
      limit = limitMessages(socket, '1/1h sliding-log', { overLimit: 'delay', maxWait: '1h', notify })
      socket.on('say', () => {})
    })
    const ended = once(client as never, 'disconnect')
    for (let n = 0; n < 40; n++) client.emit('say', messageOf(n))
    await ended
    expect([refused, limit?.waiting]).toEqual([['queue'], 0])
  },
  60_000,
)

test('the messages that wait hold at most 16 MB in all namespaces of a connection', async () => {
  const limits: { readonly waiting: number }[] = []
  const refused: unknown[] = []
  const client = await clientOf((socket) => {
    const notify = ({ reason }: { reason: string }) => void refused.push(reason)
    limits.push(limitMessages(socket, '1/1h sliding-log', { overLimit: 'delay', maxWait: '1h', notify }))
  })
  const ended = once(client.io as never, 'close')
  await once(client as never, 'connect')
  const rooms = Array.from({ length: 10 }, (_, n) => client.io.socket(`/room-${n}`, {}).connect())
  await vi.waitFor(() => expect(rooms.every(({ connected }) => connected)).toBe(true), { timeout: 10_000 })
  for (let n = 0; n < 4; n++) for (const room of rooms) room.emit('say', 'x'.repeat(900_000))
  await ended
  expect(refused).toEqual(['queue'])
  expect(limits.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(0)
}, 60_000)

test('messages that were delivered leave room: 25 MB in all, 5 MB at a time', async () => {
  const clock = new ManualClock()
  const heard: number[] = []
  const limiter = new RateLimiter({ policies: '1/1s sliding-log', store: memoryStore({ clock: clock.now }) })
  const client = await clientOf((socket) => {
    limitMessages(socket, limiter, { overLimit: 'delay', key: 'ann', sleeper: clock.sleeper })
    socket.on('say', ([n]) => heard.push(n as number))
  })
  for (let first = 0; first < 50; first += 10) {
    for (let n = first; n < first + 10; n++) client.emit('say', [n, 'x'.repeat(500_000)])
    await vi.waitFor(
      async () => {
        await clock.pass('1s')
        expect(heard).toHaveLength(first + 10)
      },
      { timeout: 20_000, interval: 5 },
    )
  }
  expect(heard).toEqual(Array.from({ length: 50 }, (_, n) => n))
}, 60_000)

describe('a client that leaves a namespace again and again while its messages wait for the store', () => {
  async function rounds(most: number, messages: number, text: string) {
    const store = faultyStore(memoryStore())
    onTestFinished(() => store.heal())
    const limiter = new RateLimiter({ policies: '5/1h', store, storeTimeout: '1m' })
    store.fail('partition')
    const limits: { readonly waiting: number }[] = []
    let left = 0
    const client = await clientOf((socket) => {
      limits.push(limitMessages(socket, limiter, { overLimit: 'drop' }))
      socket.on('disconnect', () => left++)
    })
    client.io.socket('/other', {}).connect() // keeps the connection
    let open = true
    client.io.on('close', () => (open = false))
    for (let round = 1; open && round <= most; round++) {
      client.connect()
      await vi.waitFor(() => expect(client.connected || !open).toBe(true))
      for (let n = 0; n < messages; n++) client.emit('say', n + text)
      client.disconnect()
      await vi.waitFor(() => expect(left).toBeGreaterThanOrEqual(round), { timeout: 20_000 })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return { open, waiting: limits.map(({ waiting }) => waiting) }
  }

  test('is disconnected with 1000 messages', async () => {
    const { open, waiting } = await rounds(20, 400, '')
    expect({ open, waiting }).toEqual({ open: false, waiting: [400, 400, 400] })
  })

  test('keeps the connection, and at most 16 MB wait', async () => {
    const { open, waiting } = await rounds(4, 16, 'x'.repeat(900_000))
    expect(open).toBe(true)
    expect(waiting.reduce((sum, each) => sum + each)).toBe(18)
  }, 60_000)
})
