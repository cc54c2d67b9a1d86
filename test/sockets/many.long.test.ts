import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { limitMessages } from '../../adapters/sockets/index.ts'
import { memoryStore, RateLimiter } from '../../src/index.ts'

const connections = 10_000
const addresses = 10
const limit = 5
const messages = 8

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

async function heap(): Promise<number> {
  for (let n = 0; n < 3; n++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    collect()
  }
  return process.memoryUsage().heapUsed
}

test('10,000 connections: each has its own quota, and a limit takes little memory, which it gives back', async () => {
  const http = createServer()
  const server = new WebSocketServer({ server: http, perMessageDeflate: false })
  const sockets: WebSocket[] = []
  server.on('connection', (socket) => {
    // Without a listener, the reset of a client that is killed would end the process.
    socket.on('error', () => {})
    sockets.push(socket)
  })
  http.listen(0, '127.0.0.1', 1024)
  await once(http, 'listening')
  const { port } = http.address() as AddressInfo
  const args = [port, connections, addresses].map(String)
  const clients = fork(new URL('../support/socket-clients.mjs', import.meta.url), args)
  onTestFinished(() => {
    clients.kill('SIGKILL')
    http.close()
  })
  await once(clients, 'message')
  await vi.waitFor(() => expect(sockets).toHaveLength(connections), { timeout: 10_000 })

  const store = memoryStore()
  const limiter = new RateLimiter({ policies: `${limit}/1h`, store })
  const delivered = new Array<number>(connections).fill(0)
  for (const [n, socket] of sockets.entries()) {
    socket.on('message', () => {
      delivered[n] = (delivered[n] ?? 0) + 1
    })
  }
  const bare = await heap()
  const limits = sockets.map((socket) => limitMessages(socket, limiter))
  const limited = await heap()

  const began = performance.now()
  clients.send({ messages, refused: messages - limit })
  await once(clients, 'message')
  const took = performance.now() - began
  expect(new Set(delivered)).toEqual(new Set([limit]))
  expect(limits.every(({ waiting }) => waiting === 0)).toBe(true)
  expect(store.stats().keys).toBe(connections)
  const used = await heap()

  const perLimit = Math.round((limited - bare) / connections)
  const perState = Math.round((used - limited) / connections)
  console.log(
    `a limit: ${perLimit} bytes; its states: ${perState} bytes; ${messages * connections} messages in ${Math.round(took)} ms`,
  )
  expect(perLimit).toBeLessThan(1500)
  expect(perState).toBeLessThan(550)

  clients.kill('SIGKILL')
  await vi.waitFor(() => expect(server.clients.size).toBe(0), { timeout: 60_000, interval: 100 })
  expect(store.stats().keys).toBe(0)
  sockets.length = 0
  limits.length = 0
  expect(await heap()).toBeLessThan(bare)
}, 300_000)
