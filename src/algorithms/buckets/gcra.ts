import type { BurstOptions } from '../../policy/index.ts'
import type { Policy } from '../algorithm.ts'
import { definePolicy } from '../define-policy.ts'
import { Bucket } from './bucket.ts'

/**
 * The generic cell rate algorithm (ITU-T I.371): one unit every `window / limit`, and after an idle time up to `burst` units together.
 * This algorithm makes the same decisions as `tokenBucket`. See bucket.ts.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function gcra(options: BurstOptions): Policy {
  return definePolicy('gcra', options, ['burst'], ({ limit, burst }, window) => new Bucket(limit, window, burst))
}
