/*
 * One decision over all policies of a limiter: either every policy counts the call, or no policy counts the call. This folder
 * imports the contract of algorithms, `policy` and `common`.
 */

export type { Alternatives, DecidingVerb } from './call-terms.ts'
export {
  type Costs,
  type Details,
  Evaluation,
  effectiveTime,
  type ForeignState,
  newReservationId,
  PolicyEvaluation,
  type Tickets,
  unitsBack,
} from './evaluation.ts'
export { isFull } from './granted.ts'
