/*
 * What users test with: a clock by hand, a store that fails on demand, and the contract of a store.
 * `headgate/testing`. It imports `limiter` and what that imports.
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
