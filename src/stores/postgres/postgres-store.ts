import { type Clock, checkClock, wallClock } from '../../clock.ts'
import { knownOptions, positiveInteger } from '../../options.ts'
import { KeyQueue } from '../records/key-queue.ts'
import { RecordStore } from '../records/ledger.ts'
import { Answers } from '../records/pending.ts'
import { type SharedStoreOptions, sharedOptions } from '../shared-options.ts'
import { checkPool, type PostgresPool, withClient } from './client.ts'
import { migrationError } from './error.ts'
import { Sql } from './sql.ts'
import { Transactor } from './transactor.ts'

export interface PostgresStoreOptions extends SharedStoreOptions {
  /** A `Pool` of `pg`. It stays yours to close. */
  pool: PostgresPool
  /** The table of the states, after its schema and a dot if need be. Default `'headgate'`. */
  table?: string
  /** How many of the pool's connections are used at once. Default 4: what waits meanwhile travels together. */
  transactions?: number
  /** Whole microseconds since the epoch. Default: the time of Postgres, read once a transaction. */
  clock?: Clock
}

const known = [
  'pool',
  'table',
  'transactions',
  'clock',
  'prefix',
  'timeout',
  'ttlMargin',
] as const satisfies (keyof PostgresStoreOptions)[]

const table = 'headgate'

/** How long making the table may take, in milliseconds. */
const migration = 60_000

/**
 * States in a table of Postgres: every decision is one transaction over all its keys, which has their rows for itself.
 * The table has to be there: see `migrate` and `postgresSchema`.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK`
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  return new PostgresStore(options)
}

/** The SQL that makes the table, for a migration of yours: `npx headgate-postgres` prints it. */
export function postgresSchema(name: string = table): string {
  return new Sql(name, 0).schema()
}

export class PostgresStore extends RecordStore {
  readonly #pool: PostgresPool
  readonly #table: string
  readonly #sql: Sql

  constructor(options: PostgresStoreOptions) {
    const store = 'postgresStore'
    knownOptions(store, options, known)
    const pool = checkPool(options.pool)
    const { prefix, timeout, ttlMargin } = sharedOptions(store, options)
    const name = options.table ?? table
    const sql = new Sql(name, timeout)
    const transactor = new Transactor({
      pool,
      sql,
      timeout,
      ttlMargin,
      transactions: positiveInteger(options.transactions ?? 4, `${store}: transactions`, 'HEADGATE_OPTION'),
      trusting: options.clock === undefined,
    })
    super({
      prefix,
      timeout,
      clock: options.clock === undefined ? wallClock : checkClock(options.clock),
      line: new KeyQueue((jobs) => transactor.execute(jobs), timeout),
      answers: new Answers('Postgres', timeout),
    })
    this.#pool = pool
    this.#table = name
    this.#sql = sql
  }

  /**
   * Makes the table, if it is not there: once, before the first call. Rejects with HeadgateError `HEADGATE_STORE`, whose
   * `cause` is what Postgres said, if it may not or cannot.
   */
  async migrate(): Promise<void> {
    try {
      await withClient(this.#pool, migration, (client) => client.query(this.#sql.migrate()))
    } catch (cause) {
      throw migrationError(this.#table, cause)
    }
  }
}
