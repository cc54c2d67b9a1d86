import { type Calendar, makePolicy, type Policy, type Windows } from '../../src/algorithms/index.ts'
import { CalendarWindow } from '../../src/algorithms/windows/index.ts'
import { type PolicyOptions, policySettings } from '../../src/policy/index.ts'

/** A calendar whose windows all have the same length, and begin at its multiples: what a fixed window on the clock does. */
class EvenCalendar implements Calendar {
  readonly asks = []
  readonly window: number

  /** @param window in microseconds */
  constructor(window: number) {
    this.window = window
  }

  /** @param shift by how many microseconds the windows begin after the multiples */
  windowsAt(now: number, _caller?: unknown, shift = 0): Windows {
    const start = now - ((now + this.window - (shift % this.window)) % this.window)
    return [start - this.window, start, start + this.window, start + 2 * this.window]
  }
}

/**
 * A policy with the arithmetic of `calendarWindow`, over windows that are short enough for a test.
 * @param days the nominal length
 * @param thresholds parts of the limit, in ascending order
 */
export function evenCalendarWindow(options: PolicyOptions, days = 1, thresholds?: readonly number[]): Policy {
  const settings = policySettings('evenCalendarWindow', options)
  const calendar = new EvenCalendar(settings.window * 1000)
  const made = (limit: number): Policy =>
    makePolicy(
      { ...settings, limit, burst: limit, calendar, ...(thresholds && { thresholds }) },
      new CalendarWindow(limit, 0, days),
      made,
    )
  return made(settings.limit)
}

/** The windows of a command, for a ledger that a test opens in a store without a limiter. */
export function windowsAt(policies: readonly Policy[], now: number, shift = 0): (Windows | undefined)[] {
  return policies.map(({ calendar }) => (calendar as EvenCalendar | undefined)?.windowsAt(now, undefined, shift))
}
