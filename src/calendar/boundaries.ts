import { LRUCache } from 'lru-cache'
import type { Windows } from '../algorithms/index.ts'
import { getOrInsert } from '../common/index.ts'
import type { Day, TimeZone } from './time-zone.ts'

/** When windows begin. One of `months` and `days` is above 0, the other one is 0. */
export interface Rule {
  /** The length of a window in months: 1 for a month, 3 for a quarter, 12 for a year. */
  readonly months: number
  /** The length of a window in days: 1 for a day, 7 for a week. */
  readonly days: number
  /** A date on which a window begins. Of a rule in months, only its month matters, and for single months nothing of it. */
  readonly anchor: Day
  /**
   * The day on which windows of months begin, 1 to 31. In a shorter month, the last day of that month, so that windows from the
   * 31st begin on the 31st again in the next long month.
   */
  readonly dayOfMonth: number
  readonly zone: TimeZone
}

const millisecondsOfDay = 86_400_000

/** The last windows of each rule of a zone. At most 1,000 rules of a zone are kept: months and quarters have 124, years 372. */
const lastWindows = new WeakMap<TimeZone, LRUCache<number, Windows>>()

/**
 * The window at a moment, and its neighbours. The end of a window is the start of the next one. A window without any moment is left
 * out: the day that a zone skips when it crosses the date line.
 * @param now whole microseconds since the epoch
 */
export function windowsAt(rule: Rule, now: number): Windows {
  const known = getOrInsert(lastWindows, rule.zone, newCache)
  const key = keyOf(rule)
  let windows = known.get(key)
  if (windows === undefined || now < windows[1] || now >= windows[2]) {
    windows = findWindows(rule, Math.floor(now / 1000))
    known.set(key, windows)
  }
  return windows
}

function newCache(): LRUCache<number, Windows> {
  return new LRUCache({ max: 1000 })
}

/** A number that rules of a zone share only if their windows are the same. `n * n + phase` is unique, as a phase is below n. */
function keyOf({ months, days, anchor, dayOfMonth }: Rule): number {
  if (months === 0) return -(days * days + modulo(anchor, days))
  const phase = months === 1 ? 0 : modulo(monthOf(anchor), months)
  return (months * months + phase) * 32 + dayOfMonth
}

function findWindows(rule: Rule, ms: number): Windows {
  const { zone } = rule
  let index = indexOf(rule, zone.dateAt(ms))
  const startOf = (window: number) => zone.startOf(firstDay(rule, window))
  // If the clocks go back over midnight, the former date comes again, but the new window has begun.
  while (startOf(index + 1) <= ms) index++
  const start = startOf(index)
  let previous = index - 1
  while (startOf(previous) === start) previous--
  let next = index + 1
  const end = startOf(next)
  while (startOf(next) === end) next++
  return [startOf(previous) * 1000, start * 1000, end * 1000, startOf(next) * 1000]
}

/** The window that has this date, counted from the anchor. */
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

/**
 * The months since January 1970. The arithmetic is `civil_from_days` of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
 * Every call needs it, and a Date takes 100 ns. Years begin in March, so that a leap day is the last day of its year. `| 0` leaves
 * out fractions, in half the time of Math.floor.
 */
function monthOf(day: Day): number {
  const sinceYear0 = day + 719_468
  const era = Math.floor(sinceYear0 / 146_097)
  const dayOfEra = sinceYear0 - era * 146_097
  const leapDays = ((dayOfEra / 1460) | 0) - ((dayOfEra / 36_524) | 0) + ((dayOfEra / 146_096) | 0)
  const year = ((dayOfEra - leapDays) / 365) | 0
  const dayOfYear = dayOfEra - (year * 365 + ((year / 4) | 0) - ((year / 100) | 0))
  return (era * 400 + year - 1970) * 12 + (((dayOfYear * 5 + 2) / 153) | 0) + 2
}

/** The first day of a month. @param month months since January 1970 */
function firstOf(month: number): Day {
  return Date.UTC(1970, month) / millisecondsOfDay
}

/** The remainder, from 0 to `divisor` - 1. */
function modulo(value: number, divisor: number): number {
  return value - Math.floor(value / divisor) * divisor
}
