/*
 * What happens when a store fails: the breaker, the user's choice (`onStoreError`), the quota by which this process decides
 * while the store fails, and the charges to the store when it replies again. This folder imports the memory store and what the
 * memory store imports.
 */

export { breakersOf, type StoreStateEvent } from './breaker.ts'
export { withFailover } from './failover-ledger.ts'
export type { StoreCallEvent } from './store-link.ts'
