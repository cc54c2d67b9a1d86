/*
 * One process of a fleet. The task is JSON in the first argument. It makes its calls when it gets the message `go`, so that
 * all processes start at the same time, and sends the result. It ends when the fleet disconnects it.
 */
import { createClient } from '@libsql/client'
import { fixedWindow, RateLimiter, slidingLog } from 'headgate'
import { clusterStore } from 'headgate/cluster'
import { memcachedStore } from 'headgate/memcached'
import { postgresStore } from 'headgate/postgres'
import { redisStore } from 'headgate/redis'
import { sqliteStore } from 'headgate/sqlite'
import { Cluster, Redis } from 'ioredis'
import Database from 'libsql'
import { MemcacheClient } from 'memcache-client'
import { Pool } from 'pg'
import { chargeBase, settleCalls, settlementPolicies, usedUnits } from './fleet-settlements.mjs'

const { kind, ports, policy, limit, calls, processes, store } = JSON.parse(process.argv[2])
const [port] = ports
const options = { timeout: '20s', ...store }

/** Each kind of store. */
const stores = {
  redis() {
    const client =
      ports.length === 1 ? new Redis(port) : new Cluster(ports.map((each) => ({ host: '127.0.0.1', port: each })))
    return redisStore({ client, ...options })
  },
  postgres() {
    const pool = new Pool({ host: '127.0.0.1', port, user: 'headgate', database: 'postgres' })
    return postgresStore({ pool, ...options })
  },
  memcached() {
    const client = new MemcacheClient({ server: `127.0.0.1:${port}`, noDelay: true, cmdTimeout: 20_000 })
    return memcachedStore({ client, ...options })
  },
  cluster: () => clusterStore(options),
  sqlite({ path, promises, ...rest } = options) {
    return sqliteStore({ database: promises ? createClient({ url: `file:${path}` }) : new Database(path), ...rest })
  },
}

const window = { limit, window: '1h' }
const policies = {
  fixedWindow: () => fixedWindow(window),
  slidingLog: () => slidingLog(window),
  settlements: () => settlementPolicies(calls * processes, processes),
}
const limiter = new RateLimiter({
  name: policy,
  policies: policies[policy](),
  store: stores[kind](),
  onStoreError: 'throw',
})

/** Makes the calls, 32 of them in flight. Returns how many were admitted. */
async function consumeCalls() {
  let left = calls
  let admitted = 0
  async function caller() {
    while (left-- > 0) if ((await limiter.consume('everybody')).allowed) admitted++
  }
  await Promise.all(Array.from({ length: 32 }, caller))
  return admitted
}

if (policy === 'settlements') await chargeBase(limiter)
else await limiter.peek('everybody')
process.on('disconnect', () => process.exit())
process.on('message', async ({ go, peek }) => {
  if (go) process.send({ result: policy === 'settlements' ? await settleCalls(limiter, calls) : await consumeCalls() })
  if (peek) process.send({ used: await usedUnits(limiter) })
})
process.send({ ready: true })
