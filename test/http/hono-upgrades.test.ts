/* WebSockets of Hono on @hono/node-server, over real sockets: an upgrade has no response, and its connection stays open. */
import { connect } from 'node:net'
import { type ServerType, serve, upgradeWebSocket, type WebSocketServerLike } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { Hono } from 'hono'
import { afterEach, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type HonoOptions, rateLimit } from '../../adapters/hono.ts'
import { type PolicyLike, RateLimiter } from '../../src/index.ts'

const ended: (() => void)[] = []
afterEach(() => {
  for (const end of ended.splice(0).reverse()) end()
})

async function served(policies: PolicyLike[], options: HonoOptions = {}) {
  const limiter = new RateLimiter({ policies })
  const app = new Hono()
  app.use(rateLimit({ limiter, connInfo: getConnInfo, keys: () => 'k', ...options }))
  const onMessage = (event: { data: unknown }, socket: { send(text: string): void }) =>
    socket.send(`echo ${event.data}`)
  app.get(
    '/ws',
    upgradeWebSocket(() => ({ onMessage })),
  )
  app.get('/plain', (context) => context.body(null))
  app.get('/text', (context) => context.text('text'))
  app.get('/denied', (context) => context.text('denied', 401))
  const sockets = new WebSocketServer({ noServer: true }) as unknown as WebSocketServerLike
  const server = await new Promise<ServerType>((resolve) => {
    const options = { fetch: app.fetch, port: 0, hostname: '127.0.0.1', websocket: { server: sockets } }
    const listening: ServerType = serve(options, () => resolve(listening))
  })
  ended.push(() => server.close())
  const { port } = server.address() as { port: number }
  const open = (path = '/ws') => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`)
    ended.push(() => socket.terminate())
    return new Promise<{ socket: WebSocket; answer: string }>((resolve) => {
      socket.on('open', () => socket.send('hi'))
      socket.on('message', (answer) => resolve({ socket, answer: String(answer) }))
      socket.on('error', ({ message }) => resolve({ socket, answer: message }))
    })
  }
  /** Asks for an upgrade, and never ends its half of the connection. Returns the status. */
  const raw = (path: string) =>
    new Promise<number>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      ended.push(() => socket.destroy())
      const fields =
        'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`)
      socket.once('data', (data) => resolve(Number(String(data).split(' ')[1])))
    })
  const used = async () => (await limiter.peek('k')).policies.map((policy) => policy.used)
  return { open, raw, used }
}

test('an upgrade counts, whatever count says', async () => {
  const { open, used } = await served(['3/1h fixed-window'], { count: 'failures' })
  const answers = []
  for (let n = 0; n < 5; n++) answers.push((await open()).answer)
  expect(answers).toEqual([...Array(3).fill('echo hi'), ...Array(2).fill('Unexpected server response: 429')])
  expect(await used()).toEqual([3])
})

test('a connection has its unit in flight until it closes', async () => {
  const { open, used } = await served(['100/1h', '2 at once'])
  const first = await open()
  const answers = [first.answer, (await open()).answer, (await open()).answer]
  expect(answers).toEqual(['echo hi', 'echo hi', 'Unexpected server response: 429'])
  expect(await used()).toEqual([2, 2])
  first.socket.close()
  await expect.poll(used).toEqual([2, 1])
  expect((await open()).answer).toBe('echo hi')
  for (const socket of ['/plain', '/nowhere']) await open(socket)
  await expect.poll(async () => (await used())[1]).toBe(2)
})

test('an ordinary answer to a request for an upgrade ends it, although its client keeps the connection half open', async () => {
  const { raw, used } = await served(['100/1h', '2 at once'], { count: 'successes' })
  const statuses = []
  for (const path of ['/plain', '/text', '/denied', '/nowhere', '/text']) statuses.push(await raw(path))
  expect(statuses).toEqual([200, 200, 401, 404, 200])
  await expect.poll(used).toEqual([3, 0])
})
