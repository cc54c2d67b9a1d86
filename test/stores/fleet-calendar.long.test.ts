/* Several processes call on one key, from before the end of a window of a calendar until after it. */
import { join } from 'node:path'
import { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { inDepth, sampled } from '../support/depth.ts'
import { admittedAroundMidnight, admittedInTwoWindows, type FleetTask } from '../support/fleet.ts'
import { startMemcached } from '../support/memcached-server.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { startCluster, startRedis } from '../support/redis-server.ts'
import { temporaryFolder } from '../support/sqlite.ts'
import { useServer } from '../support/use-server.ts'

const redis = await useServer(startRedis())
const redisCluster = await useServer(startCluster())
const postgres = await useServer(startPostgres())
const memcached = await useServer(startMemcached())
const pool = new Pool(postgres.config)
await postgresStore({ pool }).migrate()
await pool.end()

const size = inDepth ? { processes: 8, calls: 500, limit: 1000 } : { processes: 3, calls: 150, limit: 200 }
const apart = 50_000
const masters = redisCluster.nodes.map(({ port }) => port)

type Server = Pick<FleetTask, 'kind' | 'ports' | 'store'>

const clocks: readonly (readonly [string, number, Server])[] = [
  ['Redis', apart, { kind: 'redis', ports: [redis.port], store: {} }],
  [
    'Redis with leases',
    apart,
    { kind: 'redis', ports: [redis.port], store: { prefix: 'leases', leases: { units: 2 } } },
  ],
  ['Redis Cluster', apart, { kind: 'redis', ports: masters, store: {} }],
  ['Postgres', apart, { kind: 'postgres', ports: [postgres.port], store: {} }],
  ['Memcached', apart, { kind: 'memcached', ports: [memcached.port], store: { retries: 1000 } }],
  ['SQLite', 0, { kind: 'sqlite', store: { path: join(temporaryFolder(), 'limits.db') } }],
]

describe('with given clocks, the limit is admitted before midnight and after it', () => {
  test.each(sampled(clocks, 2))('%s, clocks up to %i ms apart', async (_, apart, server) => {
    // A process may end its calls with a leased unit that it has not spent.
    const least = 'leases' in server.store ? size.limit - size.processes : size.limit
    for (const admitted of await admittedAroundMidnight({ ...size, ...server }, apart)) {
      expect(admitted).toBeLessThanOrEqual(size.limit)
      expect(admitted).toBeGreaterThanOrEqual(least)
    }
  })
})

describe('by the clock of the store, the limit is admitted in each window', () => {
  const seconds = inDepth ? 5 : 2

  test.each(
    sampled(
      clocks.filter(([name]) => ['Redis', 'Postgres'].includes(name)),
      1,
    ),
  )(
    '%s',
    async (_, __, server) => {
      const admitted = await admittedInTwoWindows({ ...size, ...server }, seconds)
      expect(admitted).toBe(2 * size.limit)
    },
    120_000,
  )

  test('the primary of a cluster', async () => {
    const store = clusterStore({ name: 'calendar' })
    const admitted = await admittedInTwoWindows({ ...size, kind: 'cluster', store: { name: 'calendar' } }, seconds)
    expect(admitted).toBe(2 * size.limit)
    store.close()
  }, 120_000)
})
