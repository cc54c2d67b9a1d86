import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect as connectTcp, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { limitConnections } from '../../adapters/sockets/index.ts'
import { memoryStore, RateLimiter, type Store } from '../../src/index.ts'
import { asyncStore } from '../support/async-store.ts'

/* Units in flight of connections: how many are open at once, in real time, because leases are renewed by timers. */

const lease = 300
const upgrade = 'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n'
const pass = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 5000, interval: 5 })

/** A server whose application has the upgraded sockets, and limits how many there are. */
async function listen(limiter: RateLimiter, releaseOnClose: boolean, accept: (socket: Duplex) => void) {
  const server = createServer()
  const sockets: Duplex[] = []
  server.on('upgrade', (_request, socket: Duplex) => {
    // node:http leaves a socket half open, so every library ends it.
    sockets.push(socket.on('error', () => socket.destroy()).on('end', () => socket.end()))
    accept(socket)
  })
  limitConnections(server, limiter, { releaseOnClose })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const clients: Socket[] = []
  onTestFinished(() => {
    for (const socket of [...clients, ...sockets]) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    sockets,
    /** A raw client that has asked for an upgrade. */
    async connect(): Promise<Socket> {
      const client = connectTcp({ port, host: '127.0.0.1' }).on('error', () => {})
      clients.push(client)
      await once(client, 'connect')
      client.write(upgrade)
      return client
    },
  }
}

const switches = (socket: Duplex) => void socket.resume().write('HTTP/1.1 101 Switching Protocols\r\n\r\n')
const ends = (text: string) => (socket: Duplex) => void socket.end(text, () => socket.destroy())
const firstLine = async (client: Socket) => String((await once(client, 'data'))[0]).split('\r\n')[0]
const used = async (limiter: RateLimiter) => {
  const { limit, remaining } = await limiter.peek('127.0.0.1')
  return limit - remaining
}

const stores: [string, () => Store][] = [
  ['a synchronous store', () => memoryStore()],
  ['an asynchronous store', () => asyncStore(memoryStore())],
]

describe.each(stores)('units in flight of connections on %s', (_name, createStore) => {
  test.each([false, true])(
    'releaseOnClose: %s. As many are open as the limit says, for longer than a lease; a closed one makes room',
    async (releaseOnClose) => {
      const limiter = new RateLimiter({ policies: `2 at once lease ${lease}ms`, store: createStore() })
      const { connect } = await listen(limiter, releaseOnClose, switches)
      const open = [await connect(), await connect()]
      for (const client of open) expect(await firstLine(client)).toMatch(/101/)
      for (const end = performance.now() + 5 * lease; performance.now() < end; await pass(lease / 3)) {
        expect(await firstLine(await connect())).toMatch(/429/)
      }
      open[0]?.end()
      open[0]?.destroy()
      await eventually(async () => expect(await used(limiter)).toBe(1))
      expect(await firstLine(await connect())).toMatch(/101/)
      expect(await firstLine(await connect())).toMatch(/429/)
    },
  )

  /** How a connection ends, on the server (`accept`) or at the client (`leave`). */
  const endings: [string, (socket: Duplex) => void, (client: Socket) => void][] = [
    ['the client closes', switches, (client) => client.end()],
    ['the client resets', switches, (client) => client.resetAndDestroy()],
    ['the client resets at once', switches, (client) => client.resetAndDestroy()],
    ['the server closes', ends('HTTP/1.1 101 Switching Protocols\r\n\r\n'), () => {}],
    ['the server destroys it', (socket) => void socket.destroy(), () => {}],
    ['the application refuses the upgrade', ends('HTTP/1.1 401 Unauthorized\r\n\r\n'), () => {}],
    ['nobody answers, and the client leaves', () => {}, (client) => client.destroy()],
    ['nobody answers, and the client resets', () => {}, (client) => client.resetAndDestroy()],
  ]

  test.each([false, true])(
    'releaseOnClose: %s. Five end in each way, and nothing is used three leases later',
    async (releaseOnClose) => {
      const end = async ([name, accept, leave]: (typeof endings)[number]) => {
        const limiter = new RateLimiter({ policies: `20 at once lease ${lease}ms`, store: createStore() })
        const { connect, sockets } = await listen(limiter, releaseOnClose, accept)
        const atOnce = name.endsWith('at once')
        const opened = async () => {
          const client = await connect()
          if (atOnce) leave(client)
          return client
        }
        const clients = await Promise.all([opened(), opened(), opened(), opened(), opened()])
        if (!atOnce) await eventually(() => expect(sockets).toHaveLength(5))
        if (!atOnce) for (const client of clients) leave(client)
        await pass(3 * lease)
        return [name, await used(limiter)]
      }
      expect(await Promise.all(endings.map(end))).toEqual(endings.map(([name]) => [name, 0]))
    },
  )
})

test('an upgrade that nobody answers holds its unit for one lease, though its client stays', async () => {
  const limiter = new RateLimiter({ policies: `1 at once lease ${lease}ms` })
  const { connect, sockets } = await listen(limiter, false, () => {})
  await connect()
  await eventually(() => expect(sockets).toHaveLength(1))
  expect(await used(limiter)).toBe(1)
  await pass(3 * lease)
  expect(await used(limiter)).toBe(0)
})

test('an upgrade that is answered late is counted from then on', async () => {
  const limiter = new RateLimiter({ policies: `1 at once lease ${lease}ms` })
  const { connect, sockets } = await listen(limiter, false, () => {})
  await connect()
  await eventually(() => expect(sockets).toHaveLength(1))
  await pass(2 * lease)
  switches(sockets[0] as Duplex)
  await eventually(async () => expect(await used(limiter)).toBe(1))
  await pass(3 * lease)
  expect(await used(limiter)).toBe(1)
})

test('beside units in flight, releaseOnClose decides about the windows', async () => {
  const left = async (releaseOnClose: boolean) => {
    const limiter = new RateLimiter({ policies: ['10/1h sliding-log', '2 at once'] })
    const { connect } = await listen(limiter, releaseOnClose, switches)
    const client = await connect()
    expect(await firstLine(client)).toMatch(/101/)
    client.destroy()
    const verdicts = async () => (await limiter.peek('127.0.0.1')).policies.map(({ remaining }) => remaining)
    await eventually(async () => expect((await verdicts())[1]).toBe(2))
    await pass(20)
    return verdicts()
  }
  expect(await left(false)).toEqual([9, 2])
  expect(await left(true)).toEqual([10, 2])
})
