import { Pool } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { describeWholeStore } from '../support/whole-store.ts'

let server: PostgresServer
let pool: Pool

beforeAll(async () => {
  server = await startPostgres()
  pool = new Pool(server.config)
  await postgresStore({ pool }).migrate()
}, 60_000)

afterAll(async () => {
  await pool.end()
  await server.stop()
})

describeWholeStore({
  name: 'Postgres',
  create: (clock, prefix) => postgresStore({ pool, clock, prefix, ttlMargin: '1d', timeout: '10s' }),
  async text(key) {
    const { rows } = await pool.query('select record from headgate where key = $1', [key])
    return rows[0]?.record ?? undefined
  },
  runs: 30,
})
