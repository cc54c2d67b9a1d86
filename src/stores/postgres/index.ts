export type { PostgresClient, PostgresPool } from './client.ts'
export { type PostgresStore, type PostgresStoreOptions, postgresSchema, postgresStore } from './postgres-store.ts'
