import { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { admitted, limit, sum } from '../support/fleet.ts'
import { startMemcached } from '../support/memcached-server.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { useServer } from '../support/use-server.ts'

const postgres = await useServer(startPostgres())
const memcached = await useServer(startMemcached())
const pool = new Pool(postgres.config)
await postgresStore({ pool }).migrate()
await pool.end()

describe.each(['fixedWindow', 'slidingLog'])('8 processes x 2,000 calls on one key of limit 1,000, %s', (policy) => {
  test('admit exactly 1,000 on Postgres', async () => {
    expect(sum(await admitted({ kind: 'postgres', ports: [postgres.port], policy, store: {} }))).toBe(limit)
  }, 60_000)

  test('admit exactly 1,000 on Memcached', async () => {
    expect(sum(await admitted({ kind: 'memcached', ports: [memcached.port], policy, store: {} }))).toBe(limit)
  }, 60_000)

  test('admit exactly 1,000 in the workers of a cluster', async () => {
    const store = clusterStore({ name: policy })
    expect(sum(await admitted({ kind: 'cluster', policy, store: { name: policy } }))).toBe(limit)
    store.close()
  }, 60_000)
})
