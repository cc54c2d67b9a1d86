import type { Windows } from '../algorithms/index.ts'
import type { Day, TimeZone } from './time-zone.ts'

/** The length of a window in months or in days. Either `months` or `days` is 0. */
export interface Length {
  /** 1 for a month, 3 for a quarter, 12 for a year. */
  readonly months: number
  /** 1 for a day, 7 for a week. */
  readonly days: number
}

/** The dates on which windows begin, in a time zone. */
export interface Rule extends Length {
  /**
   * A date on which a window begins. For windows of several months, only the month of this date matters. Windows of one month do not use
   * this date.
   */
  readonly anchor: Day
  /**
   * The day on which windows of months begin, 1 to 31. A window in a shorter month begins on the last day of that month. Windows from the
   * 31st begin on the 31st again in the next long month.
   */
  readonly dayOfMonth: number
  readonly zone: TimeZone
}

/**
 * The window at a moment, and its neighbours. A window ends where the next window starts. A window without any moment is left out, such as
 * the day that a zone skips when it crosses the date line.
 * @param now whole microseconds since the epoch
 */
export function windowsAt(rule: Rule, now: number): Windows {
  const ms = Math.floor(now / 1000)
  const { zone } = rule
  let index = indexOf(rule, zone.dateAt(ms))
  const startOf = (window: number) => zone.startOf(firstDay(rule, window))
  // If the clocks go back over midnight, the previous date comes again, but the new window has already begun.
  while (startOf(index + 1) <= ms) index++
  const start = startOf(index)
  let previous = index - 1
  while (startOf(previous) === start) previous--
  let next = index + 1
  const end = startOf(next)
  while (startOf(next) === end) next++
  return [startOf(previous) * 1000, start * 1000, end * 1000, startOf(next) * 1000]
}

/** The length of an array with an element for each number that `numberOf` may return for windows of this length. */
export function numbersOf({ months, days }: Length): number {
  return 32 * months || days
}

/** A number that identifies the windows of an anchor. Two anchors with the same number have the same windows in every time zone. */
export function numberOf({ months, days }: Length, anchor: Day): number {
  if (months === 0) return modulo(anchor, days)
  if (anchor >= 0 && anchor < 31) return anchor + 1 // an anchor from 1 to 31 is a day of January 1970
  const date = monthAndDay(anchor)
  return months === 1 ? date & 31 : modulo(date >> 5, months) * 32 + (date & 31)
}

/** The index of the window that contains this date, counted from the anchor's window. */
function indexOf(rule: Rule, date: Day): number {
  if (rule.months === 0) return Math.floor((date - rule.anchor) / rule.days)
  const index = Math.floor((monthOf(date) - monthOf(rule.anchor)) / rule.months)
  return date < firstDay(rule, index) ? index - 1 : index
}

/** The date on which a window begins. */
function firstDay({ months, days, anchor, dayOfMonth }: Rule, index: number): Day {
  if (months === 0) return anchor + index * days
  const month = monthOf(anchor) + index * months
  const firstOfNext = firstOf(month + 1)
  return Math.min(firstOf(month) + dayOfMonth, firstOfNext) - 1
}

/** How many months a day is after January 1970. */
export function monthOf(day: Day): number {
  return monthAndDay(day) >> 5
}

/**
 * The months since January 1970, times 32, plus the day of the month. The arithmetic is `civil_from_days` of Howard Hinnant,
 * "chrono-Compatible Low-Level Date Algorithms". Calls use this function, because a Date takes 100 ns. Years begin in March, so that a
 * leap day is the last day of its year. `| 0` removes fractions, in half the time of Math.floor.
 */
function monthAndDay(day: Day): number {
  const sinceYear0 = day + 719_468
  const era = Math.floor(sinceYear0 / 146_097)
  const dayOfEra = sinceYear0 - era * 146_097
  const leapDays = ((dayOfEra / 1460) | 0) - ((dayOfEra / 36_524) | 0) + ((dayOfEra / 146_096) | 0)
  const year = ((dayOfEra - leapDays) / 365) | 0
  const dayOfYear = dayOfEra - (year * 365 + ((year / 4) | 0) - ((year / 100) | 0))
  const month = ((dayOfYear * 5 + 2) / 153) | 0
  return ((era * 400 + year - 1970) * 12 + month + 2) * 32 + dayOfYear - (((month * 153 + 2) / 5) | 0) + 1
}

/** The first day of a month, by `days_from_civil` of the same paper. @param month months since January 1970 */
export function firstOf(month: number): Day {
  const sinceYear0 = month + 1970 * 12 - 2
  const era = Math.floor(sinceYear0 / 4800)
  const monthOfEra = sinceYear0 - era * 4800
  const year = (monthOfEra / 12) | 0
  const dayOfYear = (((monthOfEra - year * 12) * 153 + 2) / 5) | 0
  return era * 146_097 + year * 365 + ((year / 4) | 0) - ((year / 100) | 0) + dayOfYear - 719_468
}

/** The remainder, from 0 to `divisor` - 1. */
function modulo(value: number, divisor: number): number {
  return value - Math.floor(value / divisor) * divisor
}
