/*
 * One process of a fleet: asks for its share of calls, so many in flight, and tells how many were admitted.
 * What to do comes as JSON in the first argument; it starts when told to, so that all of them start together.
 */
import { fixedWindow, RateLimiter, slidingLog } from 'headgate'
import { redisStore } from 'headgate/redis'
import { Cluster, Redis } from 'ioredis'

const { ports, policy, limit, calls, store } = JSON.parse(process.argv[2])
const client =
  ports.length === 1 ? new Redis(ports[0]) : new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })))
const policies = (policy === 'slidingLog' ? slidingLog : fixedWindow)({ limit, window: '1h' })
const limiter = new RateLimiter({ name: policy, policies, store: redisStore({ client, timeout: '20s', ...store }) })

await limiter.peek('everybody')
process.send('ready')
process.once('message', async () => {
  let left = calls
  let admitted = 0
  async function caller() {
    while (left-- > 0) if ((await limiter.consume('everybody')).allowed) admitted++
  }
  await Promise.all(Array.from({ length: 32 }, caller))
  client.disconnect()
  process.send({ admitted })
  process.disconnect()
})
