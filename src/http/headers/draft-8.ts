import { structuredString, type Told, verdictOf, type Writer, wholeSeconds } from './dialect.ts'
import type { PartitionKeys } from './partition-key.ts'

/** draft-ietf-httpapi-ratelimit-headers-08: a List of named Items; `t` is the time until the quota is whole again. */
export function draft8(told: readonly Told[], partitions?: PartitionKeys): Writer {
  return namedItems(told, partitions, (verdict) => `;t=${wholeSeconds(verdict.resetAfter)}`)
}

/**
 * The Lists of drafts 8 and later, which differ in what the time of an Item means.
 * @param time the parameter that tells it, or nothing
 */
export function namedItems(
  told: readonly Told[],
  partitions: PartitionKeys | undefined,
  time: (verdict: ReturnType<typeof verdictOf>, told: Told) => string,
): Writer {
  const names = told.map(({ policy }) => structuredString(policy.name))
  const items = told.map(({ policy }, n) => `${names[n]};q=${policy.limit};w=${wholeSeconds(policy.window)}`)
  const promises = items.join(', ')
  return (decision, sink, response, key) => {
    const pk = partitions && told.map(({ policy }) => partitions.of(key, policy.scope))
    let left = ''
    for (let n = 0; n < told.length; n++) {
      const each = told[n] as Told
      const verdict = verdictOf(decision, each)
      left += `${n === 0 ? '' : ', '}${names[n]};r=${verdict.remaining}${time(verdict, each)}${pk ? pk[n] : ''}`
    }
    const policies = pk === undefined ? promises : items.map((item, n) => item + pk[n]).join(', ')
    sink.setHeader(response, 'RateLimit-Policy', policies)
    sink.setHeader(response, 'RateLimit', left)
  }
}
