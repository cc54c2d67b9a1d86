/* What a dialect of the response fields is, and what the dialects share. */
import type { Policy } from '../../algorithms/index.ts'
import type { Key } from '../../limiter/index.ts'
import type { Decision, Verdict } from '../../policy/index.ts'
import type { Framework } from '../framework.ts'

/**
 * A dialect of the response fields. `'legacy'` is X-RateLimit-Limit, -Remaining and -Reset. The others are drafts of
 * draft-ietf-httpapi-ratelimit-headers, by number.
 */
export type Dialect = 'legacy' | 'draft-6' | 'draft-7' | 'draft-8' | 'draft-11'

/** The functions of a framework that set response fields. */
export type Sink<Response> = Pick<Framework<never, Response>, 'setHeader' | 'responseHeader'>

/** Writes the fields of one dialect. Seconds are whole and rounded up. */
export type Writer = <Response>(decision: Decision, sink: Sink<Response>, response: Response, key: Key) => void

/** A policy that fields report, and the index of its verdict in a decision. */
export interface ReportedPolicy {
  readonly policy: Policy
  readonly index: number
}

/** Sets a field that is a List, or adds to what another limiter has set. A List of another form is replaced. */
export function setList<Response>(sink: Sink<Response>, response: Response, name: string, value: string): void {
  const before = sink.responseHeader?.(response, name)
  const joins = before !== undefined && isNamed(before) === isNamed(value)
  sink.setHeader(response, name, joins ? `${before}, ${value}` : value)
}

/** True for Lists of drafts 8 and later, whose Items begin with a name. */
function isNamed(list: string): boolean {
  return list.charCodeAt(0) === 34
}

/** The verdict of the binding policy; of the first reported one if the binding policy is not reported. */
export function bindingVerdict(decision: Decision, reported: readonly ReportedPolicy[]): Verdict {
  if (decision.policies.length === 1) return decision.policies[0] as Verdict
  const binding = reported.find(({ policy }) => policy.name === decision.policy) ?? reported[0]
  return verdictOf(decision, binding as ReportedPolicy)
}

/** The time to full quota; during a ban, at least its end. */
export function resetOf({ resetAfter }: Verdict, { retryAfter }: Decision): number {
  return retryAfter > resetAfter && retryAfter < Infinity ? retryAfter : resetAfter
}

export function verdictOf(decision: Decision, { index }: ReportedPolicy): Verdict {
  return decision.policies[index] as Verdict
}

/** The largest Integer of a Structured Field (RFC 9651, 3.3.1): 15 digits. */
const largestInteger = 999_999_999_999_999

/** A number as an Integer of a Structured Field. A rate such as 0.5 is rounded up, so that a quota is never 0. */
export function integer(number: number): number {
  return number < largestInteger ? Math.ceil(number) : largestInteger
}
