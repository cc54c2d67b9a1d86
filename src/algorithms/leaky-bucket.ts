import type { BurstOptions } from '../policy.ts'
import { definePolicy, type Policy } from './algorithm.ts'
import { Bucket } from './bucket.ts'

/**
 * The bucket as a meter: a call pours its cost in, `limit` per `window` leak out, what would run over `burst` is
 * refused. The same decisions as `tokenBucket`; see bucket.ts.
 * @throws HeadgateError on any option that is out of range
 */
export function leakyBucket(options: BurstOptions): Policy {
  return definePolicy('leakyBucket', options, ['burst'], ({ limit, burst }, window) => new Bucket(limit, window, burst))
}
