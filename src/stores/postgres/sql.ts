import type { Kind } from '../../algorithms/index.ts'
import { invalidOption } from '../../common/index.ts'
import type { Durability } from '../records/index.ts'
import { type PlainStatement, plainStatement } from './plain-statement.ts'

/** A pattern for the parts of a table's name. The pattern allows no quotes, so a name cannot end the quotes around it. */
const part = '[A-Za-z_][A-Za-z0-9_]{0,49}'
const name = new RegExp(`^(?:(${part})\\.)?(${part})$`)

/** The most expired rows that one statement deletes. */
const sweptAtOnce = 200

/** The most rows that one statement of `clear` deletes. */
const clearedAtOnce = 500

/** How many rows one page of a list has. */
export const pageSize = 200

/** A row to be saved. */
export interface Saved {
  readonly key: string
  readonly text: string
  /** For how many milliseconds from now the row stays in the table. */
  readonly ttl: number
}

type Quote = (text: string) => string

/**
 * The SQL for one table. Several statements are sent in one round trip, by the simple protocol. The client quotes every value in
 * these statements.
 */
export class Sql {
  readonly #table: string
  readonly #index: string
  readonly #timeout: number
  readonly #commit: 'on' | 'off'

  /**
   * @param table the name of the table, or its schema, a dot and its name
   * @param timeout the longest time of each statement, in milliseconds
   * @param synchronous `'full'` if commits wait for the disk
   * @throws HeadgateError `HEADGATE_OPTION` if the name of the table is invalid
   */
  constructor(table: string, timeout: number, synchronous: Durability = 'normal') {
    const [, schema, own] = (typeof table === 'string' && name.exec(table)) || []
    if (own === undefined) {
      const fix = "Give letters, digits and _ such as 'headgate' or 'limits.headgate', up to 50 of each."
      throw invalidOption('postgresStore: table', 'the name of a table', table, fix)
    }
    this.#table = schema === undefined ? `"${own}"` : `"${schema}"."${own}"`
    this.#index = `"${own}_expires"`
    this.#timeout = timeout
    this.#commit = synchronous === 'full' ? 'on' : 'off'
  }

  /**
   * Returns the SQL that creates the table. The column `expires` is rounded to whole minutes, so that its value rarely changes in a row
   * that is written often. If the value does not change, Postgres writes only the row and not the index (a heap-only tuple). Pages are left
   * half empty, so that the new version of a row fits into the same page.
   */
  schema(): string {
    return [
      `create table if not exists ${this.#table} (`,
      '  key text collate "C" primary key,',
      '  record text,',
      '  expires timestamptz not null',
      ') with (fillfactor = 50);',
      `create index if not exists ${this.#index} on ${this.#table} (expires);`,
      '',
    ].join('\n')
  }

  /** The SQL that creates the table. If many processes run this SQL at the same time, only one of them creates the table. */
  migrate(): string {
    return `begin; select pg_advisory_xact_lock(hashtext('headgate schema')); ${this.schema()} commit`
  }

  /**
   * The SQL that reads the rows of these keys, by several statements. The results of the last three statements are the rows, the time, and
   * the result of the commit.
   */
  read(keys: readonly string[], quote: Quote): string {
    return (
      `begin isolation level read committed read only; set local statement_timeout = ${this.#timeout}; ` +
      `${this.#select(keys, quote)}; ${now}; commit`
    )
  }

  /**
   * The SQL that reads a page of rows whose keys are after `after` and before `end`. If `ending` is not empty, the keys also end with this
   * text. Expired rows are left out. The results of the last three statements are the rows, the time, and the result of the commit.
   */
  page(after: string, end: string, ending: string, quote: Quote): string {
    return (
      `begin isolation level read committed read only; set local statement_timeout = ${this.#timeout}; ` +
      `select key, record from ${this.#table} where key > ${quote(after)} and key < ${quote(end)} ` +
      `${ending === '' ? '' : `and right(key, ${ending.length}) = ${quote(ending)} `}and record is not null and expires > now() order by key limit ${pageSize}; ${now}; commit`
    )
  }

