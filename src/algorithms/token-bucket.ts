import { HeadgateError, shown } from '../errors.ts'
import type { BurstOptions } from '../policy.ts'
import { definePolicy, type Policy } from './algorithm.ts'
import { Bucket } from './bucket.ts'
import { IntervalBucket } from './interval-bucket.ts'

export interface TokenBucketOptions extends BurstOptions {
  /** `'continuous'` (default): a token every window / limit. `'interval'`: `limit` tokens at once, a window after the first was taken. */
  refill?: 'continuous' | 'interval'
}

/**
 * Tokens come back at `limit` per `window`; the bucket holds `burst` of them and starts full. See bucket.ts, and
 * batches.ts for `refill: 'interval'`.
 * @throws HeadgateError on any option that is out of range
 */
export function tokenBucket(options: TokenBucketOptions): Policy {
  return definePolicy('tokenBucket', options, ['burst', 'refill'], (terms, window) => {
    const refill = options.refill ?? 'continuous'
    if (refill === 'continuous') return new Bucket(terms.limit, window, terms.burst)
    if (refill === 'interval') return new IntervalBucket(terms.limit, window, terms.burst, false)
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `tokenBucket: refill must be 'continuous' or 'interval', got ${shown(refill)}. Leave it out for 'continuous'.`,
    )
  })
}
