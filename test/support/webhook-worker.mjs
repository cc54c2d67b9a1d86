/*
 * One process of a fleet that sends webhooks by examples/webhooks/app.mjs. It sends all of them at once, and reports the
 * statuses. The task comes as JSON in the first argument, and the webhooks are sent at a message.
 */
import { redisStore } from 'headgate/redis'
import { Redis } from 'ioredis'
import { createSender } from '../../examples/webhooks/app.mjs'

const { port, name, urls, count, exceptions } = JSON.parse(process.argv[2])
const client = new Redis(port)
const deliver = createSender(redisStore({ client, timeout: '10s' }), exceptions)
await client.ping()
process.send('ready')
process.once('message', async () => {
  const webhooks = Array.from({ length: count }, (_, n) =>
    urls.map((url) => ({ id: `${name}-${n} ${url}`, url, event: 'order', data: { n } })),
  )
  const statuses = await Promise.all(webhooks.flat().map(deliver))
  client.disconnect()
  process.send(statuses)
  process.disconnect()
})
