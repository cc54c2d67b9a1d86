import { type CallBan, withBan } from '../../../algorithms/bans/index.ts'
import type { Alternatives, Details, Tickets } from '../../../algorithms/evaluation/index.ts'
import type { Policy } from '../../../algorithms/index.ts'
import {
  type Decision,
  join,
  joinFirst,
  type RefusedCost,
  type Verdict,
  withReached,
  withResetAt,
} from '../../../policy/index.ts'
import { elsewhere } from '../../contract/index.ts'

/** What the script reports about one policy. Times are in whole microseconds. A wait of -1 means that the cost can never be admitted. */
export interface PolicyReport {
  readonly wait: number
  readonly remaining: number
  readonly used: number
  readonly reset: number
  /** The time until `remaining` grows; undefined if the request did not ask for this time. */
  readonly next: number | undefined
  /** The thresholds (parts of the quota) that this response reports. */
  readonly reached: readonly number[]
}

/** The script's response to one request. */
export interface ScriptResponse {
  /** The time of the decision, in microseconds since the epoch. */
  readonly now: number
  readonly allowed: boolean
  /** The store's time if the request's windows do not contain that time, or `tooMany`. Undefined if the request was decided. */
  readonly elsewhere?: number | undefined
  /** True if the same request would be refused again until some used units become free with time. */
  readonly repeats: boolean
  /** How long the caller of a granted reservation has to wait, in microseconds. */
  readonly delay: number
  /** A report for each policy, in the order of the request's policies. */
  readonly reports: readonly PolicyReport[]
  readonly tickets: Tickets | undefined
  /** For a call that tries several costs: all costs, and the refused costs. */
  readonly list?: { readonly alternatives: Alternatives; readonly tried: readonly RefusedCost[] } | undefined
  /** The units that were taken in addition to the cost, and for how many microseconds all of them stay used in Redis. */
  readonly lease: { readonly units: number; readonly life: number } | undefined
  /** Of the bans of the request's keys, the ban that ends last; undefined if no key is banned. */
  readonly ban: ResponseBan | undefined
}

export interface ResponseBan extends CallBan {
  /** True if the call was refused because of the ban. */
  readonly refuses: boolean
}

/**
 * Makes a decision from a response of the script.
 * @param elapsed microseconds since the response came, if the response was used before. All waits in the decision are shorter
 * by this time
 */
export function decisionOf(
  policies: readonly Policy[],
  response: ScriptResponse,
  details?: Details,
  elapsed = 0,
): Decision {
  const { now, allowed, list, ban } = response
  const banned = allowed ? beganBan(policies, response.reports) : 0
  const reports = banned === 0 ? response.reports : response.reports.map(admitting)
  const next = details?.nextAfter === true
  const verdicts =
    reports.length === 1
      ? [verdictOf(policies[0] as Policy, reports[0] as PolicyReport, next, now, elapsed)]
      : reports.map((report, n) => verdictOf(policies[n] as Policy, report, next, now, elapsed))
  if (response.elsewhere !== undefined) return elsewhere(response.elsewhere, verdicts)
  const at = details?.at ? Math.floor((now + elapsed) / 1000) : undefined
  const decided = list === undefined ? join(allowed, verdicts, 'store', at) : decisionOfList(list, verdicts, at)
  const decision = banned === 0 ? decided : { ...decided, banned: Math.ceil(banned / 1000) }
  if (ban === undefined) return decision
  return withBan(decision, { ...ban, wait: ban.wait - elapsed }, ban.refuses)
}

/** The decision about a list of costs. A ban of the key may refuse the call although a cost of the list would be admitted. */
function decisionOfList(
  { alternatives, tried }: NonNullable<ScriptResponse['list']>,
  verdicts: readonly Verdict[],
  at: number | undefined,
): Decision {
  return joinFirst(tried.length < alternatives.length, verdicts, alternatives, tried, 'store', at)
}

function verdictOf(policy: Policy, report: PolicyReport, next: boolean, now: number, elapsed: number): Verdict {
  const verdict = plainVerdictOf(policy, report, next, elapsed)
  return policy.algorithm.place === undefined
    ? verdict
    : withResetAt(withReached(verdict, report.reached), now + elapsed)
}

function plainVerdictOf(
  { name, limit, shadow }: Policy,
  report: PolicyReport,
  next: boolean,
  elapsed: number,
): Verdict {
  const { wait, remaining, used } = report
  const allowed = wait === 0
  const retryAfter = wait < 0 ? Infinity : milliseconds(wait, elapsed)
  const resetAfter = milliseconds(report.reset, elapsed)
  if (!next) return { name, allowed, limit, remaining, used, retryAfter, resetAfter, shadow }
  const nextAfter = milliseconds(report.next as number, elapsed)
  return { name, allowed, limit, remaining, used, retryAfter, resetAfter, shadow, nextAfter }
}

/**
 * If an admitted call spent a quota and so began a ban: the duration of the ban, in microseconds. Otherwise 0. In the reply, this duration
 * is the wait of the last policy, which is the penalty.
 */
function beganBan(policies: readonly Policy[], reports: readonly PolicyReport[]): number {
  const last = policies.at(-1)
  return last?.algorithm.spends === true && !last.shadow ? (reports.at(-1)?.wait ?? 0) : 0
}

/** Sets the wait to 0 in the report of a penalty that began a ban with an admitted call. `n` is the index of the report in the list. */
function admitting(report: PolicyReport, n: number, all: readonly PolicyReport[]): PolicyReport {
  return n === all.length - 1 ? { ...report, wait: 0 } : report
}

function milliseconds(microseconds: number, elapsed: number): number {
  return microseconds <= elapsed ? 0 : Math.ceil((microseconds - elapsed) / 1000)
}
