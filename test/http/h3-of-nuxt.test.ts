/* The limit of headgate/node behind `fromNodeMiddleware` of h3 1, which Nuxt uses. */
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp, eventHandler, fromNodeMiddleware, toNodeListener } from 'h3-1'
import { expect, onTestFinished, test } from 'vitest'
import { type NodeOptions, rateLimit } from '../../adapters/node.ts'

const slowly = () => sleep(50).then(() => 'k')
/** Also on a busy machine, the decision comes after the client has left. */
const muchLater = () => sleep(400).then(() => 'k')

async function served(options: NodeOptions & { policies: string }) {
  let ran = 0
  const app = createApp()
  const limit = rateLimit(options)
  app.use(fromNodeMiddleware(limit as never))
  app.use(eventHandler(() => `ran ${++ran}`))
  const server = createServer(toNodeListener(app)).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close().closeAllConnections())
  await new Promise((listening) => server.once('listening', listening))
  const { port } = server.address() as AddressInfo
  return { port, limit, ran: () => ran, ask: () => fetch(`http://127.0.0.1:${port}/`) }
}

function leave(port: number, after: number): Promise<unknown> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  return sleep(after).then(() => socket.destroy())
}

test.each([
  ['a key', { policies: '2/1h sliding-log', keys: muchLater }],
  ['units in flight', { policies: '2 at once', keys: muchLater }],
  ['its turn', { policies: '2/1m token-bucket', keys: () => 'k', delay: { max: '1m' } }],
] as const)('clients that leave while they wait for %s run no handler beyond the limit', async (_what, options) => {
  const { port, ran } = await served(options)
  await Promise.all(Array.from({ length: 12 }, () => leave(port, 20)))
  await sleep(600)
  expect(ran()).toBe(options.policies === '2 at once' ? 0 : 2)
})

test('requests whose clients stay are admitted, and refused', async () => {
  const { ask, ran } = await served({ policies: '2/1h sliding-log', keys: slowly })
  const statuses: number[] = []
  for (let n = 0; n < 4; n++) {
    const response = await ask()
    await response.text()
    statuses.push(response.status)
  }
  expect([statuses, ran()]).toEqual([[200, 200, 429, 429], 2])
})
