/* Penalties with `on: 'spent'`: whether a call has spent a quota, and what the start of a ban changes. */
import { Report } from '../algorithm.ts'
import type { Tickets } from './call-terms.ts'
import { type PolicyEvaluation, restartOne } from './policy-evaluation.ts'

const report = new Report()

/**
 * Begins the ban of a key if the call has counted units under a policy with the penalty's scope, and units that no reservation can give
 * back now use up this policy. Called after the call has changed the states.
 * @param settles the tickets of the reservation that the call settles; undefined if the call has taken units
 * @returns how long the ban lasts, in microseconds; 0 if no ban begins
 */
export function banIfSpent(
  penalty: PolicyEvaluation,
  all: readonly PolicyEvaluation[],
  settles: Tickets | undefined,
): number {
  const { algorithm, s, i, at } = penalty
  algorithm.report(s, i, at, report)
  const open = report.used
  const isSpent = all.some((evaluation, n) => {
    const { policy, wait, cost } = evaluation
    const units = settles === undefined ? cost : cost + (settles[n]?.[2] ?? -cost)
    if (units <= 0 || wait > 0 || policy.burst === 0 || !isWatched(evaluation, penalty)) return false
    evaluation.algorithm.report(evaluation.s, evaluation.i, evaluation.at, report)
    return report.used - open >= policy.burst
  })
  const duration = isSpent ? (algorithm.spend?.(s, i, at) ?? 0) : 0
  if (duration > 0) penalty.wrote = true
  return duration
}

/** Units in flight come back, and a policy of Guava admits any cost once earlier costs are paid: neither has a quota to spend. */
function isWatched({ policy, algorithm }: PolicyEvaluation, penalty: PolicyEvaluation): boolean {
  if (policy.scope !== penalty.policy.scope || algorithm.punishes) return false
  return !(policy.shadow && !penalty.policy.shadow) && !algorithm.leases && !algorithm.paysLater
}

/**
 * Resets the other policies of the key that would have their full quota at the end of the ban, so that the key has it too if the ban is
 * lifted. With the rule `restart`, resets all of them.
 */
export function restartSpent(penalty: PolicyEvaluation, all: readonly PolicyEvaluation[], now: number): void {
  for (const evaluation of all) {
    const { algorithm, s, i, at } = evaluation
    if (!isWatched(evaluation, penalty)) continue
    algorithm.report(s, i, at, report)
    if (penalty.algorithm.restarts || report.reset + (at - now) <= penalty.wait) restartOne(evaluation, now)
  }
}
