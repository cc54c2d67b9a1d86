/*
 * The methods that the store needs from a driver of SQLite. The store imports no driver.
 *
 * The methods of a `SqliteDatabase` return results directly: node:sqlite, better-sqlite3, libsql and bun:sqlite. The methods of a
 * `SqliteClient` return promises: @libsql/client, for a file or for a server such as Turso.
 */

/** Without null, which the types of better-sqlite3 do not accept. */
type SqliteValue = string | number

/** A prepared statement of a driver without promises. */
export interface SqliteStatement {
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
  /** Returns an object with the number of rows that the statement has changed. */
  run(...values: SqliteValue[]): unknown
  /** Only statements of libsql have this method. */
  readonly interrupt?: unknown
}

/** An open database of a driver without promises: node:sqlite, better-sqlite3, libsql or bun:sqlite. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
  /** True while a transaction is open. If the driver has neither `inTransaction` nor `isTransaction`, each decision is a transaction. */
  readonly inTransaction?: boolean
  /** The same flag as `inTransaction`, under the name that node:sqlite gives it. */
  readonly isTransaction?: boolean
  /** False once the database is closed. If the driver lacks this member, the driver itself has to refuse calls to a closed database. */
  readonly open?: unknown
}

/** An SQL statement and the values of its parameters. */
export interface Bound {
  sql: string
  args: SqliteValue[]
}

/** The rows of one statement. */
export interface Rows {
  readonly rows: readonly unknown[]
}

/** A transaction of `SqliteClient`. */
export interface SqliteTransaction {
  execute(statement: Bound): Promise<Rows>
  batch(statements: Bound[]): Promise<unknown>
  commit(): Promise<void>
  rollback(): Promise<void>
  close(): void
}

/** A client whose methods return promises: @libsql/client. */
export interface SqliteClient {
  /** `'file'` if the database is a file of this machine. Without it, the store does not notice a deleted or replaced file. */
  readonly protocol?: string
  execute(statement: Bound): Promise<Rows>
  transaction(mode: 'write'): Promise<SqliteTransaction>
  /** Opens a new connection in place of the current one. Optional: a client may lack this method. */
  reconnect?(): unknown
}

const has = (driver: unknown, methods: readonly string[]): boolean =>
  methods.every((method) => typeof Reflect.get(Object(driver), method) === 'function')

export function isDatabase(driver: unknown): driver is SqliteDatabase {
  return has(driver, ['prepare', 'exec'])
}

export function isClient(driver: unknown): driver is SqliteClient {
  return has(driver, ['execute', 'transaction'])
}
