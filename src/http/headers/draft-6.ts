import { bindingOf, resetOf, type Told, type Writer, wholeSeconds } from './dialect.ts'

/** draft-ietf-httpapi-ratelimit-headers-06: three fields of the binding policy, and every policy in RateLimit-Policy. */
export function draft6(told: readonly Told[]): Writer {
  const promises = quotaPolicies(told)
  return (decision, sink, response) => {
    const binding = bindingOf(decision, told)
    sink.setHeader(response, 'RateLimit-Policy', promises)
    sink.setHeader(response, 'RateLimit-Limit', String(binding.limit))
    sink.setHeader(response, 'RateLimit-Remaining', String(decision.remaining))
    sink.setHeader(response, 'RateLimit-Reset', String(wholeSeconds(resetOf(binding, decision))))
  }
}

/** `100;w=60, 5000;w=86400`: drafts 6 and 7 have no names. */
export function quotaPolicies(told: readonly Told[]): string {
  return told.map(({ policy }) => `${policy.limit};w=${wholeSeconds(policy.window)}`).join(', ')
}
