import { join } from 'node:path'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sampled } from '../support/depth.ts'
import { admittedBy, expectExactlySettled, type FleetTask, quick, quickSettling } from '../support/fleet.ts'
import { startMemcached } from '../support/memcached-server.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { temporaryFolder } from '../support/sqlite.ts'
import { useServer } from '../support/use-server.ts'

const postgres = await useServer(startPostgres())
const memcached = await useServer(startMemcached())
const pool = new Pool(postgres.config)
await postgresStore({ pool }).migrate()
await pool.end()

/** In milliseconds: three processes start, and settle 600 calls. */
const timeout = 120_000

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

test('several processes on one key of a file of SQLite admit exactly the limit', async () => {
  const store = { path: join(temporaryFolder(), 'limits.db') }
  expect(await admittedBy({ ...task, kind: 'sqlite', store })).toBe(quick.limit)
})

test('4 processes with 32 calls in flight by clients of promises, on one key of a file of SQLite, admit exactly the limit', async () => {
  const store = { path: join(temporaryFolder(), 'limits.db'), promises: true }
  expect(await admittedBy({ ...task, processes: 4, kind: 'sqlite', store })).toBe(quick.limit)
}, 120_000)

const cluster = () => clusterStore({ name: 'settlements' })
const settling: [string, { kind: FleetTask['kind']; ports?: number[]; store: object }, (() => { close(): void })?][] = [
  ['a file of SQLite', { kind: 'sqlite', store: { path: join(temporaryFolder(), 'settlements.db') } }],
  ['Postgres', { kind: 'postgres', ports: [postgres.port], store: {} }],
  ['Memcached', { kind: 'memcached', ports: [memcached.port], store: { retries: 1000 } }],
  ['the primary of a cluster', { kind: 'cluster', store: { name: 'settlements' } }, cluster],
]

test.each(sampled(settling, 1))(
  'several processes that reserve and settle on %s use exactly what they settle',
  async (_, server, open) => {
    const store = open?.()
    await expectExactlySettled({ ...quickSettling, ...server })
    store?.close()
  },
  timeout,
)
