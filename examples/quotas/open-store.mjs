import { postgresStore } from 'headgate/postgres'
import { sqliteStore } from 'headgate/sqlite'
import Database from 'libsql'
import { Pool } from 'pg'

/**
 * The counts of all customers: in a file of SQLite, such as 'quotas.db', or in Postgres, as 'postgres://...'. With `synchronous: 'full'`,
 * a request is admitted when its units are on the disk, so not even a power loss gives a customer units back.
 */
export async function openStore(url) {
  if (!/^postgres(ql)?:/.test(url)) {
    const database = new Database(url)
    return { store: sqliteStore({ database, synchronous: 'full' }), close: async () => database.close() }
  }
  const pool = new Pool({ connectionString: url, connectionTimeoutMillis: 1000 })
  pool.on('error', console.error)
  const store = postgresStore({ pool, synchronous: 'full' })
  await store.migrate()
  return { store, close: () => pool.end() }
}
