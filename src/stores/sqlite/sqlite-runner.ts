/*
 * Runs jobs (calls that read and write the records of some keys) with a driver that returns promises. Only one transaction is
 * open at a time, because a file has one write lock. Jobs that arrive during a transaction share the next transaction: one read
 * of all their keys, and one write of all changed records.
 */
import { type HeadgateError, monotonicClock } from '../../common/index.ts'
import { Deadlines, exchanged, exchangeStart } from '../contract/index.ts'
import type { Job, ReadTexts, TextPage } from '../records/index.ts'
import type { Bound, Rows, SqliteClient, SqliteTransaction } from './driver.ts'
import { FilePlace, listFiles, mainPath } from './open-file.ts'
import { endOf, layout, layoutKey, otherLayout, pageSize, type Sql, sweepEvery } from './sql.ts'
import { isBusy, sqliteError } from './sqlite-error.ts'

/** The most jobs (groups of calls on the same keys) in one transaction. */
const maxJobs = 64

/** How many milliseconds the runner waits before it tries again to begin a transaction, if another process has the write lock. */
const pause = 2

export interface SqliteRunnerOptions {
  readonly client: SqliteClient
  readonly sql: Sql
  /** How long a call may take, in milliseconds. */
  readonly timeout: number
  /** For how many milliseconds a row stays in the table after its states are no longer needed. */
  readonly ttlMargin: number
  /** Returns the time in whole microseconds since the epoch. */
  readonly clock: () => number
}

interface Row {
  readonly key: string
  readonly record: string
}

interface Task {
  readonly job: Job
  readonly done: () => void
}

export class SqliteRunner {
  readonly #options: SqliteRunnerOptions
  #tasks: Task[] = []
  #running = false
  #saved = 0
  /** The last key that the last sweep checked. The next sweep begins after this key. */
  #swept = layoutKey
  #opened: Promise<void> | undefined
  /** Where the file is; undefined before the file is open, and for a server. */
  #place: FilePlace | undefined
  /**
   * Ends the wait for a transaction whose driver does not answer, after twice the timeout. By that time, the calls of the transaction have
   * timed out, except those on which no caller waits.
   */
  readonly #deadlines: Deadlines

  constructor(options: SqliteRunnerOptions) {
    this.#options = options
    this.#deadlines = new Deadlines('SQLite', 2 * options.timeout)
  }

