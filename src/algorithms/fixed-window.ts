import { oneOf } from '../options.ts'
import type { PolicyOptions } from '../policy.ts'
import type { Policy } from './algorithm.ts'
import { definePolicy } from './define-policy.ts'
import { IntervalBucket } from './interval-bucket.ts'

export interface FixedWindowOptions extends PolicyOptions {
  /** `'clock'` (default): windows are [kW, (k+1)W) since the epoch. `'first-request'`: a window opens with its first call. */
  align?: 'clock' | 'first-request'
}

/**
 * At most `limit` units in each window, and up to 2 * limit at once across a boundary. See interval-bucket.ts.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function fixedWindow(options: FixedWindowOptions): Policy {
  return definePolicy('fixedWindow', options, ['align'], (settings, window) => {
    const align = oneOf(options.align, ['clock', 'first-request'], 'fixedWindow: align')
    return new IntervalBucket(settings.limit, window, settings.limit, align === 'clock')
  })
}
