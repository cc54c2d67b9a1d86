import { wholeSeconds } from '../retry-after.ts'
import {
  bindingVerdict,
  integer,
  type OwnLists,
  type ReportedPolicy,
  resetOf,
  setList,
  type Writer,
} from './dialect.ts'

/** draft-ietf-httpapi-ratelimit-headers-06: three fields of the binding policy, and every policy in RateLimit-Policy. */
export function draft6(reported: readonly ReportedPolicy[], own: OwnLists): Writer {
  const policies = quotaPolicies(reported)
  return (decision, sink, response) => {
    const binding = bindingVerdict(decision, reported)
    if (own.policies) setList(sink, response, 'RateLimit-Policy', policies)
    sink.setHeader(response, 'RateLimit-Limit', String(integer(binding.limit)))
    sink.setHeader(response, 'RateLimit-Remaining', String(integer(decision.remaining)))
    sink.setHeader(response, 'RateLimit-Reset', String(wholeSeconds(resetOf(binding, decision))))
  }
}

/** `100;w=60, 5000;w=86400`: drafts 6 and 7 have no names. */
export function quotaPolicies(reported: readonly ReportedPolicy[]): string {
  return reported.map(({ policy }) => `${integer(policy.limit)};w=${wholeSeconds(policy.window)}`).join(', ')
}
