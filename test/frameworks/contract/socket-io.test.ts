import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server, type Socket as ServerSocket } from 'socket.io'
import { io, type Socket } from 'socket.io-client'
import { expect, onTestFinished, test } from 'vitest'
import { limitMessages } from '../../../adapters/sockets/index.ts'
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
async function clientOf(connected: (socket: ServerSocket) => void): Promise<Socket> {
  const http = createServer().listen(0, '127.0.0.1')
  await once(http, 'listening')
  const server = new Server(http)
  server.on('connection', connected)
  const client = io(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, { transports: ['websocket'] })
  onTestFinished(async () => {
    client.disconnect()
    await server.close()
  })
  return client
}

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
