import { wrongOption } from '../shared-options.ts'

/** A part of a name, as it may stand without quotes: nothing in it can end one. */
const part = '[A-Za-z_][A-Za-z0-9_]{0,49}'
const name = new RegExp(`^(?:(${part})\\.)?(${part})$`)

/** Expired rows deleted at once, at most. */
const sweptAtOnce = 200

interface Saved {
  readonly key: string
  readonly text: string
  /** In milliseconds. */
  readonly ttl: number
}

type Quote = (text: string) => string

/**
 * The statements on one table. They are sent by the simple protocol, several in one round trip; whatever comes from
 * outside is quoted by the client.
 */
export class Sql {
  readonly #table: string
  readonly #index: string
  readonly #timeout: number

  /**
   * @param table its name, after a schema and a dot if need be
   * @param timeout of each statement, in milliseconds
   * @throws HeadgateError `HEADGATE_OPTION`
   */
  constructor(table: string, timeout: number) {
    const [, schema, own] = (typeof table === 'string' && name.exec(table)) || []
    if (own === undefined) {
      const fix = "Give letters, digits and _ such as 'headgate' or 'limits.headgate', up to 50 of each."
      throw wrongOption('postgresStore', 'table', table, fix)
    }
    this.#table = schema === undefined ? `"${own}"` : `"${schema}"."${own}"`
    this.#index = `"${own}_expires"`
    this.#timeout = timeout
  }

  /**
   * `expires` is in whole minutes, so that a row which is written often seldom changes it: then only the row is
   * written, and not the index (a heap-only tuple), for which each page is left half empty.
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

  /** The schema made once, however many processes ask for it at the same time. */
  migrate(): string {
    return `begin; select pg_advisory_xact_lock(hashtext('headgate schema')); ${this.schema()} commit`
  }

  /** The last two results: the rows of these keys, and the time. */
  read(keys: readonly string[], quote: Quote): string {
    return (
      `begin isolation level read committed read only; set local statement_timeout = ${this.#timeout}; ` +
      `${this.#select(keys, quote)}; ${now}; commit`
    )
  }

  /**
   * Begins a transaction that has these rows for itself. The last two results: the rows, and the time from which on it
   * has them. Keys have to be in order, so that no two transactions wait for each other. Rows are made, if need be, in a
   * transaction before: nobody can leave out one that is not committed yet, all would wait for it.
   * @param waits for rows that others have; else they are left out
   */
  lock(keys: readonly string[], waits: boolean, quote: Quote): string {
    const missing = keys.map((key) => `(${quote(key)}, now() + interval '1 minute')`).join(', ')
    return (
      `${this.#begin()}; insert into ${this.#table} (key, expires) values ${missing} on conflict do nothing; commit; ` +
      // A process that stops in the middle must not keep others out.
      `${this.#begin()}; set local idle_in_transaction_session_timeout = ${Math.max(1000, this.#timeout)}; ` +
      `${this.#select(keys, quote)} order by key for update${waits ? '' : ' skip locked'}; ${now}`
    )
  }

  /** Nothing here is worth waiting for the disk. */
  #begin(): string {
    return (
      `begin isolation level read committed; set local statement_timeout = ${this.#timeout}; ` +
      'set local synchronous_commit = off'
    )
  }

  /** Ends the transaction. */
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

  /** Deletes some of the rows that have expired and that nobody has for himself. */
  sweep(): string {
    return (
      `delete from ${this.#table} where key = any (array(select key from ${this.#table} ` +
      `where expires < now() limit ${sweptAtOnce} for update skip locked))`
    )
  }

  #select(keys: readonly string[], quote: Quote): string {
    return `select key, record from ${this.#table} where key in (${keys.map(quote).join(', ')})`
  }
}

/** In microseconds since the epoch. In a statement of its own: it is read once the rows are there. */
const now = 'select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now'
