import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { admittedBy, quick } from '../support/fleet.ts'
import { startMemcached } from '../support/memcached-server.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { useServer } from '../support/use-server.ts'

const postgres = await useServer(startPostgres())
const memcached = await useServer(startMemcached())
const pool = new Pool(postgres.config)
await postgresStore({ pool }).migrate()
await pool.end()

const task = { ...quick, policy: 'slidingLog', store: {} }

test('several processes on one key of Postgres admit exactly the limit', async () => {
  expect(await admittedBy({ ...task, kind: 'postgres', ports: [postgres.port] })).toBe(quick.limit)
})

test('several processes on one key of Memcached admit exactly the limit', async () => {
  expect(await admittedBy({ ...task, kind: 'memcached', ports: [memcached.port] })).toBe(quick.limit)
})

test('the workers of a cluster on one key admit exactly the limit', async () => {
  const store = clusterStore({ name: 'fleet' })
  expect(await admittedBy({ ...task, kind: 'cluster', store: { name: 'fleet' } })).toBe(quick.limit)
  store.close()
})
