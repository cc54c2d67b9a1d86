import { HeadgateError } from '../../common/index.ts'
import type { RateLimiter } from '../../limiter/index.ts'

/**
 * Checks that a penalty can begin a ban. If `count` counts failures, a client that fails is refused only after its quota is spent. A client
 * that then waits is never refused, so a penalty that counts refusals would never begin a ban.
 * @throws HeadgateError `HEADGATE_PENALTY` if `count` counts failures, and the penalty counts refusals, or if a penalty with `restart` stands
 *   beside `delay`
 */
export function checkPenalty(
  { count, delay }: { readonly count?: unknown; readonly delay?: unknown },
  penalty: RateLimiter['penalty'],
): void {
  if (delay !== undefined && penalty?.restart === true) throw restarts()
  if (penalty === undefined || penalty.on === 'spent' || (count !== 'failures' && typeof count !== 'function')) return
  throw new HeadgateError(
    'HEADGATE_PENALTY',
    `With count: ${count === 'failures' ? "'failures'" : 'a function'}, this penalty would begin after refusals, not after failures: a client ` +
      "that waits as long as it is told is never banned. Write penalty: { on: 'spent', ban: '1h' }, which begins when the quota is spent.",
  )
}

/** The error for a penalty whose bans would set the units to 0 that waiting requests have reserved. */
function restarts(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_PENALTY',
    'With delay, a penalty cannot have restart: true, because a ban would give the times of waiting requests away a second time. Leave restart out.',
  )
}
