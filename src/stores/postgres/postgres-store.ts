import {
  type Clock,
  clockOr,
  flag,
  type HeadgateError,
  oneOf,
  readOptions,
  text,
  wallClock,
  whole,
} from '../../common/index.ts'
import { Deadlines, type SharedStoreOptions, sharedOptions } from '../contract/index.ts'
import { type Durability, KeyQueue, RecordStore } from '../records/index.ts'
import { checkPool, type PostgresPool, withClient } from './postgres-client.ts'
import { migrationError } from './postgres-error.ts'
import { rowReader } from './row-reader.ts'
import { Sql } from './sql.ts'
import { TransactionRunner } from './transaction-runner.ts'

/** The options of `postgresStore`. */
export interface PostgresStoreOptions extends SharedStoreOptions {
  /** A `Pool` of `pg`. The store does not close the pool. */
  pool: PostgresPool
  /** The name of the table, with its schema if necessary, such as `'limits.headgate'`. Default `'headgate'`. */
  table?: string | undefined
  /**
   * The most connections that the store uses at the same time. Default 4. While all these connections are in use, new calls wait, and then
   * share the next free connection.
   */
  transactions?: number | undefined
  /**
   * False if the store must not prepare statements: each decision is then a transaction of two round trips. Set false for poolers
   * such as RDS Proxy, which reserve a connection for each client that prepares statements. Default true.
   */
  prepare?: boolean | undefined
  /**
   * What the store waits for before it admits a call. With `'full'` (`synchronous_commit = on`), the units of the call are on the disk of
   * Postgres before the caller gets the decision. With `'normal'` (`synchronous_commit = off`), a crash of Postgres may lose the units of
   * the last fraction of a second. Default `'normal'`.
   */
  synchronous?: Durability | undefined
  /** Returns whole microseconds since the epoch. Default: the time of Postgres, which is read for each decision. */
  clock?: Clock | undefined
}

const defaultTable = 'headgate'

const readers = {
  pool: checkPool,
  table: text(defaultTable),
  transactions: whole(4),
  prepare: flag(true),
  synchronous: oneOf<Durability>('normal', 'full'),
  clock: clockOr(undefined),
  ...sharedOptions,
}

/** How long a migration may take, in milliseconds. */
const migrationTimeout = 60_000

/**
 * Makes a store in a table of Postgres. Each decision is one transaction that locks the rows of all its keys; most decisions are a
 * single prepared statement. Create the table first: see `migrate` and `postgresSchema`. A call rejects with HeadgateError
 * `HEADGATE_STORE` if Postgres fails, and with `HEADGATE_STORE_TIMEOUT` after the timeout.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  return new PostgresStore(options)
}

/**
 * Returns the SQL that creates the table, for migrations of your own. `npx headgate-postgres` prints this SQL.
 * @throws HeadgateError `HEADGATE_OPTION` if the name of the table is invalid
 */
export function postgresSchema(table: string = defaultTable): string {
  return new Sql(table, 0).schema()
}

/** A store in Postgres. `postgresStore` returns it. */
export class PostgresStore extends RecordStore {
  readonly #pool: PostgresPool
  readonly #table: string
  readonly #sql: Sql

  constructor(options: PostgresStoreOptions) {
    const { pool, table, clock, prefix, breaker, ...terms } = readOptions('postgresStore', options, readers)
    const { timeout, synchronous } = terms
    const sql = new Sql(table, timeout, synchronous)
    const runnerOf = (by: Sql) => new TransactionRunner({ pool, sql: by, ...terms, usesStoreTime: clock === undefined })
    const runner = runnerOf(sql)
    // An override is rare and has to last, so it waits for the disk, whatever the calls wait for.
    const durable = runnerOf(new Sql(table, timeout, 'full'))
    super({
      kind: 'postgres',
      prefix,
      timeout,
      breaker,
      clock: clock ?? wallClock,
      ...rowReader(pool, sql, timeout, clock),
      queue: new KeyQueue((jobs) => runner.run(jobs), timeout),
      deadlines: new Deadlines('Postgres', timeout),
      clear: (start) => runner.clear(start),
      runDocuments: (jobs) => durable.run(jobs),
    })
    this.#pool = pool
    this.#table = table
    this.#sql = sql
  }

  /**
   * Creates the table if it does not exist. Call `migrate` once, before the first decision. Rejects with HeadgateError
   * `HEADGATE_STORE` if Postgres fails, for example because the user may not create tables. `cause` is the error of
   * Postgres.
   */
  async migrate(): Promise<void> {
    try {
      await withClient(this.#pool, migrationTimeout, (client) => client.query(this.#sql.migrate()))
    } catch (cause) {
      throw migrationError(this.#table, (cause as HeadgateError).cause)
    }
  }
}