  /**
   * The SQL that begins a transaction and locks the rows of these keys. The results of the last two statements are the rows, and the time
   * after the rows were locked. The keys have to be sorted, so that no two transactions wait for each other. An earlier transaction creates
   * the missing rows. Otherwise other transactions would wait for a row that is not committed yet, because such a row cannot be skipped.
   * @param waits true to wait for rows that other transactions have locked, false to skip these rows
   */
  lock(keys: readonly string[], waits: boolean, quote: Quote): string {
    const missing = keys.map((key) => `(${quote(key)}, now() + interval '1 minute')`).join(', ')
    return (
      `${this.#begin()}; insert into ${this.#table} (key, expires) values ${missing} on conflict do nothing; commit; ` +
      // If this process stops during the transaction, Postgres ends the transaction, so that its locks are freed.
      `${this.#begin()}; set local idle_in_transaction_session_timeout = ${Math.max(1000, this.#timeout)}; ` +
      `${this.#select(keys, quote)} order by key for update${waits ? '' : ' skip locked'}; ${now}`
    )
  }

  /** The SQL that begins a transaction. If its commit does not wait for the disk, and Postgres crashes, the last states may be lost. */
  #begin(): string {
    return (
      `begin isolation level read committed; set local statement_timeout = ${this.#timeout}; ` +
      `set local synchronous_commit = ${this.#commit}`
    )
  }

  /**
   * The SQL that begins a transaction with a prepared statement. Postgres plans the statement once, for all arguments, and perhaps while
   * the table is still empty. So the settings of this transaction make the plan use the index of the keys.
   */
  beginPrepared(): string {
    return `${this.#begin()}; set local plan_cache_mode = force_generic_plan; set local enable_seqscan = off`
  }

  /** The statement that decides calls under a policy of this kind: see plain-statement.ts. */
  plain(kind: Kind, ttlMargin: number): PlainStatement {
    return plainStatement(kind, this.#table, microseconds, ttlMargin)
  }

  /** The SQL that saves the rows and ends the transaction. */
  save(rows: readonly Saved[], quote: Quote): string {
    const values = rows.map(({ key, text, ttl }) => {
      return `(${quote(key)}, ${quote(text)}, interval '${ttl} milliseconds')`
    })
    return (
      `update ${this.#table} as kept set record = saved.record, ` +
      `expires = date_trunc('minute', clock_timestamp() + saved.life) + interval '1 minute' ` +
      `from (values ${values.join(', ')}) as saved (key, record, life) where kept.key = saved.key; commit`
    )
  }

  /** The SQL that deletes some of the expired rows that no other transaction has locked. */
  sweep(): string {
    return (
      `delete from ${this.#table} where key = any (array(select key from ${this.#table} ` +
      `where expires < now() limit ${sweptAtOnce} for update skip locked))`
    )
  }

  /**
   * The SQL that deletes the first rows between two keys, in the order of the keys. The result has the last deleted key, or null if no row
   * was deleted. Rows are locked in the order of their keys, so that no two transactions wait for each other.
   */
  clear(after: string, before: string, quote: Quote): string {
    const within = `key > ${quote(after)} and key < ${quote(before)}`
    return (
      `with page as (select key from ${this.#table} where ${within} order by key limit ${clearedAtOnce} for update), ` +
      `gone as (delete from ${this.#table} where key = any (array(select key from page)) returning key) ` +
      'select max(key) as last from page'
    )
  }

  remove(key: string, quote: Quote): string {
    return `delete from ${this.#table} where key = ${quote(key)}`
  }

  #select(keys: readonly string[], quote: Quote): string {
    return `select key, record from ${this.#table} where key in (${keys.map(quote).join(', ')})`
  }
}

const microseconds = '(extract(epoch from clock_timestamp()) * 1000000)::bigint'

/** The SQL that reads the time in microseconds since the epoch: a separate statement that runs after the rows are locked. */
const now = `select ${microseconds} as now`
