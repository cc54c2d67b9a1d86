/*
 * One table of an SQLite file, through a synchronous driver. Each transaction takes the file's write lock first (BEGIN IMMEDIATE),
 * so no other process writes between the reads and the writes of the transaction. The journal is a write-ahead log (WAL), so
 * readers never wait.
 */
import { LRUCache } from 'lru-cache'
import { HeadgateError, monotonicClock } from '../../common/index.ts'
import type { Durability, SavedText } from '../records/index.ts'
import type { SqliteDatabase, SqliteStatement } from './driver.ts'
import { FilePlace, openFile, openTimeout } from './open-file.ts'
import { layoutKey, type Sql, sweepEvery } from './sql.ts'
import { isBusy, sqliteError } from './sqlite-error.ts'

/** The most characters of keys and stored texts in `#known`: enough for about 20,000 keys with the state of one bucket. */
const knownSize = 4_000_000

/** Run by `exec`: a prepared statement of libsql that fails stays open, see `#closes`. */
const begin = 'BEGIN IMMEDIATE'

interface Row {
  readonly key: string
  readonly record: string
}

export interface SqliteFileOptions {
  /** The longest wait for the file's lock, in milliseconds. */
  readonly timeout: number
  /** For how many milliseconds a row stays in the table after its states are no longer needed. */
  readonly ttlMargin: number
  readonly synchronous: Durability
}

