import { flag, HeadgateError, oneOf } from '../../common/index.ts'
import type { PolicyOptions, PolicySettings } from '../../policy/index.ts'
import type { Calendar, Policy, Windows } from '../algorithm.ts'
import { IntervalBucket } from '../buckets/index.ts'
import { definePolicy } from '../define-policy.ts'
import { readThresholds } from '../thresholds.ts'
import { CalendarWindow } from './calendar-window.ts'

/** The options of `fixedWindow`. */
export interface FixedWindowOptions extends PolicyOptions {
  /**
   * `'clock'` (default): windows start at multiples of `window` since the epoch. `'first-request'`: a window starts with its
   * first call.
   */
  align?: 'clock' | 'first-request' | undefined
  /**
   * Parts of the quota, above 0 and at most 1. When an admitted call leaves such a part of the quota used, the limiter's hook
   * `onThreshold` gets one event for each key, window and part. Only for windows of at least one second that start on the clock.
   * Default: none. Example: `[0.8, 1]`.
   */
  thresholds?: readonly number[] | undefined
  /**
   * True to allow reservations that give their units back when they expire: `reserve(key, { expires: '10m', onExpiry: 'give-back' })`.
   * Only for windows of at least one second that start on the clock. Default false.
   */
  giveBack?: boolean | undefined
}

/** A calendar whose windows start at multiples of their length since the epoch. */
class EvenCalendar implements Calendar {
  readonly asks = []
  readonly even = true
  /** The length of a window in microseconds. */
  readonly window: number

  constructor(window: number) {
    this.window = window
  }

  windowsAt(now: number): Windows {
    const { window } = this
    const start = now - (now % window)
    return [start - window, start, start + window, start + 2 * window]
  }
}

/**
 * At most `limit` units in each window. Up to 2 * limit units may be admitted close together, at the end of one window and the
 * start of the next. See interval-bucket.ts. With `thresholds` or `giveBack`, the policy uses the arithmetic of `calendarWindow`, whose
 * state stores the reported thresholds and the reservations that expire.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function fixedWindow(options: FixedWindowOptions): Policy {
  const extra = ['align', 'thresholds', 'giveBack']
  const giveBack = flag()(options?.giveBack, 'fixedWindow: giveBack')
  if (options?.thresholds !== undefined || giveBack)
    return definePolicy('fixedWindow', options, extra, evenWindow, calendarParts(options))
  return definePolicy('fixedWindow', options, extra, (settings, window) =>
    windowBuilder('fixedWindow', options.align)(settings, window),
  )
}

/** One day in microseconds. */
const day = 86_400_000_000

const evenWindow = ({ limit }: PolicySettings, window: number) => new CalendarWindow(limit, 0, window / day)

/** The calendar and the thresholds of a fixed window. A window below one second could end while a message is on its way to the store. */
function calendarParts({ align, thresholds: given }: FixedWindowOptions) {
  return ({ window }: PolicySettings): Pick<Policy, 'calendar' | 'thresholds'> => {
    const thresholds = readThresholds(given, 'fixedWindow: thresholds')
    if (alignReader(align, 'fixedWindow: align') === 'clock' && window >= 1000) {
      return { calendar: new EvenCalendar(window * 1000), ...(thresholds && { thresholds }) }
    }
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `fixedWindow: ${thresholds ? 'thresholds' : 'giveBack'} needs a window of at least 1 s that starts on the clock. Leave out align: 'first-request', or use a longer window.`,
    )
  }
}

const alignReader = oneOf('clock', 'first-request')

/** Returns the function that makes the algorithm of a fixed window. @throws HeadgateError `HEADGATE_OPTION` for an unknown `align` */
export function windowBuilder(
  name: string,
  align: FixedWindowOptions['align'],
): (settings: PolicySettings, window: number) => IntervalBucket {
  const aligned = alignReader(align, `${name}: align`) === 'clock'
  return ({ limit }, window) => new IntervalBucket(limit, window, limit, aligned)
}
