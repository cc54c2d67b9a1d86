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
import { quotaPolicies } from './draft-6.ts'

/** draft-ietf-httpapi-ratelimit-headers-07: the three numbers of draft 6 in one Dictionary. */
export function draft7(reported: readonly ReportedPolicy[], own: OwnLists): Writer {
  const policies = quotaPolicies(reported)
  return (decision, sink, response) => {
    const binding = bindingVerdict(decision, reported)
    const reset = wholeSeconds(resetOf(binding, decision))
    const limit = integer(binding.limit)
    const remaining = integer(decision.remaining)
    if (own.policies) setList(sink, response, 'RateLimit-Policy', policies)
    if (own.left) sink.setHeader(response, 'RateLimit', `limit=${limit}, remaining=${remaining}, reset=${reset}`)
  }
}
