import { oneOf } from '../../common/index.ts'
import type { PolicyOptions, PolicySettings } from '../../policy/index.ts'
import type { Policy } from '../algorithm.ts'
import { IntervalBucket } from '../buckets/index.ts'
import { definePolicy } from '../define-policy.ts'

/** The options of `fixedWindow`. */
export interface FixedWindowOptions extends PolicyOptions {
  /**
   * `'clock'` (default): windows start at multiples of `window` since the epoch. `'first-request'`: a window starts with its
   * first call.
   */
  align?: 'clock' | 'first-request'
}

/**
 * At most `limit` units in each window. Up to 2 * limit units may be admitted close together, at the end of one window and the
 * start of the next. See interval-bucket.ts.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function fixedWindow(options: FixedWindowOptions): Policy {
  return definePolicy('fixedWindow', options, ['align'], (settings, window) =>
    windowBuilder('fixedWindow', options.align)(settings, window),
  )
}

const alignReader = oneOf('clock', 'first-request')

/** A function that makes the algorithm of fixed windows. @throws HeadgateError `HEADGATE_OPTION` for an unknown `align` */
export function windowBuilder(
  name: string,
  align: FixedWindowOptions['align'],
): (settings: PolicySettings, window: number) => IntervalBucket {
  const aligned = alignReader(align, `${name}: align`) === 'clock'
  return ({ limit }, window) => new IntervalBucket(limit, window, limit, aligned)
}
