import { join } from 'node:path'
import { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sampled } from '../support/depth.ts'
import { admittedBy, expectExactlySettled, full } from '../support/fleet.ts'
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

const folder = temporaryFolder()
const timeout = 120_000
const settlingTimeout = 600_000

const plain = { batch: false, refusalCache: false }
const masters = redisCluster.nodes.map(({ port }) => port)
const servers = [
  ['Redis', { kind: 'redis', ports: [redis.port], store: { prefix: 'one' } }],
  [
    'Redis without batches and cache of refusals',
    { kind: 'redis', ports: [redis.port], store: { prefix: 'plain', ...plain } },
  ],
  ['Redis Cluster with 3 masters', { kind: 'redis', ports: masters, store: { prefix: 'three' } }],
  ['Postgres', { kind: 'postgres', ports: [postgres.port], store: {} }],
  ['SQLite, synchronous normal', { kind: 'sqlite', store: { path: join(folder, 'normal.db') } }],
  ['SQLite, synchronous full', { kind: 'sqlite', store: { path: join(folder, 'full.db'), synchronous: 'full' } }],
  ['SQLite by a client of promises', { kind: 'sqlite', store: { path: join(folder, 'client.db'), promises: true } }],
  ['Memcached', { kind: 'memcached', ports: [memcached.port], store: {} }],
] as const

describe.each(['fixedWindow', 'slidingLog'])(
  '8 processes make 2,000 calls each on one key of limit 1,000, %s',
  (policy) => {
    test.each(sampled(servers, 3))(
      '%s admits exactly 1,000',
      async (_, server) => {
        expect(await admittedBy({ ...full, ...server, policy })).toBe(full.limit)
      },
      timeout,
    )

    test(
      'the primary of a cluster admits exactly 1,000',
      async () => {
        const store = clusterStore({ name: policy })
        expect(await admittedBy({ ...full, kind: 'cluster', policy, store: { name: policy } })).toBe(full.limit)
        store.close()
      },
      timeout,
    )
  },
)

describe('8 processes reserve and settle 2,000 times each, and use exactly what they settle', () => {
  test.each(sampled(servers, 3))(
    '%s',
    async (_, { store, ...server }) => {
      const retries = server.kind === 'memcached' && { retries: 10_000 }
      await expectExactlySettled({ ...full, ...server, store: { ...store, timeout: '5m', ...retries } })
    },
    settlingTimeout,
  )

  test(
    'the primary of a cluster',
    async () => {
      const store = clusterStore({ name: 'settlements' })
      await expectExactlySettled({ ...full, kind: 'cluster', store: { name: 'settlements', timeout: '5m' } })
      store.close()
    },
    settlingTimeout,
  )
})
