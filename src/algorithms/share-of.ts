import { HeadgateError } from '../common/index.ts'
import type { Policy } from './algorithm.ts'
import { withLimit } from './define-policy.ts'

/**
 * The part of a policy that one process gets: an equal part of limit and burst, at least 1 unit unless the limit is 0.
 * @throws HeadgateError `HEADGATE_POLICY` if no function of headgate, such as `tokenBucket`, made the policy
 * @throws HeadgateError `HEADGATE_INEXACT` if integers below 2^53 cannot count any part exactly
 */
export function shareOf(policy: Policy, instances: number): Policy {
  if (instances === 1 || policy.limit === 0) return policy
  const whole = Number.isInteger(policy.limit)
  const limit = whole ? Math.max(1, Math.floor(policy.limit / instances)) : policy.limit / instances
  const burst = Math.max(1, Math.floor(policy.burst / instances))
  // Integers below 2^53 may be too small to count a part such as 33333 exactly, if the part has no common divisor with the window. Such a
  // part is rounded down: to a multiple of 10, or else of 100, and so on.
  for (let round = 10; ; round *= 10) {
    try {
      return withLimit(policy, Math.max(1, limit - (round > 10 ? limit % (round / 10) : 0)), burst)
    } catch (error) {
      if (!(error instanceof HeadgateError) || error.code !== 'HEADGATE_INEXACT' || round > limit * 10) throw error
    }
  }
}
