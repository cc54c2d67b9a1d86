import {
  bindingVerdict,
  type OwnLists,
  type ReportedPolicy,
  resetOf,
  setList,
  type Writer,
  wholeSeconds,
} from './dialect.ts'
import { quotaPolicies } from './draft-6.ts'

/** draft-ietf-httpapi-ratelimit-headers-07: the three numbers of draft 6 in one Dictionary. */
export function draft7(reported: readonly ReportedPolicy[], own: OwnLists): Writer {
  const policies = quotaPolicies(reported)
  return (decision, sink, response) => {
    const binding = bindingVerdict(decision, reported)
    const reset = wholeSeconds(resetOf(binding, decision))
    if (own.policies) setList(sink, response, 'RateLimit-Policy', policies)
    if (own.left)
      sink.setHeader(response, 'RateLimit', `limit=${binding.limit}, remaining=${decision.remaining}, reset=${reset}`)
  }
}
