import type { Policy } from '../algorithms/algorithm.ts'
import type { Details } from '../algorithms/evaluation.ts'
import { type Clock, monotonicClock } from '../clock.ts'
import { type Decision, join } from '../decision.ts'

/** The answer to a call that is let through uncounted: allowed, and the numbers of a key that never called. */
export function letThrough(policies: readonly Policy[], details?: Details, clock: Clock = monotonicClock): Decision {
  const verdicts = policies.map(({ name, limit, burst, shadow }) => ({
    name,
    allowed: true,
    limit,
    remaining: burst,
    retryAfter: 0,
    resetAfter: 0,
    shadow,
    ...(details?.nextAfter ? { nextAfter: 0 } : {}),
  }))
  return join(true, verdicts, 'open', details?.at ? Math.floor(clock() / 1000) : undefined)
}
