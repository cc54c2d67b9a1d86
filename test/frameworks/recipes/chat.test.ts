import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { io, type Socket } from 'socket.io-client'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { headgateWarnings } from '../../support/headgate-warnings.ts'
import { createChat, slowRooms } from '../.examples/chat.ts'

/* The program of docs/recipes/chat.md, over real sockets. */

afterAll(async () => expect(await headgateWarnings(), 'no false alarm').toEqual([]))

const clients: Socket[] = []
let chat: ReturnType<typeof createChat>
let url: string

beforeEach(async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  chat = createChat(server, (token) => (typeof token === 'string' ? token : undefined))
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect()
  slowRooms.clear()
  await chat.close()
})

/** A client in the room `lobby`, and what it hears. */
async function join(token?: string) {
  const client = io(url, { transports: ['websocket'], reconnection: false, forceNew: true, auth: { token } })
  clients.push(client)
  const heard: unknown[] = []
  const refused: unknown[] = []
  client.on('said', (user, text) => heard.push(`${user}: ${text}`))
  client.on('typing', (user) => heard.push(`${user} types`))
  client.on('rate_limited', ({ policy }) => refused.push(policy))
  await new Promise<void>((resolve) => client.on('connect', resolve))
  client.emit('join', 'lobby')
  return { client, heard, refused }
}

test('20 messages of a user, over two browsers; typing takes none of them', async () => {
  const [one, two, bob] = [await join('ann'), await join('ann'), await join('bob')]
  for (let n = 0; n < 30; n++) one.client.emit('typing', 'lobby')
  await vi.waitFor(() => expect(bob.heard).toHaveLength(30))
  for (let n = 1; n <= 11; n++) one.client.emit('say', 'lobby', n)
  await vi.waitFor(() => expect(bob.heard).toHaveLength(41))
  for (let n = 12; n <= 22; n++) two.client.emit('say', 'lobby', n)
  await vi.waitFor(() => expect(two.refused).toEqual(['messages', 'messages']))
  expect(bob.heard.slice(30)).toEqual(Array.from({ length: 20 }, (_, n) => `ann: ${n + 1}`))
  two.client.emit('typing', 'lobby')
  bob.client.emit('say', 'lobby', 'hi')
  await vi.waitFor(() => expect(bob.heard.slice(50).sort()).toEqual(['ann types', 'bob: hi']))
})

test('slow mode begins and ends for those who are there', async () => {
  const [cleo, dan] = [await join('cleo'), await join('dan')]
  slowRooms.add('lobby')
  for (const text of ['a', 'b']) cleo.client.emit('say', 'lobby', text)
  cleo.client.emit('typing', 'lobby')
  cleo.client.emit('say', ['lobby'], 'past the limit')
  await vi.waitFor(() => expect(dan.heard).toEqual(['cleo: a', 'cleo types']))
  expect(cleo.refused).toEqual(['slow'])
  slowRooms.delete('lobby')
  cleo.client.emit('say', 'lobby', 'c')
  await vi.waitFor(() => expect(dan.heard.at(-1)).toBe('cleo: c'))
})

test('a flood of any event is refused, and a client without a user is disconnected', async () => {
  const eve = await join('eve')
  for (let n = 0; n < 500; n++) eve.client.emit('typing', 'lobby')
  await vi.waitFor(() => expect(eve.refused.length).toBeGreaterThan(300))
  expect(new Set(eve.refused)).toEqual(new Set(['events']))
  const nobody = await join()
  await vi.waitFor(() => expect(nobody.client.disconnected).toBe(true))
})
