import type { Policy } from '../../algorithms/algorithm.ts'
import type { Decision, Verdict } from '../../decision.ts'
import type { Key } from '../../limiter.ts'
import type { Framework } from '../framework.ts'

/** Where fields are set: the part of a framework that knows how. */
export type Sink<Response> = Pick<Framework<never, Response>, 'setHeader'>

/** Writes the fields of one dialect; seconds are whole and rounded up. */
export type Writer = <Response>(decision: Decision, sink: Sink<Response>, response: Response, key: Key) => void

/** A policy that is told, and where its verdict stands. A shadow is not promised to anybody and is not told. */
export interface Told {
  readonly policy: Policy
  readonly place: number
}

export function bindingOf({ policies, policy }: Decision): Verdict {
  return (policies.length === 1 ? policies[0] : policies.find(({ name }) => name === policy)) as Verdict
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
