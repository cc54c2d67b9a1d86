import { check, HeadgateError, readOptions, text, wallClock } from '../../common/index.ts'
import { sharedOptions } from '../contract/index.ts'
import { KeyRecord, keptRecord, partsOfRecordKey } from '../records/index.ts'
import { inspectStore, type StoredRecord, type StoreInspector } from '../store-inspector.ts'
import { isDatabase, type SqliteDatabase } from './driver.ts'
import { endOf, pageSize, Sql } from './sql.ts'
import { SqliteFile } from './sqlite-file.ts'

/** The options of `inspectSqlite`. */
export interface InspectSqliteOptions {
  /** The prefix of the store. Default `'headgate'`. */
  prefix?: string | undefined
  /** The name of the store's table. Default `'headgate'`. */
  table?: string | undefined
}

const readers = {
  database: check<SqliteDatabase>(isDatabase, 'a database that answers at once', "new DatabaseSync('limits.db')"),
  prefix: sharedOptions.prefix,
  table: text('headgate'),
}

/**
 * Shows what limiters store in a file of SQLite. The policies of these limiters need not be known. The method `reset` deletes the
 * row of a key.
 * @throws HeadgateError `HEADGATE_OPTION` if the database or an option is invalid
 * @throws HeadgateError `HEADGATE_STORE` if the file has no table of that name
 */
export function inspectSqlite(database: SqliteDatabase, options: InspectSqliteOptions = {}): StoreInspector {
  const { prefix, table } = readOptions('inspectSqlite', { database, ...options }, readers)
  const sql = new Sql(table)
  if (!database.prepare('SELECT name FROM sqlite_master WHERE name = ? COLLATE NOCASE').get(table)) {
    throw new HeadgateError(
      'HEADGATE_STORE',
      `The file has no table ${table}. Give the table and the file of a sqliteStore.`,
    )
  }
  const file = new SqliteFile(database, sql, { timeout: 5000, ttlMargin: 1000, synchronous: 'normal' })
  const unban = (key: string) => {
    const now = wallClock()
    const record = new KeyRecord(file.readLocked(key))
    record.unban(now)
    if (record.changed) file.save(key, record.save(now), now)
  }
  const store = {
    records: (start: string) => recordsOf(file, start),
    async record(storeKey: string) {
      const record = file.read(storeKey)
      return record === undefined ? undefined : recordOf(storeKey, record)
    },
    partsOf: partsOfRecordKey,
    remove: async (storeKey: string) => file.remove(storeKey),
    unban: async (storeKey: string) => file.transact(() => unban(storeKey)),
  }
  return inspectStore(store, prefix)
}

async function* recordsOf(file: SqliteFile, start: string): AsyncGenerator<StoredRecord, void, undefined> {
  for (let after: string | undefined = start; after !== undefined; ) {
    const rows = file.page(after, endOf(start))
    for (const { key, record } of rows) yield recordOf(key, record)
    after = rows.length === pageSize ? rows.at(-1)?.key : undefined
  }
}

function recordOf(storeKey: string, record: string): StoredRecord {
  return { storeKey, now: wallClock(), bytes: record.length, read: () => keptRecord(record) }
}
