/* The dialects of the rate limit fields in responses, and functions that several dialects use. */
import type { Policy } from '../../algorithms/index.ts'
import type { Key } from '../../limiter/index.ts'
import type { Decision, Verdict } from '../../policy/index.ts'
import type { Framework } from '../framework.ts'

/**
 * A dialect of the response fields. `'legacy'` is X-RateLimit-Limit, -Remaining and -Reset. Each other dialect is a version of
 * draft-ietf-httpapi-ratelimit-headers: `'draft-7'` is version 07.
 */
export type Dialect = 'legacy' | 'draft-6' | 'draft-7' | 'draft-8' | 'draft-11'

/** The functions of a framework that set and read response fields. */
export type Sink<Response> = Pick<Framework<never, Response>, 'setHeader' | 'responseHeader'> & {
  /** True if the response has the fields of an earlier decision about the request. These fields must be replaced. */
  readonly written?: boolean
}

/** Sets the response fields of one dialect (such as `'draft-7'`). Times in the fields are whole seconds, rounded up. */
export type Writer = <Response>(decision: Decision, sink: Sink<Response>, response: Response, key: Key) => void

/** A policy that appears in response fields, and the index of the policy's verdict in a decision. */
export interface ReportedPolicy {
  readonly policy: Policy
  readonly index: number
}

/**
 * Sets a response field whose value is a List of a Structured Field. If another limiter has set the field, the items are added to
 * the List in the field. If the field has a value in the format of another draft, that value is replaced.
 */
export function setList<Response>(sink: Sink<Response>, response: Response, name: string, value: string): void {
  const before = sink.responseHeader?.(response, name)
  const joins = before !== undefined && isNamed(before) === isNamed(value)
  sink.setHeader(response, name, joins ? `${before}, ${value}` : value)
}

/** True for a List in the format of draft 8 or later: the items begin with a name in quotes. */
function isNamed(list: string): boolean {
  return list.charCodeAt(0) === 34
}

/**
 * The verdict of the policy that `decision.policy` names. If the fields do not report this policy, the verdict of the first reported
 * policy.
 */
export function bindingVerdict(decision: Decision, reported: readonly ReportedPolicy[]): Verdict {
  if (decision.policies.length === 1) return decision.policies[0] as Verdict
  const binding = reported.find(({ policy }) => policy.name === decision.policy) ?? reported[0]
  return verdictOf(decision, binding as ReportedPolicy)
}

/** Milliseconds until the quota is full. During a ban, at least the milliseconds until the ban ends. */
export function resetOf({ resetAfter }: Verdict, { retryAfter }: Decision): number {
  return retryAfter > resetAfter && retryAfter < Infinity ? retryAfter : resetAfter
}

export function verdictOf(decision: Decision, { index }: ReportedPolicy): Verdict {
  return decision.policies[index] as Verdict
}

/** The largest Integer of a Structured Field, with 15 digits (RFC 9651, 3.3.1). */
const largestInteger = 999_999_999_999_999

/** A number as an Integer of a Structured Field. A fraction is rounded up, so that a rate of 0.5 is not reported as a limit of 0. */
export function integer(number: number): number {
  return number < largestInteger ? Math.ceil(number) : largestInteger
}
