/* What the author of a store imports: `headgate/store`. A user of a limiter needs `headgate` only. */

export type { Algorithm, Numbers, Policy, Report, Ticket } from './algorithms/algorithm.ts'
export { type Block, type CallBlock, isBlockable, withBlock } from './algorithms/block.ts'
export { type CarryRule, carry, type StateRule } from './algorithms/carry.ts'
export { type Details, Evaluation, PolicyEvaluation, type Tickets, type Verb } from './algorithms/evaluation.ts'
export { type Definition, revive, sameDefinition } from './algorithms/revive.ts'
export type { StateOperations } from './algorithms/state-operations.ts'
export type { Clock } from './clock.ts'
export { type Blocked, type Decision, join, type Source, type Verdict } from './decision.ts'
export type { KeptKey, KeptListing, KeptState, KeyPage } from './inspection/kept-key.ts'
export { isPromise, type MaybePromise } from './maybe-promise.ts'
export { Blocks } from './stores/blocks.ts'
export {
  type CompareAndSetOptions,
  compareAndSetStore,
  type ReadAndSwap,
  type VersionedText,
} from './stores/compare-and-set.ts'
export { type HitStoreOptions, type Hits, type HitTerms, hitStore } from './stores/hit-store.ts'
export type { RecordStore } from './stores/records/record-store.ts'
export type {
  Booking,
  CallOptions,
  DecideOptions,
  DecideVerb,
  Ledger,
  LedgerTerms,
  NumberedReport,
  ReserveOptions,
  Store,
  StoreErrorAction,
} from './stores/store.ts'
