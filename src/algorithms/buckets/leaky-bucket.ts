import type { BurstOptions } from '../../policy/index.ts'
import type { Policy } from '../algorithm.ts'
import { definePolicy } from '../define-policy.ts'
import { Bucket } from './bucket.ts'

/**
 * A leaky bucket as a meter. A call adds its cost to the level, the level falls by `limit` units per `window`, and a call that would
 * raise the level above `burst` is refused. This limiter makes the same decisions as `tokenBucket`. See bucket.ts.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function leakyBucket(options: BurstOptions): Policy {
  return definePolicy('leakyBucket', options, ['burst'], ({ limit, burst }, window) => new Bucket(limit, window, burst))
}
