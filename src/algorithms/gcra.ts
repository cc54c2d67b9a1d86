import type { BurstOptions } from '../policy.ts'
import { definePolicy, type Policy } from './algorithm.ts'
import { Bucket } from './bucket.ts'

/**
 * The generic cell rate algorithm (ITU-T I.371): a call every `window / limit`, and `burst` of them may come early.
 * The same decisions as `tokenBucket`; see bucket.ts.
 * @throws HeadgateError on any option that is out of range
 */
export function gcra(options: BurstOptions): Policy {
  return definePolicy('gcra', options, ['burst'], ({ limit, burst }, window) => new Bucket(limit, window, burst))
}
