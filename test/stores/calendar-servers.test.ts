/* Windows of a calendar, on every store with a server or another process. */
import { Cluster } from 'ioredis'
import { Pool } from 'pg'
import { afterAll } from 'vitest'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { describeCalendars } from '../support/calendar-laws.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { type RedisServer, startCluster } from '../support/redis-server.ts'
import { clusterWorker, memcached } from '../support/server-stores.ts'
import { useRedis, useServer } from '../support/use-server.ts'

const options = { timeout: '10s', ttlMargin: '1d' }

const { client } = await useRedis()
for (const [name, more] of [
  ['Redis', {}],
  ['Redis, with leases', { leases: { units: 4 } }],
  ['Redis, with leases by demand and a cache of refusals', { leases: 'auto', refusalCache: true }],
] as const) {
  describeCalendars({
    name,
    create: (clock, prefix) => redisStore({ client, prefix, ...options, ...more, ...(clock && { clock }) }),
    shared: true,
    leases: 'leases' in more,
    async storeTime() {
      const [seconds, microseconds] = await client.time()
      return Number(seconds) * 1000 + Number(microseconds) / 1000
    },
  })
}

const { nodes } = await useServer(startCluster())
const nodesOf = new Cluster([{ host: '127.0.0.1', port: (nodes[0] as RedisServer).port }])
nodesOf.on('error', () => {})
afterAll(() => nodesOf.disconnect())
describeCalendars({
  name: 'Redis Cluster',
  create: (clock, prefix) => redisStore({ client: nodesOf, prefix, ...options, ...(clock && { clock }) }),
  shared: true,
})

const { config } = await useServer(startPostgres())
const pool = new Pool(config)
afterAll(() => pool.end())
await postgresStore({ pool }).migrate()
describeCalendars({
  name: 'Postgres',
  create: (clock, prefix) => postgresStore({ pool, prefix, ...options, ...(clock && { clock }) }),
  shared: true,
  async storeTime() {
    const { rows } = await pool.query('select extract(epoch from clock_timestamp()) * 1000 as now')
    return Number(rows[0].now)
  },
})

const real = () => Date.now() * 1000
for (const subject of [await memcached(), await clusterWorker()]) {
  describeCalendars({ ...subject, create: (clock = real, prefix) => subject.create(clock, prefix) })
}
