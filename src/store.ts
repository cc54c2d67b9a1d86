/* What the author of a store imports: `headgate/store`. A user of a limiter needs `headgate` only. */

export type { Algorithm, Numbers, Policy, Report, Ticket } from './algorithms/algorithm.ts'
export type { Block } from './algorithms/bans/ban.ts'
export type { CarryRule, StateRule } from './algorithms/carry.ts'
export type { Costs, Details, Tickets } from './algorithms/evaluation/evaluation.ts'
export { type Definition, revive, sameDefinition } from './algorithms/kinds.ts'
export type { Clock } from './common/clock.ts'
export type { Blocked, Decision, Source, Verdict } from './policy/decision.ts'
export { withFailover } from './failure/failover-ledger.ts'
export type { KeptKey, KeptListing, KeptState, KeyPage } from './inspection/kept-key.ts'
export type { MaybePromise } from './common/maybe-promise.ts'
export type {
  BanTerms,
  Booking,
  Command,
  KeysOf,
  NumberedReport,
  Outcome,
  OutcomeOf,
  ScanTerms,
  Verb,
} from './stores/contract/command.ts'
export {
  type CompareAndSetOptions,
  compareAndSetStore,
  type ReadAndSwap,
  type VersionedText,
} from './stores/compare-and-set.ts'
export { type HitStoreOptions, type Hits, type HitTerms, hitStore } from './stores/hit-store.ts'
export type { FailureTerms, OnStoreError, StoreErrorAction } from './stores/contract/on-store-error.ts'
export { KeyStates, runOn, type StateVerb } from './stores/contract/key-states.ts'
export type { RecordStore } from './stores/records/record-store.ts'
export { ScopedEvaluation } from './stores/contract/scoped-evaluation.ts'
export type { BreakerTerms, Ledger, LedgerTerms, OpenLedger, Store, StoreTraits } from './stores/contract/store.ts'
