/*
 * npm run example:ai-gateway: six clients of one API key ask for a story at once, and four of them may. One of the four
 * leaves halfway. While the streams run their estimates are taken, and at the end what they used.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { budget } from './budget.mjs'
import { createApp } from './express-app.mjs'
import { createModelServer } from './model-server.mjs'

const model = createModelServer({ pause: 5 })
const app = createApp({ modelUrl: await model.listen(), limits: { ...budget, tokens: 6000 } })
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())

async function ask(client) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'key-of-ann' },
    body: JSON.stringify({
      messages: [{ role: 'user', content: 'Tell me a story of one hundred words.' }],
      max_tokens: 500,
      metadata: { id: client, words: 100 },
    }),
  })
  if (!response.ok) {
    const problem = /** @type {any} */ (await response.json())
    console.log(`  client ${client}: ${response.status}, ${problem['violated-policies']}`)
    return
  }
  let chunks = 0
  for await (const _bytes of response.body) if (client === 1 && ++chunks === 50) break // leaves
  console.log(`  client ${client}: ${client === 1 ? 'left halfway' : 'read to the end'}`)
}

async function print(when) {
  const { policies } = await app.limiter.peek('key-of-ann')
  console.log(`${when}: ${policies.map(({ name, used, limit }) => `${name} ${used} of ${limit}`).join(', ')}`)
}

const clients = Promise.all([1, 2, 3, 4, 5, 6].map(ask))
while (model.sent.size < 4) await sleep(10)
await print('While they run')
await clients
await sleep(100)
await print('At the end')
server.close()
server.closeAllConnections()
model.close()
