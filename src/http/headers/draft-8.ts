import type { Policy } from '../../algorithms/algorithm.ts'
import type { Verdict } from '../../decision.ts'
import { wholeSeconds } from '../retry-after.ts'
import { integer, type OwnLists, type ReportedPolicy, setList, verdictOf, type Writer } from './dialect.ts'
import type { PartitionKeys } from './partition-keys.ts'

/**
 * draft-ietf-httpapi-ratelimit-headers-08: a List of named Items; `t` is the time to full quota. Units in flight come back
 * when requests end, so they have neither a window nor a `t`, but a unit of their own in `qu`.
 */
export function draft8(reported: readonly ReportedPolicy[], own: OwnLists, partitions?: PartitionKeys): Writer {
  return namedItems(reported, own, partitions, (verdict) => `;t=${wholeSeconds(verdict.resetAfter)}`)
}

/**
 * The Lists of drafts 8 and later, as Structured Fields (RFC 9651). All text that the policies determine is made once: a
 * general serialiser at every request would take longer than the decision. The tests parse the fields with
 * `structured-headers`.
 * @param time the parameter `t` of an Item, or an empty text for none
 */
export function namedItems(
  reported: readonly ReportedPolicy[],
  own: OwnLists,
  partitions: PartitionKeys | undefined,
  time: (verdict: Verdict, reported: ReportedPolicy) => string,
): Writer {
  const names = reported.map(({ policy }) => structuredString(policy.label ?? policy.name))
  const items = reported.map(({ policy }, n) => `${names[n]};q=${integer(policy.limit)}${windowOf(policy)}`)
  const allItems = items.join(', ')
  const timeOf = (each: ReportedPolicy, verdict: Verdict) => (each.policy.algorithm.leases ? '' : time(verdict, each))
  return (decision, sink, response, key) => {
    const pk = partitions && reported.map(({ policy }) => partitions.of(key, policy.scope))
    let left = ''
    for (let n = 0; n < reported.length; n++) {
      const each = reported[n] as ReportedPolicy
      const verdict = verdictOf(decision, each)
      left += `${n === 0 ? '' : ', '}${names[n]};r=${integer(verdict.remaining)}${timeOf(each, verdict)}${pk ? pk[n] : ''}`
    }
    const policies = pk === undefined ? allItems : items.map((item, n) => item + pk[n]).join(', ')
    if (own.policies) setList(sink, response, 'RateLimit-Policy', policies)
    if (own.left) setList(sink, response, 'RateLimit', left)
  }
}

function windowOf({ algorithm, window }: Policy): string {
  return algorithm.leases ? ';qu="concurrent-requests"' : `;w=${wholeSeconds(window)}`
}

/** A Structured Field String (RFC 9651, 4.1.6). A policy's label is printable ASCII already. */
function structuredString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
