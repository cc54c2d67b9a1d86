import { HeadgateError, shown } from '../errors.ts'
import type { PolicyOptions } from '../policy.ts'
import { definePolicy, type Policy } from './algorithm.ts'
import { IntervalBucket } from './interval-bucket.ts'

export interface FixedWindowOptions extends PolicyOptions {
  /** `'clock'` (default): windows [kW, (k+1)W) since the epoch. `'first-request'`: a window opens with its first call. */
  align?: 'clock' | 'first-request'
}

/**
 * At most `limit` units in each window; up to 2 * limit within a moment across a boundary. See batches.ts.
 * @throws HeadgateError on any option that is out of range
 */
export function fixedWindow(options: FixedWindowOptions): Policy {
  return definePolicy('fixedWindow', options, ['align'], (terms, window) => {
    const align = options.align ?? 'clock'
    if (align !== 'clock' && align !== 'first-request') {
      throw new HeadgateError(
        'HEADGATE_OPTION',
        `fixedWindow: align must be 'clock' or 'first-request', got ${shown(align)}. Leave it out for 'clock'.`,
      )
    }
    return new IntervalBucket(terms.limit, window, terms.limit, align === 'clock')
  })
}
