/* What the author of a store imports, as `headgate/store`. */
export type { Algorithm, Policy } from './algorithms/algorithm.ts'
export { type CarryRule, carry } from './algorithms/carry.ts'
export { Evaluation, PolicyEvaluation, type Tickets, type Verb } from './algorithms/evaluation.ts'
export { type Definition, revive, sameDefinition } from './algorithms/revive.ts'
export { type CompareAndSetOptions, compareAndSetStore, type Found } from './stores/compare-and-set.ts'
export type {
  Booking,
  CallExtras,
  Choice,
  DecideExtras,
  DecideVerb,
  Ledger,
  LedgerTerms,
  Store,
} from './stores/store.ts'
