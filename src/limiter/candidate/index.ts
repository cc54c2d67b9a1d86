/*
 * A candidate: policies that are tried beside the current policies of a limiter. The candidate is a limiter of its own on the same store,
 * named `name~candidate`. It decides each call that the current policies decide, by its own states, and its decisions change nothing. The
 * caller does not wait for the candidate, and never sees its errors.
 *
 *     consume -> current policies -> decision ------> the caller
 *            \                           |
 *             -> candidate ---------> compare ------> health, metrics, `headgate:limiter:candidate`
 *
 * This folder imports the contract of stores, `algorithms`, `policy`, `common`, the arguments of calls, and reservations.
 */

export { bookBoth } from './book-both.ts'
export { candidateExtras, checkCandidate } from './candidate-calls.ts'
export { runAlike, standIn } from './candidate-states.ts'
export { type CandidateEvent, Comparison } from './comparison.ts'
