import { RateLimiter, tokenBucket } from 'headgate'
import { memcachedStore } from 'headgate/memcached'
import { postgresStore } from 'headgate/postgres'
import { MemcacheClient } from 'memcache-client'
import { Pool } from 'pg'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { startMemcached, startPostgres } from '../lib/database-servers.mjs'
import { defineSuite } from '../lib/suite.mjs'

const limit = 1_000_000
const keys = 10_000
const flights = [1, 16, 64]
const timeout = '30s'

function headgate(store) {
  const limiter = new RateLimiter({ name: 'bench', policies: tokenBucket({ limit, window: '1h' }), store })
  return async (key) => (await limiter.consume(key)).allowed
}

async function inPostgres(pool, options) {
  const store = postgresStore({ pool, timeout, ...options })
  await store.migrate()
  return headgate(store)
}

/** Each gets a pool of four connections, and returns a function that makes one call for a key. */
const postgresTargets = {
  async 'a counter by INSERT ... ON CONFLICT'(pool) {
    await pool.query('create table counters (key text primary key, count bigint)')
    const text =
      'insert into counters as c values ($1, 1) on conflict (key) do update set count = c.count + 1 returning count'
    return async (key) => Number((await pool.query({ name: 'count', text, values: [key] })).rows[0].count) <= limit
  },
  'headgate tokenBucket': (pool) => inPostgres(pool, {}),
  'headgate tokenBucket, prepare: false': (pool) => inPostgres(pool, { prepare: false }),
  async 'rate-limiter-flexible'(pool) {
    const limiter = await new Promise((resolve, reject) => {
      const made = new RateLimiterPostgres({ storeClient: pool, points: limit, duration: 3600 }, (error) =>
        error ? reject(error) : resolve(made),
      )
    })
    return async (key) => (await limiter.consume(key)).remainingPoints >= 0
  },
}

const memcachedTargets = {
  async 'a counter by incr'(client) {
    const count = (key) => client.incr(key, 1)
    return async (key) => {
      const found = await count(key).catch(() => client.add(key, '1'))
      return found !== undefined
    }
  },
  'headgate tokenBucket': (client) => headgate(memcachedStore({ client, timeout })),
  'headgate tokenBucket, a command a key'(client) {
    const alone = {
      gets: (key) => client.gets(key),
      cas: (...args) => client.cas(...args),
      add: (...args) => client.add(...args),
    }
    return headgate(memcachedStore({ client: alone, timeout }))
  },
}

const servers = {
  async Postgres() {
    const { config, cpu } = await startPostgres()
    const pool = new Pool({ ...config, max: 4, idleTimeoutMillis: 0, options: '-c synchronous_commit=off' })
    await Promise.all([1, 2, 3, 4].map(() => pool.query('select pg_sleep(0.2)')))
    return { client: pool, cpu }
  },
  async Memcached() {
    const { server, cpu } = await startMemcached()
    return { client: new MemcacheClient({ server, noDelay: true, cmdTimeout: 30_000 }), cpu }
  },
}

async function traffic(database, make, flight) {
  const { client, cpu } = await servers[database]()
  const ask = await make(client)
  let asked = 0
  const run = async (count) => {
    let left = count
    const worker = async () => {
      while (left-- > 0) if (!(await ask(`user-${asked++ % keys}`))) throw new Error('refused')
    }
    await Promise.all(Array.from({ length: flight }, worker))
  }
  const calls = flight === 1 ? 2000 : 20_000
  await run(calls)
  const [start, own, remote] = [performance.now(), process.cpuUsage(), cpu()]
  await run(calls)
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(own)
  return { perSecond: calls / seconds, clientUs: (user + system) / calls, serverUs: (cpu() - remote) / calls }
}

const targets = { Postgres: postgresTargets, Memcached: memcachedTargets }
const all = Object.keys(targets).flatMap((database) => flights.map((flight) => ({ database, flight })))
const nameOf = ({ database, flight }) => `${database}, ${flight} in flight, 10,000 keys`
const kindOf = (target) => (target.startsWith('headgate') ? 'headgate' : target.startsWith('a ') ? 'floor' : 'peer')

export default defineSuite({
  name: 'databases',
  title: 'Decisions on Postgres and Memcached',
  rounds: 3,
  workloads: all.map((each) => ({
    name: nameOf(each),
    metric: 'perSecond',
    columns: [
      { metric: 'perSecond', label: 'decisions a second' },
      { metric: 'clientUs', label: 'client CPU us' },
      { metric: 'serverUs', label: 'server CPU us' },
    ],
    ratio: { to: 'headgate tokenBucket', label: 'decisions, to headgate' },
  })),
  cases: all.flatMap(({ database, flight }) =>
    Object.entries(targets[database]).map(([target, make]) => ({
      workload: nameOf({ database, flight }),
      target,
      kind: kindOf(target),
      measure: () => traffic(database, make, flight),
    })),
  ),
})
