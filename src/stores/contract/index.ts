/*
 * The contract of stores: `open(terms)` returns a ledger (a limiter's states), and a ledger runs commands. `KeyStates` runs any command on
 * the states of one key. This folder also has the code that all stores share: health, deadlines, exchanges, and the encoding of names and
 * keys. This folder imports `inspection`, `algorithms`, `policy` and `common`.
 */

export { checkNoCalendars, type KeyCalendar, runPart, windowsOf } from './calendar-ledger.ts'
export {
  type AskedCosts,
  allParts,
  type BanTerms,
  type Booking,
  bookingOf,
  type Command,
  costsTaken,
  type Elsewhere,
  elsewhere,
  type NumberedReport,
  type Outcome,
  type OutcomeOf,
  type ScanTerms,
  tooMany,
  type Verb,
} from './command.ts'
export { Deadlines } from './deadlines.ts'
export { type Documents, memoryDocuments, type VersionedDocument, versionOf } from './documents.ts'
export {
  decodeId,
  decodeName,
  digest,
  encodeId,
  encodeName,
  limiterStart,
  longestEncoding,
  soughtId,
} from './encode.ts'
export { type ExchangeEvent, exchanged, exchangeStart } from './exchange-event.ts'
export { type BreakerState, type CandidateHealth, type CheckedLedger, type Health, noCalls } from './health.ts'
export { type KeyState, KeyStates } from './key-states.ts'
export {
  choiceFor,
  choose,
  type FailureTerms,
  failureOptions,
  type OnFailure,
  type OnStoreError,
  type StoreErrorAction,
  type StoreFailure,
  storeErrors,
} from './on-store-error.ts'
export { openLedger, withCalendars } from './open-ledger.ts'
export { DeadlineItem, PendingCall } from './pending-call.ts'
export { type EvaluationScope, runOnStates, ScopedEvaluation, type StateVerb } from './run-on-states.ts'
export { type BreakerOptions, type SharedStoreOptions, type SharedTerms, sharedOptions } from './server-options.ts'
export {
  type BreakerTerms,
  isFallible,
  isLocal,
  type Ledger,
  type LedgerTerms,
  type OnLate,
  type OpenLedger,
  type OverrideExtent,
  type Store,
  type StoreTraits,
  type ThresholdEvent,
} from './store.ts'
export { tellThresholds, withoutThresholds, withThresholds } from './threshold-ledger.ts'
