import { inspectPostgres, postgresStore } from 'headgate/postgres'
import pg from 'pg'
import { checkPostgres } from './check-postgres.mjs'
import { limitersIn } from './limiter-of.mjs'
import { serverError, serverOf } from './server-url.mjs'

/** Connects once, and gives up at the first failure. @throws UsageError */
export async function openPostgres(url, { prefix, table }) {
  const server = serverOf(url, 'postgres', ['postgres:', 'postgresql:'])
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 5000, max: 2 })
  pool.on('error', () => {})
  const inspector = inspectPostgres(pool, { prefix, table }) // throws for a wrong option before anything is connected
  try {
    await pool.query('select 1')
  } catch (error) {
    await pool.end()
    throw serverError('Postgres', server, error)
  }
  const check = async () => {
    try {
      return await checkPostgres(pool, inspector, table)
    } catch (error) {
      throw error.name === 'HeadgateError' ? error : serverError('Postgres', server, error)
    }
  }
  const limiterOf = limitersIn(() => postgresStore({ pool, prefix, table, timeout: 5000 }))
  return { server, inspector, inspectorOf: () => inspector, limiterOf, check, close: () => pool.end() }
}
