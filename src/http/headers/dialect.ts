import type { Policy } from '../../algorithms/algorithm.ts'
import type { Decision, Verdict } from '../../decision.ts'
import type { Key } from '../../limiter.ts'
import type { Framework } from '../framework.ts'

/** Where fields are set: the part of a framework that knows how. */
export type Sink<Response> = Pick<Framework<never, Response>, 'setHeader'>

/** Writes the fields of one dialect; seconds are whole and rounded up. */
export type Writer = <Response>(decision: Decision, sink: Sink<Response>, response: Response, key: Key) => void

/** A policy that is told, and where its verdict stands. */
export interface Told {
  readonly policy: Policy
  readonly place: number
}

/** The verdict of the binding policy, or of the first, where the binding one is not told. */
export function bindingOf(decision: Decision, told: readonly Told[]): Verdict {
  if (decision.policies.length === 1) return decision.policies[0] as Verdict
  return verdictOf(decision, told.find(({ policy }) => policy.name === decision.policy) ?? (told[0] as Told))
}

/** When all is as new; of a block, no sooner than its end. */
export function resetOf({ resetAfter }: Verdict, { retryAfter }: Decision): number {
  return retryAfter > resetAfter && retryAfter < Infinity ? retryAfter : resetAfter
}

export function verdictOf(decision: Decision, { place }: Told): Verdict {
  return decision.policies[place] as Verdict
}

/** Milliseconds as whole seconds, rounded up: nobody is told a time that is too short. */
export function wholeSeconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000)
}

/** A Structured Field String (RFC 9651, 4.1.6); policy names are printable ASCII already. */
export function structuredString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
