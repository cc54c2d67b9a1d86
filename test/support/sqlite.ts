/* Stores in files of SQLite, in a folder that is removed after the test file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import Database from 'libsql'
import { afterAll } from 'vitest'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import type { WholeStore } from './whole-store.ts'

const options = { ttlMargin: '1d', timeout: '10s' }

/** A new folder for files, removed after the test file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-sqlite-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A table for each store: the stores of a test file have clocks of their own, and a table is swept by one clock. */
const tableOf = (prefix: string) => prefix.split(':', 1)[0]?.replaceAll('-', '_') as string

type FileStore = Omit<WholeStore, 'runs'>

/** A driver that answers at once. */
export function sqliteDatabase(): FileStore {
  const database = new Database(join(temporaryFolder(), 'limits.db'))
  afterAll(() => database.close())
  const text = (key: string) => database.prepare(`SELECT record FROM ${tableOf(key)} WHERE key = ?`).get(key)
  return {
    name: 'SQLite by a driver that answers at once',
    create: (clock, prefix) => sqliteStore({ database, clock, prefix, table: tableOf(prefix), ...options }),
    text: async (key) => (text(key) as { record: string } | undefined)?.record,
  }
}

/** A driver that answers by promises. */
export function sqliteClient(): FileStore {
  const client = createClient({ url: `file:${join(temporaryFolder(), 'limits.db')}` })
  afterAll(() => client.close())
  return {
    name: 'SQLite by a client of promises',
    usesArrivalTime: true,
    create: (clock, prefix) => sqliteStore({ database: client, clock, prefix, table: tableOf(prefix), ...options }),
    async text(key) {
      const table = tableOf(key)
      const made = await client.execute({ sql: 'SELECT 1 FROM sqlite_master WHERE name = ?', args: [table] })
      if (made.rows.length === 0) return undefined // the first call of a store makes its table
      const { rows } = await client.execute({ sql: `SELECT record FROM ${table} WHERE key = ?`, args: [key] })
      return rows[0]?.record as string | undefined
    },
  }
}
