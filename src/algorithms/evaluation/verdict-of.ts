import { resetAtOf, type Verdict, withResetAt } from '../../policy/index.ts'
import { Report } from '../algorithm.ts'
import type { Details } from './call-terms.ts'
import type { PolicyEvaluation } from './policy-evaluation.ts'

const report = new Report()

/** The verdict of one policy, after the call was counted. Every call runs this function, so the objects are made without spread syntax. */
export function verdictOf(evaluation: PolicyEvaluation, now: number, details: Details | undefined): Verdict {
  const { s, i, at, wait, policy, algorithm } = evaluation
  const out = report
  algorithm.report(s, i, at, out)
  const { remaining, used } = out
  const reset = out.reset + (at - now)
  const resetAfter = Math.ceil((evaluation.carried ? evaluation.resetCarried(reset) : reset) / 1000)
  const { name, limit, shadow } = policy
  const allowed = wait === 0
  const retryAfter = Math.ceil(wait / 1000)
  const hasWindow = algorithm.place !== undefined && resetAfter > 0
  if (details === undefined || details.nextAfter !== true) {
    if (!hasWindow) return { name, allowed, limit, remaining, used, retryAfter, resetAfter, shadow }
    const resetAt = resetAtOf(resetAfter, now)
    return { name, allowed, limit, remaining, used, retryAfter, resetAfter, resetAt, shadow }
  }
  const nextAfter = evaluation.nextAfter(remaining, now)
  const verdict = { name, allowed, limit, remaining, used, retryAfter, resetAfter, shadow, nextAfter }
  return hasWindow ? withResetAt(verdict, now) : verdict
}