  /** Runs jobs (groups of calls on the same keys). Each promise resolves when its job has ended, whether the job succeeded or failed. */
  run(jobs: readonly Job[]): Promise<void>[] {
    const promises = jobs.map((job) => new Promise<void>((done) => void this.#tasks.push({ job, done })))
    if (!this.#running) void this.#runAll()
    return promises
  }

  async read(keys: readonly string[]): Promise<ReadTexts> {
    const rows = await this.#reading(this.#options.sql.readAll(keys.length), keys)
    const texts = new Map(rows.map(({ key, record }) => [key, record]))
    return { texts: keys.map((key) => texts.get(key)), now: this.#options.clock() }
  }

  async page(start: string, after: string): Promise<TextPage> {
    const rows = await this.#reading(this.#options.sql.page, [after, endOf(start)])
    const keys = rows.map(({ key }) => key)
    return { keys, texts: rows.map(({ record }) => record), now: this.#options.clock(), more: rows.length === pageSize }
  }

  async clear(start: string): Promise<void> {
    const { client, sql, timeout } = this.#options
    try {
      while ((await this.page(start, start)).keys.length > 0) {
        await client.execute({ sql: sql.clear, args: [start, endOf(start)] })
      }
    } catch (cause) {
      throw sqliteError(cause, timeout, true)
    }
  }

  async #reading(sql: string, args: readonly string[]): Promise<readonly Row[]> {
    try {
      await this.#prepared()
      return rowsOf(await this.#options.client.execute({ sql, args: [...args] }))
    } catch (cause) {
      throw sqliteError(cause, this.#options.timeout, false)
    }
  }

  async #runAll(): Promise<void> {
    this.#running = true
    while (this.#tasks.length > 0) {
      const tasks = this.#tasks.splice(0, maxJobs)
      const jobs = tasks.map(({ job }) => job).filter((job) => !job.settled)
      if (jobs.length > 0) await this.#deadlines.bound(this.#transact(jobs)).catch(ignore)
      for (const { done } of tasks) done()
    }
    this.#running = false
  }

  async #transact(jobs: readonly Job[]): Promise<void> {
    const startedAt = exchangeStart()
    let transaction: SqliteTransaction | undefined
    let commits = false
    let failure: HeadgateError | undefined
    try {
      await this.#prepared()
      this.#place?.check()
      transaction = await this.#begin()
      const { decided, saved } = await this.#decide(transaction, jobs)
      commits = saved.length > 0
      if (commits) {
        for (const job of decided) job.writes()
        await transaction.batch(saved)
        await transaction.commit()
      }
      for (const job of decided) job.resolve()
    } catch (cause) {
      failure = sqliteError(cause, this.#options.timeout, commits)
      for (const job of jobs) job.reject(failure)
    } finally {
      transaction?.close() // rolls back what was not committed
    }
    const calls = jobs.reduce((sum, { size }) => sum + size, 0)
    exchanged('sqlite', startedAt, calls, failure)
  }

  /** Begins a transaction. Some drivers do not wait for the lock of another process, so `#begin` tries again until the timeout. */
  async #begin(): Promise<SqliteTransaction> {
    const { client, timeout } = this.#options
    const end = monotonicClock() + timeout * 1000
    for (;;) {
      try {
        return await client.transaction('write')
      } catch (error) {
        if (!isBusy(error)) throw error
        await client.reconnect?.() // the statement that failed would block the commit of the next transaction
        if (monotonicClock() > end) throw error
        await new Promise((wake) => setTimeout(wake, pause))
      }
    }
  }

  /** Creates the table before the first transaction. After a failure, the next call tries again. */
  async #prepared(): Promise<void> {
    this.#opened ??= this.#open().catch((error) => {
      this.#opened = undefined
      throw error
    })
    await this.#opened
  }

  async #open(): Promise<void> {
    const { client, sql } = this.#options
    await client.execute({ sql: 'PRAGMA journal_mode = WAL', args: [] }).catch(ignore) // a server has a journal of its own
    const transaction = await this.#begin()
    try {
      for (const statement of sql.create) await transaction.execute({ sql: statement, args: [] })
      const [row] = rowsOf(await transaction.execute({ sql: sql.read, args: [layoutKey] }))
      if (row?.record !== layout) throw otherLayout(sql.table, row?.record)
      await transaction.commit()
    } finally {
      transaction.close()
    }
    if (client.protocol !== 'file') return // a server would return a path on the server's machine
    this.#place = new FilePlace(mainPath(rowsOf(await client.execute({ sql: listFiles, args: [] }))))
  }

  /**
   * Reads the texts of the keys of these jobs (groups of calls on the same keys), and evaluates the calls. A broken text rejects only its
   * job.
   */
  async #decide(transaction: SqliteTransaction, jobs: readonly Job[]): Promise<{ decided: Job[]; saved: Bound[] }> {
    const { sql, clock, ttlMargin } = this.#options
    const keys = jobs.flatMap((job) => job.keys)
    const rows = rowsOf(await transaction.execute({ sql: sql.readAll(keys.length), args: keys }))
    const texts = new Map(rows.map(({ key, record }) => [key, record]))
    const now = clock()
    const time = Math.floor(now / 1000)
    const decided: Job[] = []
    const saved: Bound[] = []
    for (const job of jobs) {
      try {
        const writes = job.run(
          job.keys.map((key) => texts.get(key)),
          now,
        )
        for (const { index, text, life } of writes) {
          const expires = time + Math.ceil(life / 1000) + ttlMargin
          saved.push({ sql: sql.save, args: [job.keys[index] as string, text, expires] })
        }
        decided.push(job)
      } catch (cause) {
        job.reject(cause as HeadgateError)
      }
    }
    this.#saved += saved.length
    if (this.#saved >= sweepEvery) saved.push(...(await this.#sweep(transaction, time)))
    return { decided, saved }
  }

  /** Returns the statement that deletes the next expired rows; no statement if none of the checked rows has expired. */
  async #sweep(transaction: SqliteTransaction, time: number): Promise<Bound[]> {
    const { sql } = this.#options
    const from = this.#swept
    const { rows } = await transaction.execute({ sql: sql.sweepEnd, args: [time, from] })
    const { last, expired } = rows[0] as unknown as { last: string | null; expired: number }
    this.#saved = 0
    this.#swept = last ?? layoutKey
    return last === null || expired === 0 ? [] : [{ sql: sql.sweep, args: [from, last, time] }]
  }
}

function rowsOf({ rows }: Rows): readonly Row[] {
  return rows as readonly Row[]
}

const ignore = (): void => {}
