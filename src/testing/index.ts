export type { Fault, FaultKind, ScheduledFault } from './fault.ts'
export { type FaultyStore, type FaultyStoreOptions, faultyStore } from './faulty-store.ts'
export { ManualClock } from './manual-clock.ts'
export { type StoreContract, testStore } from './store-contract.ts'
