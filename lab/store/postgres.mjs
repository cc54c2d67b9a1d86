import { inspectPostgres } from 'headgate/postgres'
import pg from 'pg'
import { UsageError } from '../cli/usage-error.mjs'
import { checkPostgres } from './check-postgres.mjs'
import { serverOf } from './server-url.mjs'

/** Connects once, and gives up at the first failure. @throws UsageError */
export async function openPostgres(url, { prefix, table }) {
  const server = serverOf(url, 'postgres', ['postgres:', 'postgresql:'])
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 5000, max: 2 })
  pool.on('error', () => {})
  const inspector = inspectPostgres(pool, { prefix, table }) // throws for a wrong option before anything is connected
  try {
    await pool.query('select 1')
  } catch ({ message, code }) {
    await pool.end()
    throw new UsageError(
      `Postgres at ${server} cannot be used: ${message || code}.`,
      'Check the URL, the password and the network.',
    )
  }
  return { server, inspector, check: () => checkPostgres(pool, inspector, table), close: () => pool.end() }
}
