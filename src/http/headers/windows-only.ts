import type { Policy } from '../../algorithms/algorithm.ts'
import { type Decision, join } from '../../decision.ts'
import type { Writer } from './dialect.ts'

/** True for units in flight. They come back when requests end, so no window or reset time would be true of them. */
export function isInFlight({ algorithm }: Policy): boolean {
  return algorithm.leases === true
}

/**
 * The writer of a dialect whose fields need a window: it gets the decision of the other policies.
 * @param write made for those policies
 */
export function windowsOnly(policies: readonly Policy[], write: Writer): Writer {
  const indexes = policies.flatMap((policy, n) => (isInFlight(policy) ? [] : [n]))
  if (indexes.length === policies.length) return write
  return (decision, sink, response, key) => write(decisionOf(indexes, decision), sink, response, key)
}

function decisionOf(indexes: readonly number[], { policies, source, at }: Decision): Decision {
  const verdicts = indexes.flatMap((n) => policies[n] ?? [])
  const allowed = verdicts.every((verdict) => verdict.allowed || verdict.shadow)
  return join(allowed, verdicts, source, at)
}
