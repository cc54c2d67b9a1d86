/*
 * One decision over all policies of a limiter: either all policies count the call, or none does. This folder imports the
 * contract of algorithms, `policy` and `common`.
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
