import {
  type Clock,
  check,
  clockOr,
  type Duration,
  HeadgateError,
  oneOf,
  optional,
  readOptions,
  text,
  wallClock,
} from '../../common/index.ts'
import { Deadlines, type SharedStoreOptions, sharedOptions } from '../contract/index.ts'
import { type Durability, type Job, KeyQueue, type RecordContext, RecordStore } from '../records/index.ts'
import { isClient, isDatabase, type SqliteClient, type SqliteDatabase } from './driver.ts'
import { endOf, pageSize, Sql } from './sql.ts'
import { SqliteFile } from './sqlite-file.ts'
import { SqliteLedger } from './sqlite-ledger.ts'
import { SqliteRunner } from './sqlite-runner.ts'

/** The options of `sqliteStore`. */
export interface SqliteStoreOptions extends SharedStoreOptions {
  /**
   * An open connection that only this store uses: a `DatabaseSync` of node:sqlite, a `Database` of better-sqlite3, libsql or
   * bun:sqlite, or a client of @libsql/client. The store does not close the connection.
   */
  database: SqliteDatabase | SqliteClient
  /** The name of the store's table. The store creates the table. Default `'headgate'`. */
  table?: string | undefined
  /**
   * What the store waits for before it admits a call. With `'full'`, the units of the call are on the disk before the caller gets the
   * decision, and survive a power loss. With `'normal'`, the units survive a crash of the process, but a power loss may lose the units of
   * the last seconds. A client of @libsql/client decides itself when data is on the disk, so do not set the option for such a client.
   * Default `'normal'`.
   */
  synchronous?: Durability | undefined
  /**
   * How long a call may wait for the lock of the file. A driver without promises blocks the event loop during this time. When the
   * time is over, the call fails with HeadgateError `HEADGATE_STORE_TIMEOUT`. Default 100 ms.
   */
  timeout?: Duration | undefined
  /** Returns whole microseconds since the epoch. Default: the wall clock of the machine. */
  clock?: Clock | undefined
}

const readers = {
  database: check<SqliteDatabase | SqliteClient>(
    (given) => isDatabase(given) || isClient(given),
    'an open database',
    "new DatabaseSync('limits.db')",
  ),
  table: text('headgate'),
  synchronous: optional(oneOf<Durability>('full', 'normal')),
  clock: clockOr(wallClock),
  ...sharedOptions,
}

/**
 * Makes a store in a file of SQLite, for the processes of one machine. States survive restarts and crashes. Each decision is one
 * transaction over all its keys. `docs/stores.md` tells when to choose Postgres.
 *
 * A call fails with HeadgateError `HEADGATE_STORE` if SQLite fails, and with `HEADGATE_STORE_TIMEOUT` if another connection has
 * the file locked for longer than the timeout.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid, or the file is on a network file system
 * @throws HeadgateError `HEADGATE_STORE` if the file cannot be opened or written
 */
export function sqliteStore(options: SqliteStoreOptions): RecordStore {
  const { database, table, synchronous, prefix, timeout, ttlMargin, breaker, clock } = readOptions(
    'sqliteStore',
    options,
    readers,
  )
  const sql = new Sql(table)
  const common = { kind: 'sqlite', prefix, timeout, breaker, clock, deadlines: new Deadlines('SQLite', timeout) }
  if (isDatabase(database)) {
    const file = new SqliteFile(database, sql, { timeout, ttlMargin, synchronous: synchronous ?? 'normal' })
    const context: RecordContext = {
      ...common,
      queue: new KeyQueue(() => [], timeout),
      read: async (keys) => ({ texts: keys.map((key) => file.read(key)), now: clock() }),
      page: async (start, after) => {
        const rows = file.page(after, endOf(start))
        const keys = rows.map(({ key }) => key)
        return { keys, texts: rows.map(({ record }) => record), now: clock(), more: rows.length === pageSize }
      },
      clear: async (start) => file.clear(start, endOf(start)),
      runDocuments: (jobs) => jobs.map(async (job) => runOnFile(job, file, clock())),
    }
    return new RecordStore(context, (terms) => new SqliteLedger(terms, context, file))
  }
  if (synchronous !== undefined) {
    const fix = 'Leave it out, and set it where the client is made.'
    throw new HeadgateError('HEADGATE_OPTION', `sqliteStore: synchronous is not for a client of promises. ${fix}`)
  }
  const runner = new SqliteRunner({ client: database, sql, timeout, ttlMargin, clock })
  const context: RecordContext = {
    ...common,
    queue: new KeyQueue((jobs) => runner.run(jobs), timeout),
    read: (keys) => runner.read(keys),
    page: (start, after) => runner.page(start, after),
    clear: (start) => runner.clear(start),
    runDocuments: (jobs) => runner.run(jobs),
  }
  return new RecordStore(context)
}

/** Runs a job in a transaction of the file. */
function runOnFile(job: Job, file: SqliteFile, now: number): void {
  try {
    file.transact(() => {
      const writes = job.run(
        job.keys.map((key) => file.readLocked(key)),
        now,
      )
      for (const { index, text, life } of writes) file.save(job.keys[index] as string, { text, life }, now)
    })
    job.resolve()
  } catch (error) {
    job.reject(error as HeadgateError)
  }
}
