export { ManualClock } from './manual-clock.ts'
export { type StoreContract, testStore } from './store-contract.ts'
