import type { Policy } from '../algorithms/index.ts'
import { isCounter } from '../algorithms/windows/index.ts'
import { wallClock } from '../common/index.ts'
import type { CallerCalendars, Decision, Source, Verdict } from '../policy/index.ts'
import { windowsOf } from '../stores/contract/index.ts'

/** The options of `usage`. */
export interface UsageOptions {
  /** The calendar of this customer, as in `consume`. */
  calendar?: CallerCalendars | undefined
}

/** The units that a key has used under one policy. */
export interface PolicyUsage {
  readonly name: string
  readonly scope: string
  /** The units per window. Infinity under a `counter`, which refuses no call. */
  readonly limit: number
  /** The units that are used now, as in a decision. More than `limit` if `charge` took units beyond the limit. */
  readonly used: number
  /** The largest cost that the policy would admit now. Infinity under a `counter`. */
  readonly remaining: number
  /**
   * The start of the running window, in milliseconds since the epoch. Only under `calendarWindow`, and under `fixedWindow` with
   * windows on the clock. Absent if the customer's calendar changed while the window ran: only the end of the window is then known.
   */
  readonly start?: number
  /** The end of the running window, in milliseconds since the epoch. Only for the same policies as `start`. */
  readonly end?: number
}

/** The units that a key has used under each policy of a limiter. */
export interface Usage {
  /** The used units under each policy, in the order of the limiter's policies, without penalties. */
  readonly policies: readonly PolicyUsage[]
  /** The time of the numbers, in milliseconds since the epoch by the store's clock. */
  readonly at: number
  /** Where the numbers come from. `'store'`, unless the store failed. */
  readonly source: Source
}

/**
 * Makes the usage of a key from the decision of a peek.
 * @param policies the policies of the decision's verdicts
 * @param calendar the calendar of the customer, as the caller gave it
 */
export function usageOf(
  policies: readonly Policy[],
  { policies: verdicts, at = Math.floor(wallClock() / 1000), source }: Decision,
  calendar: CallerCalendars | undefined,
): Usage {
  const used = policies.flatMap((policy, n): PolicyUsage[] => {
    if (policy.algorithm.punishes) return []
    const verdict = verdicts[n] as Verdict
    const { name, scope } = policy
    const [limit, remaining] = isCounter(policy) ? [Infinity, Infinity] : [verdict.limit, verdict.remaining]
    return [{ name, scope, limit, used: verdict.used, remaining, ...windowOf(policy, verdict, at, calendar) }]
  })
  return { policies: used, at, source }
}

/** The window that runs at the time `at`, by the store's clock. */
function windowOf(
  policy: Policy,
  { resetAfter }: Verdict,
  at: number,
  calendar: CallerCalendars | undefined,
): Pick<PolicyUsage, 'start' | 'end'> {
  const { algorithm, window } = policy
  const starts = windowsOf(policy, at * 1000, calendar)?.map((time) => time / 1000)
  if (starts === undefined) {
    if (!('aligned' in algorithm && algorithm.aligned)) return {}
    const start = Math.floor(at / window) * window
    return { start, end: start + window }
  }
  const [, present, next] = starts
  // The window of used units keeps its end when the customer's calendar changes.
  const end = resetAfter > 0 ? at + resetAfter : (next as number)
  const start = end === next ? present : starts[starts.indexOf(end) - 1]
  return start === undefined ? { end } : { start, end }
}
