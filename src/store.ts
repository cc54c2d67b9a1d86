/*
 * `headgate/store`: the functions and types for the author of a store. Shared types, such as `Store` and `Decision`, are in
 * `headgate`. A user of a limiter only needs `headgate`.
 */

export { type Algorithm, type Definition, revive, sameDefinition } from './algorithms/index.ts'
export { withFailover } from './failure/index.ts'
export type { KeptKey, KeyPage } from './inspection/index.ts'
export { type CompareAndSetOptions, compareAndSetStore } from './stores/compare-and-set.ts'
export {
  type Booking,
  type Command,
  type Documents,
  KeyStates,
  type Ledger,
  type LedgerTerms,
  type OnLate,
  type OpenLedger,
  type OutcomeOf,
  type OverrideExtent,
  runOnStates,
  ScopedEvaluation,
  type StoreTraits,
  type Verb,
  type VersionedDocument,
} from './stores/contract/index.ts'
export type { Hits } from './stores/hit-answers.ts'
export { type HitStoreOptions, type HitTerms, hitStore } from './stores/hit-store.ts'
export type { RecordStore, VersionedText } from './stores/records/index.ts'
