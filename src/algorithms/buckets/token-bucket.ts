import { oneOf } from '../../common/index.ts'
import type { BurstOptions } from '../../policy/index.ts'
import type { Policy } from '../algorithm.ts'
import { definePolicy } from '../define-policy.ts'
import { Bucket } from './bucket.ts'
import { IntervalBucket } from './interval-bucket.ts'

/** The options of `tokenBucket`. */
export interface TokenBucketOptions extends BurstOptions {
  /**
   * `'continuous'` (default): one token is added every `window / limit`. `'interval'`: `limit` tokens are added together at the end of each
   * window. The first window begins when a token is taken from a full bucket.
   */
  refill?: 'continuous' | 'interval' | undefined
}

const refillReader = oneOf('continuous', 'interval')

/**
 * `limit` tokens are added per `window`. A bucket contains at most `burst` tokens and starts full. A call takes as many tokens as it
 * costs. See bucket.ts, and interval-bucket.ts for `refill: 'interval'`.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function tokenBucket(options: TokenBucketOptions): Policy {
  return definePolicy('tokenBucket', options, ['burst', 'refill'], (settings, window) => {
    const refill = refillReader(options.refill, 'tokenBucket: refill')
    if (refill === 'continuous') return new Bucket(settings.limit, window, settings.burst)
    return new IntervalBucket(settings.limit, window, settings.burst, false)
  })
}
