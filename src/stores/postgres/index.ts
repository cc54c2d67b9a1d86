/*
 * `headgate/postgres`: a store in a Postgres table, with one row for each key. Most decisions take one statement. This folder
 * imports `records` and the contract of stores.
 */

export { type InspectPostgresOptions, inspectPostgres } from './inspect-postgres.ts'
export type { PostgresClient, PostgresPool } from './postgres-client.ts'
export { type PostgresStore, type PostgresStoreOptions, postgresSchema, postgresStore } from './postgres-store.ts'
