import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { admitted, limit, sum } from '../support/fleet.ts'
import { type MemcachedServer, startMemcached } from '../support/memcached-server.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'

let postgres: PostgresServer
let memcached: MemcachedServer

beforeAll(async () => {
  postgres = await startPostgres()
  memcached = await startMemcached()
  const pool = new Pool(postgres.config)
  await postgresStore({ pool }).migrate()
  await pool.end()
}, 60_000)

afterAll(async () => {
  await memcached.stop()
  await postgres.stop()
})

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
