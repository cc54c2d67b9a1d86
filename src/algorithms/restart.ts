import type { PolicyEvaluation } from './policy-evaluation.ts'

/**
 * Lets the other policies of the penalty's key count anew, as for a new key: a block of its own has begun in place of their
 * waits. Reservations from before give nothing back. Units in flight stay counted.
 */
export function restart({ policy: { scope } }: PolicyEvaluation, all: readonly PolicyEvaluation[], now: number): void {
  for (const evaluation of all) {
    const { policy, algorithm } = evaluation
    if (policy.scope === scope && !algorithm.punishes && !algorithm.leases) restartOne(evaluation, now)
  }
}

function restartOne(evaluation: PolicyEvaluation, now: number): void {
  const { s, i, algorithm, cost } = evaluation
  s.fill(0, i, i + algorithm.slots)
  // An array of the key's own also has entries of a log, or reservations.
  if (Array.isArray(s) && s.length > i + algorithm.slots) s.length = i + algorithm.slots
  evaluation.at = now
  evaluation.wait = cost === 0 ? 0 : algorithm.wait(s, i, now, cost)
  evaluation.wrote = true
}
