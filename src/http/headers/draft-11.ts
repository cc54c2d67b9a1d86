import { Bucket } from '../../algorithms/bucket.ts'
import type { Verdict } from '../../decision.ts'
import { type Told, type Writer, wholeSeconds } from './dialect.ts'
import { namedItems } from './draft-8.ts'
import type { PartitionKeys } from './partition-key.ts'

/** draft-ietf-httpapi-ratelimit-headers-11: as draft 8, but `t` is the effective window. */
export function draft11(told: readonly Told[], partitions?: PartitionKeys): Writer {
  return namedItems(told, partitions, effectiveWindow)
}

/**
 * `t`, the time within which no more than what is left can be used: until more comes back. A bucket gives back all the
 * time, so there it is told only when the next unit fills it, and left out otherwise.
 */
function effectiveWindow({ nextAfter, resetAfter }: Verdict, { policy }: Told): string {
  const until = policy.algorithm instanceof Bucket && nextAfter !== resetAfter ? 0 : nextAfter
  return until ? `;t=${wholeSeconds(until)}` : ''
}
