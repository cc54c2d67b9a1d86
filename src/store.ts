/* What the author of a store imports: `headgate/store`. A user of a limiter needs `headgate` only. */

export type { StoredBan } from './algorithms/bans/index.ts'
export type { Costs, Details, Tickets } from './algorithms/evaluation/index.ts'
export {
  type Algorithm,
  type CarryRule,
  type Definition,
  type Numbers,
  type Policy,
  type Report,
  revive,
  type StateRule,
  sameDefinition,
  type Ticket,
} from './algorithms/index.ts'

export type { Clock, MaybePromise } from './common/index.ts'
export { withFailover } from './failure/index.ts'
export type { KeptKey, KeptListing, KeptState, KeyPage } from './inspection/index.ts'
export type { Ban, Decision, Source, Verdict } from './policy/index.ts'
export {
  type CompareAndSetOptions,
  compareAndSetStore,
  type ReadAndSwap,
  type VersionedText,
} from './stores/compare-and-set.ts'
export {
  type BanTerms,
  type Booking,
  type BreakerTerms,
  type Command,
  type FailureTerms,
  KeyStates,
  type KeysOf,
  type Ledger,
  type LedgerTerms,
  type NumberedReport,
  type OnStoreError,
  type OpenLedger,
  type Outcome,
  type OutcomeOf,
  runOn,
  type ScanTerms,
  ScopedEvaluation,
  type StateVerb,
  type Store,
  type StoreErrorAction,
  type StoreTraits,
  type Verb,
} from './stores/contract/index.ts'
export { type HitStoreOptions, type Hits, type HitTerms, hitStore } from './stores/hit-store.ts'

export type { RecordStore } from './stores/records/index.ts'
