import type { Policy } from '../algorithms/index.ts'
import type { Verdict } from '../policy/index.ts'

/**
 * The used units under one policy that the store has to be charged for, from the verdict of the policy. A penalty has no such units. Units
 * in flight are not charged, because this process frees such units itself. Guava's limiters report used units only as a wait of the next
 * call, so the units are computed from this wait.
 */
export function usedUnits({ algorithm, limit, window }: Policy, { used, retryAfter }: Verdict): number {
  if (algorithm.punishes || algorithm.leases) return 0
  if (algorithm.paysLater) return Math.max(0, Math.ceil(((retryAfter - 1) * limit) / window)) // a wait is rounded up by less than 1 ms
  return used
}

/** Removes the thresholds, and the resets that a penalty for a spent quota makes. The store does both when it is charged. */
export function untold(policy: Policy): Policy {
  const { thresholds, ...rest } = policy
  const { unreset } = policy.algorithm
  return thresholds === undefined && !unreset ? policy : { ...rest, algorithm: unreset ?? policy.algorithm }
}
