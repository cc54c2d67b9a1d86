/*
 * What happens when a store fails: the breaker, the choice of the user, the quota of this process meanwhile, and the
 * charges to the store after that. It imports the memory store and what the memory store imports.
 */

export { breakersOf, type StoreStateEvent } from './breaker.ts'
export { withFailover } from './failover-ledger.ts'
export type { StoreCallEvent } from './store-link.ts'
