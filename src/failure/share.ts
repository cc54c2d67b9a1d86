import type { Policy } from '../algorithms/algorithm.ts'
import { withLimit } from '../algorithms/define-policy.ts'
import { HeadgateError } from '../errors.ts'

/**
 * One instance's share of a policy: the same promise with a part of its limit and burst, at least 1 unit.
 * @throws HeadgateError `HEADGATE_POLICY` for a policy that no constructor made, or `HEADGATE_INEXACT`
 */
export function shareOf(policy: Policy, instances: number): Policy {
  if (instances === 1) return policy
  const whole = Number.isInteger(policy.limit)
  const limit = whole ? Math.max(1, Math.floor(policy.limit / instances)) : policy.limit / instances
  const burst = Math.max(1, Math.floor(policy.burst / instances))
  // A share may have no divisor in common with the window and leave exact arithmetic: a rounder one does not.
  for (let round = 10; ; round *= 10) {
    try {
      return withLimit(policy, Math.max(1, limit - (round > 10 ? limit % (round / 10) : 0)), burst)
    } catch (error) {
      if (!(error instanceof HeadgateError) || error.code !== 'HEADGATE_INEXACT' || round > limit * 10) throw error
    }
  }
}
