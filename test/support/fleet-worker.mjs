/*
 * One process of a fleet: it makes its calls, 32 of them in flight, and sends how many were admitted. The task is JSON in
 * the first argument. The process starts when it gets a message, so that all of them start at the same time.
 */
import { fixedWindow, RateLimiter, slidingLog } from 'headgate'
import { clusterStore } from 'headgate/cluster'
import { memcachedStore } from 'headgate/memcached'
import { postgresStore } from 'headgate/postgres'
import { redisStore } from 'headgate/redis'
import { Cluster, Redis } from 'ioredis'
import { MemcacheClient } from 'memcache-client'
import { Pool } from 'pg'

const { kind, ports, policy, limit, calls, store } = JSON.parse(process.argv[2])
const [port] = ports
const options = { timeout: '20s', ...store }

/** Each kind of store, with a function that closes its client. */
const stores = {
  redis() {
    const client =
      ports.length === 1 ? new Redis(port) : new Cluster(ports.map((each) => ({ host: '127.0.0.1', port: each })))
    return [redisStore({ client, ...options }), () => client.disconnect()]
  },
  postgres() {
    const pool = new Pool({ host: '127.0.0.1', port, user: 'headgate', database: 'postgres' })
    return [postgresStore({ pool, ...options }), () => pool.end()]
  },
  memcached() {
    const client = new MemcacheClient({ server: `127.0.0.1:${port}`, noDelay: true, cmdTimeout: 20_000 })
    return [memcachedStore({ client, ...options }), () => client.shutdown()]
  },
  cluster: () => [clusterStore(options), () => {}],
}

const [opened, close] = stores[kind]()
const policies = (policy === 'slidingLog' ? slidingLog : fixedWindow)({ limit, window: '1h' })
const limiter = new RateLimiter({ name: policy, policies, store: opened })

await limiter.peek('everybody')
process.send({ ready: 1 })
process.on('message', async ({ go }) => {
  if (!go) return
  let left = calls
  let admitted = 0
  async function caller() {
    while (left-- > 0) if ((await limiter.consume('everybody')).allowed) admitted++
  }
  await Promise.all(Array.from({ length: 32 }, caller))
  process.send({ admitted }, () => process.exit())
  close()
})
