import type { Calendar, Windows } from '../algorithms/index.ts'
import { HeadgateError, invalidOption, shown } from '../common/index.ts'
import type { CallerCalendar } from '../policy/index.ts'
import { firstOf, type Length, monthOf, numberOf, numbersOf, windowsAt } from './boundaries.ts'
import { type Day, TimeZone } from './time-zone.ts'

/** The length of a window. */
export type Period = 'day' | 'week' | 'month' | 'quarter' | 'year' | { readonly months: number }

export type Anchor = NonNullable<CallerCalendar['anchor']>

/** The days of a week, in the order of `Date.getUTCDay`. */
const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

export type Weekday = (typeof weekdays)[number]

const lengths: Readonly<Record<string, Length>> = {
  day: { months: 0, days: 1 },
  week: { months: 0, days: 7 },
  month: { months: 1, days: 0 },
  quarter: { months: 3, days: 0 },
  year: { months: 12, days: 0 },
}

/** The first and the last valid anchor: the years 1 to 9999, less one day at each end, because time zones differ by up to a day. */
const firstMoment = Date.parse('0001-01-02T00:00:00Z')
const lastMoment = Date.parse('9999-12-30T00:00:00Z')

const millisecondsOfDay = 86_400_000
/**
 * A number nearer to zero is not accepted, because the number is probably in seconds. In milliseconds, the number would be from 1966 to
 * 1973.
 */
const leastMilliseconds = 1e11
/** 1970-01-01 was a Thursday. */
const firstWeekday = 4

/** Checks a period, and returns its length. @throws HeadgateError `HEADGATE_CALENDAR` */
export function checkPeriod(every: Period): Length {
  if (typeof every === 'string' && Object.hasOwn(lengths, every)) return lengths[every] as Length
  const months = typeof every === 'object' && every !== null ? every.months : 0
  if (Number.isInteger(months) && months >= 1 && months <= 12) return { months, days: 0 }
  throw wrong('every', "'day', 'week', 'month', 'quarter', 'year' or { months: 1 to 12 }", every, "every: 'month'")
}

/** The name of a policy with this period, such as `'month'` or `'2-months'`. */
export function nameOf(every: Period): string {
  return typeof every === 'string' ? every : `${every.months}-months`
}

/** The period of a text such as `month`, or `3` and `months`. Undefined if the text is not a period. */
export function partsOf(count: string | undefined, word: string): Period | undefined {
  if (count !== undefined) return word === 'months' || word === 'month' ? { months: Number(count) } : undefined
  return Object.hasOwn(lengths, word) ? (word as Period) : undefined
}

interface RuleOptions {
  readonly every: Period
  readonly anchor: Anchor | 'caller' | undefined
  readonly timeZone: string | undefined
  readonly weekStart: Weekday | undefined
}

/**
 * The windows that were computed last in a time zone, for each anchor. The index of an anchor's windows is the number that `numberOf`
 * returns.
 */
interface ZoneWindows {
  readonly zone: TimeZone
  readonly windows: (Windows | undefined)[]
}

/** How many time zones a rule remembers: enough for each zone of the IANA database. */
const mostZones = 500

/**
 * Computes when the windows of a policy begin. The public members are constant, and are part of the text that identifies a plan. So two
 * plans that differ only in their time zone are two plans.
 */
export class CalendarRule implements Calendar {
  readonly every: Period
  readonly anchor: Anchor | 'caller' | undefined
  readonly timeZone: string
  readonly weekStart: Weekday | undefined
  readonly asks: Calendar['asks']
  readonly #length: Length
  /** The anchor. Undefined if each call has to give its anchor. */
  readonly #anchor: Anchor | undefined
  /** The windows in the policy's time zone. Undefined if each call has to give its time zone. */
  readonly #own: ZoneWindows | undefined
  readonly #others = new Map<string, ZoneWindows>()

  /** @throws HeadgateError `HEADGATE_CALENDAR` */
  constructor({ every, anchor, timeZone = 'UTC', weekStart }: RuleOptions) {
    this.every = every
    this.anchor = anchor instanceof Date ? anchor.toJSON() : anchor
    this.timeZone = timeZone
    this.weekStart = weekStart
    this.asks = Object.freeze((['anchor', 'timeZone'] as const).filter((part) => this[part] === 'caller'))
    this.#length = checkPeriod(every)
    this.#checkCombination()
    this.#own = timeZone === 'caller' ? undefined : this.#newZone(TimeZone.of(timeZone))
    this.#anchor = anchor === 'caller' ? undefined : (this.anchor ?? this.#firstDay())
    if (anchor !== undefined && anchor !== 'caller') this.#dayOf(anchor, this.#own?.zone ?? TimeZone.of('UTC'))
    Object.freeze(this)
  }

