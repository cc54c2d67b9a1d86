import { type CallBan, withBan } from '../../../algorithms/bans/index.ts'
import type { Details, Tickets } from '../../../algorithms/evaluation/index.ts'
import type { Policy } from '../../../algorithms/index.ts'
import { type Decision, join, type Verdict } from '../../../policy/index.ts'

/** The numbers of one policy that the script reports, in whole microseconds. A wait of -1 stands for never. */
export interface PolicyReport {
  readonly wait: number
  readonly remaining: number
  readonly used: number
  readonly reset: number
  /** The time until `remaining` grows; undefined if the request did not ask for it. */
  readonly next: number | undefined
}

/** The script's response to one request. */
export interface ScriptResponse {
  /** The time of the decision, in microseconds since the epoch. */
  readonly now: number
  readonly allowed: boolean
  /** True if the same request is refused again until a unit comes back. */
  readonly repeats: boolean
  /** How long a granted reservation has to wait, in microseconds. */
  readonly delay: number
  /** The numbers of each policy of the plan, in its order. */
  readonly reports: readonly PolicyReport[]
  readonly tickets: Tickets | undefined
  /** Units that were taken in addition to the cost, and how many microseconds all of them stay taken. */
  readonly lease: { readonly units: number; readonly life: number } | undefined
  /** Present if one of the keys is banned. */
  readonly ban: ResponseBan | undefined
}

export interface ResponseBan extends CallBan {
  /** True if the ban refuses the call. */
  readonly refuses: boolean
}

/**
 * Makes the caller's decision from a response.
 * @param elapsed microseconds since the response, if the decision is repeated: its times are shorter by as much
 */
export function decisionOf(
  policies: readonly Policy[],
  response: ScriptResponse,
  details?: Details,
  elapsed = 0,
): Decision {
  const { now, allowed, reports, ban } = response
  const next = details?.nextAfter === true
  const verdicts =
    reports.length === 1
      ? [verdictOf(policies[0] as Policy, reports[0] as PolicyReport, next, elapsed)]
      : reports.map((report, n) => verdictOf(policies[n] as Policy, report, next, elapsed))
  const decision = join(allowed, verdicts, 'store', details?.at ? Math.floor((now + elapsed) / 1000) : undefined)
  if (ban === undefined) return decision
  return withBan(decision, { ...ban, wait: ban.wait - elapsed }, ban.refuses)
}

function verdictOf({ name, limit, shadow }: Policy, report: PolicyReport, next: boolean, elapsed: number): Verdict {
  const { wait, remaining, used } = report
  const allowed = wait === 0
  const retryAfter = wait < 0 ? Infinity : milliseconds(wait, elapsed)
  const resetAfter = milliseconds(report.reset, elapsed)
  if (!next) return { name, allowed, limit, remaining, used, retryAfter, resetAfter, shadow }
  const nextAfter = milliseconds(report.next as number, elapsed)
  return { name, allowed, limit, remaining, used, retryAfter, resetAfter, shadow, nextAfter }
}

function milliseconds(microseconds: number, elapsed: number): number {
  return microseconds <= elapsed ? 0 : Math.ceil((microseconds - elapsed) / 1000)
}
