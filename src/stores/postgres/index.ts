/*
 * A store on Postgres: one row for each key, and one statement for a usual decision. `headgate/postgres`. It imports
 * `records` and the contract of stores.
 */

export { type InspectPostgresOptions, inspectPostgres } from './inspect-postgres.ts'
export type { PostgresClient, PostgresPool } from './postgres-client.ts'
export { type PostgresStore, type PostgresStoreOptions, postgresSchema, postgresStore } from './postgres-store.ts'
