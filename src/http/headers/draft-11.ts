import type { Verdict } from '../../decision.ts'
import { wholeSeconds } from '../retry-after.ts'
import type { OwnLists, ReportedPolicy, Writer } from './dialect.ts'
import { namedItems } from './draft-8.ts'
import type { PartitionKeys } from './partition-keys.ts'

/** draft-ietf-httpapi-ratelimit-headers-11: as draft 8, but `t` is the effective window. */
export function draft11(reported: readonly ReportedPolicy[], own: OwnLists, partitions?: PartitionKeys): Writer {
  return namedItems(reported, own, partitions, effectiveWindow)
}

/**
 * `t` is the time in which a client can use no more than what is left: the time until units come back. A bucket gives
 * units back all the time, so its `t` is left out, unless the next unit fills it.
 */
function effectiveWindow({ nextAfter, resetAfter }: Verdict, { policy }: ReportedPolicy): string {
  const until = policy.algorithm.kind === 'bucket' && nextAfter !== resetAfter ? 0 : nextAfter
  return until ? `;t=${wholeSeconds(until)}` : ''
}
