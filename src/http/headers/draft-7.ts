import { bindingOf, resetOf, type Told, type Writer, wholeSeconds } from './dialect.ts'
import { quotaPolicies } from './draft-6.ts'

/** draft-ietf-httpapi-ratelimit-headers-07: the three numbers of draft 6 in one Dictionary. */
export function draft7(told: readonly Told[]): Writer {
  const promises = quotaPolicies(told)
  return (decision, sink, response) => {
    const binding = bindingOf(decision, told)
    sink.setHeader(response, 'RateLimit-Policy', promises)
    const left = `limit=${binding.limit}, remaining=${decision.remaining}, reset=${wholeSeconds(resetOf(binding, decision))}`
    sink.setHeader(response, 'RateLimit', left)
  }
}
