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
