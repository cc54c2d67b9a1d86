/*
 * One process of a fleet whose limits change while it works. The first argument is JSON. It calls until the time that a message says, and sends what it has
 * seen: how many calls were decided or failed, and when it decided by each limit. It ends when the fleet disconnects it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fixedWindow, RateLimiter } from 'headgate'
import { clusterStore } from 'headgate/cluster'
import { postgresStore } from 'headgate/postgres'
import { redisStore } from 'headgate/redis'
import { Redis } from 'ioredis'
import { Pool } from 'pg'

const { kind, port, limit } = JSON.parse(process.argv[2])

const stores = {
  redis: () => {
    const client = new Redis(port)
    client.on('error', () => {})
    return redisStore({ client, timeout: '5s' })
  },
  postgres: () => {
    const pool = new Pool({ host: '127.0.0.1', port, user: 'headgate', database: 'postgres' })
    pool.on('error', () => {})
    return postgresStore({ pool, timeout: '5s' })
  },
  cluster: () => clusterStore({ timeout: '5s' }),
}

const limiter = new RateLimiter({
  name: 'api',
  policies: fixedWindow({ name: 'month', limit, window: '365d' }),
  store: stores[kind](),
  storeTimeout: '10s',
  onStoreError: 'closed',
})

const seen = { decided: 0, failed: 0, admitted: 0, cold: 0 }
/** For each limit: when the calls began that were decided by it. */
const times = {}

async function callUntil(until) {
  while (Date.now() < until) {
    const startedAt = Date.now()
    try {
      const hot = await limiter.consume('hot')
      seen.decided++
      if (hot.allowed) seen.admitted++
      times[hot.limit] ??= []
      times[hot.limit].push(startedAt)
      if ((await limiter.consume('cold')).limit !== limit) seen.cold++
    } catch {
      seen.failed++
    }
    await sleep(5)
  }
}

process.on('message', async ({ until, loops }) => {
  if (until === undefined) return // a message between the stores
  await Promise.all(Array.from({ length: loops }, () => callUntil(until)))
  process.send({ result: { ...seen, times } })
})
process.on('disconnect', () => process.exit())
await limiter.peek('hot')
process.send({ ready: true })
