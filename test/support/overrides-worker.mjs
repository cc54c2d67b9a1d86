/*
 * One process of a fleet whose limits change while it works. The first argument is JSON. It calls until the time that a message says, and
 * sends what it has seen: see Seen of overrides-fleet.ts. It ends when the fleet disconnects it.
 */
import { subscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { fixedWindow, RateLimiter } from 'headgate'
import { clusterStore } from 'headgate/cluster'
import { postgresStore } from 'headgate/postgres'
import { redisStore } from 'headgate/redis'
import { Redis } from 'ioredis'
import { Pool } from 'pg'

const { kind, port, limit, onStoreError = 'closed', timeout = '5s', synchronous } = JSON.parse(process.argv[2])

const stores = {
  redis: () => {
    const client = new Redis(port)
    client.on('error', () => {})
    return redisStore({ client, timeout })
  },
  sentinel: () => {
    const client = new Redis({ sentinels: [{ host: '127.0.0.1', port }], name: 'gate', retryStrategy: () => 50 })
    client.on('error', () => {})
    return redisStore({ client, timeout })
  },
  postgres: () => {
    const pool = new Pool({ host: '127.0.0.1', port, user: 'headgate', database: 'postgres' })
    pool.on('error', () => {}) // the test may stop the server before this process
    pool.on('error', () => {})
    return postgresStore({ pool, timeout, ...(synchronous && { synchronous }) })
  },
  cluster: () => clusterStore({ timeout }),
}

const limiter = new RateLimiter({
  name: 'api',
  policies: fixedWindow({ name: 'month', limit, window: '365d' }),
  store: stores[kind](),
  storeTimeout: '10s',
  onStoreError,
})

const seen = { decided: 0, failed: 0, admitted: 0, cold: 0, local: 0, uncertain: 0, byStore: [] }
/** For each limit: when the calls began that were decided by it. */
const times = {}

subscribe('headgate:store:call', ({ error }) => {
  if (error !== undefined && !error.uncounted) seen.uncertain++
})

async function callUntil(until) {
  while (Date.now() < until) {
    const startedAt = Date.now()
    try {
      const hot = await limiter.consume('hot')
      seen.decided++
      if (hot.source === 'store') seen.byStore.push(Date.now())
      else if (hot.source === 'fallback') seen.local++
      else seen.failed++
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
  while (limiter.health().owing > 0) await Promise.all([limiter.peek('hot'), limiter.peek('cold'), sleep(20)])
  process.send({ result: { ...seen, times } })
})
process.on('disconnect', () => process.exit())
await limiter.peek('hot')
process.send({ ready: true })
