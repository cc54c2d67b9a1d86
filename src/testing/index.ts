/*
 * `headgate/testing`, for tests that users write: a clock that tests set, a store that fails on demand, and the
 * contract that every store has to pass. This folder imports `limiter`, and what `limiter` imports.
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