  #newZone(zone: TimeZone): ZoneWindows {
    return { zone, windows: new Array(numbersOf(this.#length)) }
  }

  /** The date with which windows begin if there is no anchor. */
  #firstDay(): string {
    const days = this.#length.days === 7 ? weekdays.indexOf(this.weekStart ?? 'monday') + 7 - firstWeekday : 0
    return `1970-01-0${1 + (days % 7)}`
  }

  windowsAt(now: number, caller: CallerCalendar | undefined): Windows | undefined {
    const anchor = this.#anchor ?? caller?.anchor
    const own = this.#own ?? this.#windowsIn(caller?.timeZone)
    if (anchor === undefined || own === undefined) return undefined
    const day = this.#dayOf(anchor, own.zone, 'calendar.anchor')
    const number = numberOf(this.#length, day)
    const known = own.windows[number]
    if (known !== undefined && now >= known[1] && now < known[2]) return known
    const windows = windowsAt({ ...this.#length, anchor: day, dayOfMonth: number % 32, zone: own.zone }, now)
    own.windows[number] = windows
    return windows
  }

  #windowsIn(name: string | undefined): ZoneWindows | undefined {
    const known = this.#others.get(name as string)
    if (known !== undefined || name === undefined) return known
    const own = this.#newZone(TimeZone.of(name, 'calendar.timeZone'))
    if (this.#others.size >= mostZones) this.#others.clear()
    this.#others.set(name, own)
    return own
  }

  /** The date of an anchor, in whole days since 1970-01-01. An anchor from 1 to 31 becomes this day of January 1970. */
  #dayOf(anchor: Anchor, zone: TimeZone, option?: 'calendar.anchor'): Day {
    if (typeof anchor === 'number' && this.#length.months === 1 && isDayOfMonth(anchor)) return anchor - 1
    const date = typeof anchor === 'string' ? dateOf(anchor) : undefined
    if (date !== undefined) return date
    const moment = momentOf(anchor)
    const least = typeof anchor === 'number' ? leastMilliseconds : millisecondsOfDay
    if (Math.abs(moment) >= least && moment >= firstMoment && moment <= lastMoment) return zone.dateAt(moment)
    throw this.#wrongAnchor(anchor, option)
  }

  #wrongAnchor(anchor: Anchor, option: 'calendar.anchor' | undefined): HeadgateError {
    const isMonth = this.#length.months === 1
    const expected = `${isMonth ? 'a day from 1 to 31, ' : ''}a date or a moment (a number in milliseconds, not in seconds)`
    const inSeconds = typeof anchor === 'number' && isMoment(anchor * 1000) && !isMoment(anchor)
    const example = `anchor: ${inSeconds ? `${anchor} * 1000` : isMonth ? '15' : "'2026-02-15'"}`
    if (option === undefined) return wrong('anchor', expected, anchor, example)
    return invalidOption(option, expected, anchor, `Write calendar: { ${example} }.`, 'HEADGATE_CALENDAR')
  }

  #checkCombination(): void {
    const { every, anchor, weekStart } = this
    const { months, days } = this.#length
    if (days === 1 && anchor !== undefined)
      throw wrong('anchor', 'left out for days', anchor, "every: 'month', anchor: 15")
    if (weekStart !== undefined && (days !== 7 || anchor !== undefined)) {
      const reason = days === 7 ? 'weeks begin with the day of the anchor' : 'only weeks have it'
      throw wrong('weekStart', `left out, because ${reason}`, weekStart, "every: 'week', weekStart: 'sunday'")
    }
    if (weekStart !== undefined && !weekdays.includes(weekStart)) {
      throw wrong('weekStart', 'the name of a day in lower case', weekStart, "weekStart: 'sunday'")
    }
    if (months > 0 && 12 % months !== 0 && anchor === undefined) {
      const example = `every: ${shownPeriod(every)}, anchor: '2026-01-01'`
      throw wrong('anchor', `a date, because a year is no multiple of ${months} months`, anchor, example)
    }
  }
}

function isDayOfMonth(anchor: number): boolean {
  return Number.isInteger(anchor) && anchor >= 1 && anchor <= 31
}

function isMoment(anchor: number): boolean {
  return Math.abs(anchor) >= leastMilliseconds
}

/** The character code of `-`. */
const dash = 45

/** The days since 1970-01-01 of a text such as `2026-02-15`. Undefined for another form. */
function dateOf(text: string): Day | undefined {
  if (text.length !== 10 || text.charCodeAt(4) !== dash || text.charCodeAt(7) !== dash) return undefined
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 7)
  const day = digits(text, 8, 10)
  if (year < 1 || month < 1 || month > 12 || day < 1) return undefined
  const first = firstOf((year - 1970) * 12 + month - 1)
  const date = first + day - 1
  return day <= 28 || monthOf(date) === monthOf(first) ? date : undefined
}

/** The number in a part of a text. -1 if a character of this part is not a digit. */
function digits(text: string, from: number, to: number): number {
  let number = 0
  for (let k = from; k < to; k++) {
    const digit = text.charCodeAt(k) - 48
    if (digit < 0 || digit > 9) return -1
    number = number * 10 + digit
  }
  return number
}

/** The moment of a Date, a number, or a text with a date, a time and an offset, such as `2026-02-15T10:00:00Z`. NaN for another form. */
function momentOf(anchor: Anchor): number {
  if (typeof anchor !== 'string') return anchor instanceof Date ? anchor.getTime() : Number(anchor)
  return /^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:?\d{2})$/.test(anchor) ? Date.parse(anchor) : Number.NaN
}

function wrong(option: string, expected: string, got: unknown, example: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_CALENDAR',
    `calendarWindow: ${option} must be ${expected}, got ${shownPeriod(got)}. Write ${example}.`,
  )
}

function shownPeriod(value: unknown): string {
  const isMonths = typeof value === 'object' && value !== null && 'months' in value
  return isMonths ? `{ months: ${shown(value.months)} }` : shown(value)
}
