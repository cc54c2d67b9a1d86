/*
 * The store in a file of SQLite: it decides in this process, inside one transaction of the file. This folder imports `records`,
 * `failure` and the contract of stores.
 */

export type { SqliteClient, SqliteDatabase, SqliteStatement, SqliteTransaction } from './driver.ts'
export { type InspectSqliteOptions, inspectSqlite } from './inspect-sqlite.ts'
export { type SqliteStoreOptions, sqliteStore } from './sqlite-store.ts'