export class SqliteFile {
  readonly #database: SqliteDatabase
  readonly #timeout: number
  readonly #ttlMargin: number
  readonly #read: SqliteStatement
  readonly #save: SqliteStatement
  readonly #add: SqliteStatement
  readonly #swap: SqliteStatement
  readonly #sweepEnd: SqliteStatement
  readonly #sweep: SqliteStatement
  readonly #page: SqliteStatement
  readonly #remove: SqliteStatement
  readonly #clear: SqliteStatement
  /**
   * True if the driver closes a statement that fails. libsql, whose statements have `interrupt`, leaves the statement open: if the file was
   * locked, all later transactions then fail, or what they write is lost. So prepared statements that write run there only with the lock.
   */
  readonly #closes: boolean
  readonly #place: FilePlace
  /** For each key: the text that this process saved last. */
  readonly #known = new LRUCache<string, string>({
    maxSize: knownSize,
    sizeCalculation: (text, key) => text.length + key.length,
  })
  /** How many rows were saved since the last sweep (deletion of expired rows). */
  #saved = 0
  /** How long the present call has already waited for the file's lock in `swap`, in microseconds. */
  #waited = 0
  /** The key at which the last sweep (deletion of expired rows) ended. */
  #swept = layoutKey

  /**
   * @throws HeadgateError `HEADGATE_STORE` if the file cannot be opened or written
   * @throws HeadgateError `HEADGATE_OPTION` for a file on a network file system
   * @throws HeadgateError `HEADGATE_STORE_RECORD` for a table of another layout
   */
  constructor(database: SqliteDatabase, sql: Sql, { timeout, ttlMargin, synchronous }: SqliteFileOptions) {
    this.#database = database
    this.#timeout = timeout
    this.#ttlMargin = ttlMargin
    try {
      const path = openFile(database, sql, synchronous)
      this.#place = new FilePlace(path)
      database.exec(`PRAGMA busy_timeout = ${timeout}`)
      const prepare = (statement: string) => database.prepare(statement)
      this.#read = prepare(sql.read)
      this.#save = prepare(sql.save)
      this.#add = prepare(sql.add)
      this.#swap = prepare(sql.swap)
      this.#closes = this.#swap.interrupt === undefined
      this.#sweepEnd = prepare(sql.sweepEnd)
      this.#sweep = prepare(sql.sweep)
      this.#page = prepare(sql.page)
      this.#remove = prepare(sql.remove)
      this.#clear = prepare(sql.clear)
    } catch (cause) {
      throw sqliteError(cause, openTimeout, false)
    }
  }

  /**
   * Runs `use` in a transaction that holds the file's write lock.
   * @throws HeadgateError `HEADGATE_STORE_TIMEOUT` if another connection has the lock until the timeout
   * @throws HeadgateError `HEADGATE_STORE` if SQLite fails
   */
  transact<T>(use: () => T): T {
    try {
      this.#checkOpen()
      this.#place.check()
    } catch (cause) {
      throw sqliteError(cause, this.#timeout, false)
    }
    return this.#locked(use)
  }

  /** Does the same as `transact`, without a check of the file. */
  #locked<T>(use: () => T): T {
    let commits = false
    let begun = false
    try {
      this.#beginWithin()
      begun = true
      const result = use()
      commits = true
      this.#database.exec('COMMIT')
      return result
    } catch (cause) {
      if (begun) this.#end()
      throw sqliteError(cause, this.#timeout, commits)
    }
  }

  /**
   * Begins a transaction, which waits for the file's lock. If the call has already waited for the lock in `swap`, the transaction
   * waits only for the rest of the timeout.
   */
  #beginWithin(): void {
    const waited = Math.floor(this.#waited / 1000)
    this.#waited = 0
    if (waited === 0) return void this.#database.exec(begin)
    const setTimeout = (milliseconds: number) => this.#database.exec(`PRAGMA busy_timeout = ${milliseconds}`)
    setTimeout(Math.max(0, this.#timeout - waited))
    try {
      this.#database.exec(begin)
    } finally {
      setTimeout(this.#timeout)
    }
  }

  /** Reads the stored text of a key without a lock. @throws HeadgateError with the same codes as `transact` */
  read(key: string): string | undefined {
    try {
      this.#checkOpen()
      return this.readLocked(key)
    } catch (cause) {
      throw sqliteError(cause, this.#timeout, false)
    }
  }

  /**
   * The text that this process saved last for the key. Undefined if `#known` has no text. The file may have another text, if another
   * process has written the key since.
   */
  known(key: string): string | undefined {
    return this.#known.get(key)
  }

  /** Reads the stored text of a key within a transaction, which holds the lock. */
  readLocked(key: string): string | undefined {
    return (this.#read.get(key) as Row | null | undefined)?.record
  }

  /** Saves the text of a key within a transaction. @param now the time in microseconds since the epoch */
  save(key: string, { text, life }: SavedText, now: number): void {
    this.#save.run(key, text, this.#expires(now, life))
    this.#sweepSometimes(now)
  }

  /**
   * Saves a text if the key still has the text `before`, no sweep is due, and the driver says that no transaction is open. With an open
   * transaction, a rollback would remove the text again. Returns true if the text was saved.
   * @throws HeadgateError as `transact` does
   */
  swap(key: string, before: string | undefined, { text, life }: SavedText, now: number): boolean {
    this.#checkOpen()
    const { inTransaction, isTransaction } = this.#database
    if ((inTransaction ?? isTransaction) !== false || this.#saved >= sweepEvery) return false
    try {
      this.#place.check()
      const startedAt = monotonicClock()
      const expires = this.#expires(now, life)
      const change = () =>
        before === undefined ? this.#add.run(key, text, expires) : this.#swap.run(text, expires, key, before)
      const done = this.#closes ? change() : this.#locked(change)
      const saved = Number((done as { changes: number | bigint }).changes) > 0
      if (saved) this.#known.set(key, text)
      else this.#known.delete(key)
      if (saved) this.#saved++
      else this.#waited = monotonicClock() - startedAt
      return saved
    } catch (cause) {
      throw sqliteError(cause, this.#timeout, !isBusy(cause))
    }
  }

  /**
   * When a row may be deleted, in milliseconds since the epoch.
   * @param now the time in microseconds since the epoch
   * @param life for how long the text is needed, in microseconds
   */
  #expires(now: number, life: number): number {
    return Math.floor(now / 1000) + Math.ceil(life / 1000) + this.#ttlMargin
  }

  #sweepSometimes(now: number): void {
    if (++this.#saved < sweepEvery) return
    this.#saved = 0
    try {
      const time = Math.floor(now / 1000)
      const { last, expired } = this.#sweepEnd.get(time, this.#swept) as { last: string | null; expired: number }
      if (last !== null && expired > 0) this.#sweep.run(this.#swept, last, time)
      this.#swept = last ?? layoutKey
    } catch {} // the call itself is saved, and the next sweep tries again
  }

  remove(key: string): void {
    this.transact(() => this.#remove.run(key))
  }

  /** The next rows after the key `after`, before the key `end`. */
  page(after: string, end: string): readonly Row[] {
    try {
      this.#checkOpen()
      return this.#page.all(after, end) as Row[]
    } catch (cause) {
      throw sqliteError(cause, this.#timeout, false)
    }
  }

  /**
   * Deletes the keys between two keys. Each transaction deletes only some keys, so that no other process waits long for the
   * file's lock.
   */
  clear(after: string, end: string): void {
    while (this.page(after, end).length > 0) this.transact(() => this.#clear.run(after, end))
  }

  /**
   * Rolls a failed transaction back. After some errors SQLite has already rolled the transaction back. The rollback here then fails,
   * without harm.
   */
  #end(): void {
    try {
      this.#database.exec('ROLLBACK')
    } catch {}
  }

  /** Throws if the database is closed, because libsql ends the process at a call on a closed database. */
  #checkOpen(): void {
    if (this.#database.open !== false) return
    const message = 'The database is closed. Close it after the last call: server.close(), then database.close().'
    throw new HeadgateError('HEADGATE_STORE', message, { uncounted: true })
  }
}
