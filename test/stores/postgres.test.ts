import { Pool } from 'pg'
import { afterAll } from 'vitest'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { useServer } from '../support/use-server.ts'
import { describeWholeStore } from '../support/whole-store.ts'

const { config } = await useServer(startPostgres())
const pool = new Pool(config)
afterAll(() => pool.end())
await postgresStore({ pool }).migrate()

describeWholeStore({
  name: 'Postgres',
  create: (clock, prefix) => postgresStore({ pool, clock, prefix, ttlMargin: '1d', timeout: '10s' }),
  async text(key) {
    const { rows } = await pool.query('select record from headgate where key = $1', [key])
    return rows[0]?.record ?? undefined
  },
  runs: 30,
})
