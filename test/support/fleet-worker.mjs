/*
 * One process of a fleet. The task is JSON in the first argument. It makes its calls when it gets the message `go`, so that
 * all processes start at the same time, and sends the result. It ends when the fleet disconnects it.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { fixedWindow, RateLimiter, slidingLog } from 'headgate'
import { calendarWindow } from 'headgate/calendar'
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

const { kind, ports, policy, limit, calls, processes, store, seconds, keys, folder } = JSON.parse(process.argv[2])
const [port] = ports
/** How far the clock of this process is ahead of the clock of the machine, in milliseconds. */
let ahead = 0
const machineTime = Date.now
Date.now = () => machineTime() + ahead
const options = { timeout: '20s', ...store, ...(store.clock && { clock: () => Date.now() * 1000 }) }

/** Each kind of store. */
const stores = {
  redis() {
    const client =
      ports.length === 1 ? new Redis(port) : new Cluster(ports.map((each) => ({ host: '127.0.0.1', port: each })))
    return redisStore({ client, ...options })
  },
  postgres() {
    const pool = new Pool({ host: '127.0.0.1', port, user: 'headgate', database: 'postgres' })
    pool.on('error', () => {}) // the test may stop the server before this process
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

/** Windows of so many seconds, which begin at their multiples, in place of days. */
const quickCalendar = {
  asks: [],
  seconds,
  windowsAt(now) {
    const window = this.seconds * 1_000_000
    const start = now - (now % window)
    return [start - window, start, start + window, start + 2 * window]
  },
}

const window = { limit, window: '1h' }
const policies = {
  fixedWindow: () => fixedWindow(window),
  slidingLog: () => slidingLog(window),
  days: () => calendarWindow({ limit, every: 'day', timeZone: 'Europe/Berlin' }),
  seconds: () => ({ ...calendarWindow({ limit, every: 'day' }), calendar: quickCalendar }),
  told: () => calendarWindow({ limit, every: 'year', thresholds: [0.5, 1] }),
  settlements: () => settlementPolicies(calls * processes, processes),
}
const limiter = new RateLimiter({
  name: policy,
  policies: policies[policy](),
  store: stores[kind](),
  onStoreError: 'throw',
  // A file has what was told also after this process was killed.
  onThreshold: ({ key, threshold }) => appendFileSync(join(folder, `${process.pid}`), `${key} ${threshold}\n`),
})

/** Makes the calls, 32 of them in flight, or calls until a time of the machine. Returns how many were admitted. */
async function consumeCalls(until) {
  let left = calls
  let admitted = 0
  async function caller() {
    while (until === undefined ? left-- > 0 : machineTime() < until)
      if ((await limiter.consume('everybody')).allowed) admitted++
  }
  await Promise.all(Array.from({ length: 32 }, caller))
  return admitted
}

/** Spends the quota of each key. Each process begins with other keys. The first process has one call in flight. Returns the admitted units. */
async function spendKeys(place) {
  const first = Math.floor((place * keys) / processes)
  let next = 0
  let admitted = 0
  async function caller() {
    while (next < keys) {
      const key = `k${(first + next++) % keys}`
      while ((await limiter.consume(key)).allowed) admitted++
    }
  }
  await Promise.all(Array.from({ length: place === 0 ? 1 : 32 }, caller))
  return admitted
}

if (policy === 'settlements') await chargeBase(limiter)
else await limiter.peek('everybody')
process.on('disconnect', () => process.exit())
process.on('message', async ({ go, time, until, peek, place }) => {
  if (time !== undefined) ahead = time - machineTime()
  if (place !== undefined) process.send({ result: await spendKeys(place) })
  if (go && place === undefined)
    process.send({ result: policy === 'settlements' ? await settleCalls(limiter, calls) : await consumeCalls(until) })
  if (peek) process.send({ used: await usedUnits(limiter) })
})
process.send({ ready: true })
