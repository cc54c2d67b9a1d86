import { bindingVerdict, integer, type ReportedPolicy, resetOf, type Writer, wholeSeconds } from './dialect.ts'
import { quotaPolicies } from './draft-6.ts'

/** draft-ietf-httpapi-ratelimit-headers-07: the three numbers of draft 6 in one Dictionary. */
export function draft7(reported: readonly ReportedPolicy[]): Writer {
  const policies = quotaPolicies(reported)
  return (decision, sink, response) => {
    const binding = bindingVerdict(decision, reported)
    const reset = wholeSeconds(resetOf(binding, decision))
    const limit = integer(binding.limit)
    const remaining = integer(decision.remaining)
    sink.setHeader(response, 'RateLimit-Policy', policies)
    sink.setHeader(response, 'RateLimit', `limit=${limit}, remaining=${remaining}, reset=${reset}`)
  }
}
