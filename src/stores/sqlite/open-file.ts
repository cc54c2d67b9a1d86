/* Opens a database file of SQLite: refuses a network file system, sets the write-ahead log, creates the table and checks its layout. */
import { statfsSync, statSync } from 'node:fs'
import { HeadgateError, monotonicClock, shown } from '../../common/index.ts'
import type { Durability } from '../records/index.ts'
import type { SqliteDatabase } from './driver.ts'
import { layout, layoutKey, otherLayout, type Sql } from './sql.ts'
import { isBusy } from './sqlite-error.ts'

/** How long the store may wait, when it opens the file, for other processes that open the same file, in milliseconds. */
export const openTimeout = 5000

/** The numbers of network file systems in statfs(2): NFS, SMB, CIFS, SMB2, AFS, Ceph. WAL fails there, because it needs shared memory. */
const networks: readonly number[] = [0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x00c36400]

/** Opens the file and creates the store's table in it. Returns the path of the file; undefined for a database in memory. */
export function openFile(database: SqliteDatabase, sql: Sql, synchronous: Durability): string | undefined {
  database.exec(`PRAGMA busy_timeout = ${openTimeout}`)
  const path = pathOf(database)
  if (path !== undefined) refuseNetwork(path)
  useLog(database)
  database.exec(`PRAGMA synchronous = ${synchronous}`)
  for (const statement of sql.create) database.exec(statement)
  const found = database.prepare(sql.read).get(layoutKey) as { record: string }
  if (found.record !== layout) throw otherLayout(sql.table, found.record)
  return path
}

/** The path of the database's file; undefined for a database in memory. */
function pathOf(database: SqliteDatabase): string | undefined {
  return mainPath(database.prepare(listFiles).all())
}

/** The statement that lists the files of a connection. */
export const listFiles = 'PRAGMA database_list'

/** The path of the main file in the rows of `listFiles`; undefined for a database in memory. */
export function mainPath(rows: readonly unknown[]): string | undefined {
  const list = rows as { name: string; file: string | null }[]
  return list.find(({ name }) => name === 'main')?.file || undefined
}

/** The time between two checks that the file was not deleted or replaced, in microseconds. */
const checkEvery = 1_000_000

/** The path of an open file. Another file may later have the same path. */
export class FilePlace {
  readonly #path: string | undefined
  readonly #inode: number | undefined
  #checked = 0

  /** @param path undefined for a database in memory */
  constructor(path: string | undefined) {
    this.#path = path
    this.#inode = path === undefined ? undefined : inodeOf(path)
  }

  /** Throws if the file was deleted or replaced, because no other process reads what is then written to the old file. */
  check(): void {
    if (this.#path === undefined) return
    const now = monotonicClock()
    if (now - this.#checked < checkEvery) return
    if (inodeOf(this.#path) !== this.#inode) {
      const message = `The file ${shown(this.#path)} was deleted or replaced. Open the database and the store anew.`
      throw new HeadgateError('HEADGATE_STORE', message, { uncounted: true })
    }
    this.#checked = now
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

function refuseNetwork(path: string): void {
  if (!networks.includes(statfsSync(path).type)) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `database is on the file system of a network (${shown(path)}), where SQLite cannot lock. Use a local disk, or postgresStore.`,
  )
}

/**
 * Sets the write-ahead log. In this step SQLite does not wait for the lock of another process that opens the file, so the step is
 * repeated until it succeeds or `openTimeout` has passed.
 */
function useLog(database: SqliteDatabase): void {
  const end = monotonicClock() + openTimeout * 1000
  for (;;) {
    try {
      const { journal_mode: mode } = database.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string }
      if (mode === 'wal' || mode === 'memory') return
      throw new Error(`SQLite cannot use a write-ahead log here, only ${mode}`)
    } catch (error) {
      if (!isBusy(error) || monotonicClock() > end) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}
