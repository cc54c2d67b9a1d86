export type { StoredKey, StoredKeyFilter, StoreInspector } from '../store-inspector.ts'
export type { PostgresClient, PostgresPool } from './postgres-client.ts'
export { type InspectPostgresOptions, inspectPostgres } from './inspect-postgres.ts'
export { type PostgresStore, type PostgresStoreOptions, postgresSchema, postgresStore } from './postgres-store.ts'
