/* WebSockets of Hono on @hono/node-server, over real sockets: an upgrade has no response, and its connection stays open. */
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
  const used = async () => (await limiter.peek('k')).policies.map((policy) => policy.used)
  return { open, used }
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
