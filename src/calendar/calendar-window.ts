import { makePolicy, type Policy, readThresholds } from '../algorithms/index.ts'
import { CalendarWindow } from '../algorithms/windows/index.ts'
import { HeadgateError, shown } from '../common/index.ts'
import { checkPolicyOptions, checkTextOptions, type PolicyOptions, policySettings } from '../policy/index.ts'
import { type Anchor, CalendarRule, checkPeriod, nameOf, type Period, partsOf, type Weekday } from './calendar-rule.ts'

export type { Period } from './calendar-rule.ts'

/** The options of `calendarWindow`. */
export interface CalendarWindowOptions extends Omit<PolicyOptions, 'window'> {
  /** The length of a window: `'day'`, `'week'`, `'month'`, `'quarter'`, `'year'`, or a number of months such as `{ months: 2 }`. */
  every: Period
  /**
   * The day with which windows begin. For `'month'`: a day from 1 to 31. A month without this day uses its last day. For a week, a
   * quarter, a year and `{ months }`: a date, such as `'2026-02-15'`. A Date, or milliseconds since the epoch, means its date in the
   * policy's time zone. `'caller'`: each call gives the anchor, `consume(key, { calendar: { anchor: customer.since } })`. Default: the
   * first of the month, and January for quarters and years.
   */
  anchor?: Anchor | 'caller' | undefined
  /**
   * The name of a time zone in the IANA database, such as `'Europe/Berlin'`. `'caller'`: each call gives the time zone, `consume(key, {
   * calendar: { timeZone: customer.timeZone } })`. Default `'UTC'`.
   */
  timeZone?: string | undefined
  /** For `'week'` without an anchor: the day with which a week begins. Default `'monday'`. */
  weekStart?: Weekday | undefined
  /**
   * Parts of the quota, above 0 and at most 1. When an admitted call leaves such a part of the quota used, the limiter's hook
   * `onThreshold` gets one event for each key, window and part. Default: none. Example: `[0.8, 1]`.
   */
  thresholds?: readonly number[] | undefined
}

const known = [
  ...['limit', 'every', 'anchor', 'timeZone', 'weekStart', 'thresholds'],
  ...['name', 'label', 'listed', 'scope', 'countRefused', 'shadow'],
]

/**
 * At most `limit` units in each day, week, month, quarter or year of a calendar. A window begins at midnight in the time zone. If
 * the clocks skip midnight, the window begins at the first moment after the gap. If midnight happens twice, the window begins at the
 * first midnight.
 * Up to 2 * limit units may be admitted close together, at the end of one window and the start of the next. The default name is
 * the period, such as `'month'`.
 *
 *     calendarWindow({ limit: 10_000, every: 'month' }) // from the first of the month, in UTC
 *     calendarWindow({ limit: 10_000, every: 'month', anchor: 31, timeZone: 'Europe/Berlin' })
 *     calendarWindow({ limit: 10_000, every: 'month', anchor: 'caller', timeZone: 'caller' })
 *
 * @throws HeadgateError `HEADGATE_CALENDAR` for an unknown period, anchor, time zone or start of a week, and another code if another
 *   option is unknown or out of range
 */
export function calendarWindow(options: CalendarWindowOptions): Policy {
  checkPolicyOptions('calendarWindow', options, known, "limit: 10_000, every: 'month'")
  const { every, anchor, timeZone, weekStart, thresholds: given, ...rest } = options
  const { months, days } = checkPeriod(every)
  const calendar = new CalendarRule({ every, anchor, timeZone, weekStart })
  const thresholds = readThresholds(given, 'calendarWindow: thresholds')
  const settings = (limit: number) => {
    const { span } = new CalendarWindow(0, months, days)
    return policySettings('calendarWindow', { ...rest, name: rest.name ?? nameOf(every), limit, window: span / 1000 })
  }
  const made = (limit: number): Policy => {
    const read = settings(limit)
    const withCalendar = { ...read, countRefused: read.countRefused && limit > 0, calendar }
    return makePolicy(
      { ...withCalendar, ...(thresholds && { thresholds }) },
      new CalendarWindow(limit, months, days),
      made,
    )
  }
  return made(options.limit)
}

const form = /^\s*(\d+)\s*\/\s*(?:(\d+)\s+)?([a-z]+)(?:\s+(\S+))?\s*$/i

/**
 * A policy of a calendar from a short text: limit/period, then optionally the time zone.
 *
 *     quota('10000/month')                   from the first of the month, in UTC
 *     quota('500/day Europe/Berlin')         from midnight in Berlin
 *     quota('90000/3 months', { anchor: '2026-02-15' })
 *
 * @param options the options of `calendarWindow` that are not in the text, such as `anchor` and `name`
 * @throws HeadgateError `HEADGATE_POLICY` if the text has another form or `options` is no object, and the codes of `calendarWindow`
 */
export function quota(text: string, options: Omit<CalendarWindowOptions, 'limit' | 'every'> = {}): Policy {
  const [, limit, count, word = '', timeZone] = (typeof text === 'string' && form.exec(text)) || []
  const every = partsOf(count, word.toLowerCase())
  if (limit === undefined || every === undefined) throw notUnderstood(text)
  checkTextOptions('quota', options, "'1000/month', { anchor: 15 }")
  const inText = { limit: Number(limit), every, ...(timeZone === undefined ? {} : { timeZone }) }
  const twice = Object.entries(options).find(([name, value]) => value !== undefined && name in inText)
  if (twice !== undefined) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `quota: ${twice[0]} is in the text ${shown(text)} and in the options. Write it once.`,
    )
  }
  return calendarWindow({ ...options, ...inText })
}

function notUnderstood(text: unknown): HeadgateError {
  return new HeadgateError(
    'HEADGATE_POLICY',
    `A quota is limit/period, then optionally the time zone, got ${shown(text)}. Write '10000/month' or '500/day Europe/Berlin'; ` +
      "the periods are day, week, month, quarter, year, and such as '3 months'. For options, write calendarWindow({ limit: 1000, every: 'month' }).",
  )
}
