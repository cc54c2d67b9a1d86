/*
 * `headgate/testing`, for the tests of users: a clock that tests set, a store that fails on demand, and the contract of
 * a store. This folder imports `limiter`, and what `limiter` imports.
 */

export {
  type Fault,
  type FaultKind,
  type FaultyStore,
  type FaultyStoreOptions,
  faultyStore,
  type ScheduledFault,
} from './faulty-store.ts'
export { ManualClock } from './manual-clock.ts'
export { type StoreContract, testStore } from './store-contract.ts'
