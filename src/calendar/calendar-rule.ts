import { LRUCache } from 'lru-cache'
import type { Calendar, Windows } from '../algorithms/index.ts'
import { getOrInsert, HeadgateError, invalidOption, shown } from '../common/index.ts'
import type { CallerCalendar } from '../policy/index.ts'
import { type Rule, windowsAt } from './boundaries.ts'
import { type Day, TimeZone } from './time-zone.ts'

/** The length of a window. */
export type Period = 'day' | 'week' | 'month' | 'quarter' | 'year' | { readonly months: number }

export type Anchor = NonNullable<CallerCalendar['anchor']>

/** In the order of `Date.getUTCDay`. */
const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

export type Weekday = (typeof weekdays)[number]

interface Length {
  readonly months: number
  readonly days: number
}

const lengths: Readonly<Record<string, Length>> = {
  day: { months: 0, days: 1 },
  week: { months: 0, days: 7 },
  month: { months: 1, days: 0 },
  quarter: { months: 3, days: 0 },
  year: { months: 12, days: 0 },
}

/** The years 1 to 9999, with a day to spare for time zones. */
const firstMoment = Date.parse('0001-01-02T00:00:00Z')
const lastMoment = Date.parse('9999-12-30T00:00:00Z')

const millisecondsOfDay = 86_400_000
/** A number nearer to zero is no moment in milliseconds: it would be of the years 1966 to 1973, and is probably in seconds. */
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

/** The period of a text such as `month`, or `3` and `months`. Undefined if there is none. */
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

/** What a customer's anchor and time zone mean, and the windows of the last call. */
interface Customer {
  readonly rule: Rule
  windows: Windows
}

type Customers = LRUCache<number | string, Customer>

function newCustomers(): Customers {
  return new LRUCache({ max: 400 })
}

const none: Windows = [0, 0, 0, 0]

/**
 * When the windows of a policy begin. Its public members are constant and part of a plan's text, so that two plans that differ only
 * in their time zone are two plans.
 */
export class CalendarRule implements Calendar {
  readonly every: Period
  readonly anchor: Anchor | 'caller' | undefined
  readonly timeZone: string
  readonly weekStart: Weekday | undefined
  readonly asks: Calendar['asks']
  readonly #length: Length
  /** The rule, if no call has to say anything. */
  readonly #fixed: Rule | undefined
  /** The last customers, by their time zone and then by their anchor. */
  readonly #customers = new LRUCache<string, Customers>({ max: 100 })

  /** @throws HeadgateError `HEADGATE_CALENDAR` */
  constructor({ every, anchor, timeZone = 'UTC', weekStart }: RuleOptions) {
    this.every = every
    this.anchor = anchor instanceof Date ? anchor.toJSON() : anchor
    this.timeZone = timeZone
    this.weekStart = weekStart
    this.asks = Object.freeze((['anchor', 'timeZone'] as const).filter((part) => this[part] === 'caller'))
    this.#length = checkPeriod(every)
    this.#checkCombination()
    const zone = TimeZone.of(timeZone === 'caller' ? 'UTC' : timeZone)
    const rule = this.#ruleOf(anchor === 'caller' ? undefined : anchor, zone)
    this.#fixed = anchor === 'caller' || timeZone === 'caller' ? undefined : rule
    Object.freeze(this)
  }

  windowsAt(now: number, caller: CallerCalendar | undefined): Windows {
    if (this.#fixed !== undefined) return windowsAt(this.#fixed, now)
    const { anchor, timeZone } = caller as Required<CallerCalendar>
    const ofZone = getOrInsert(this.#customers, this.timeZone === 'caller' ? timeZone : this.timeZone, newCustomers)
    const day = this.anchor === 'caller' ? anchor : (this.anchor as Anchor)
    const name = day instanceof Date ? day.getTime() : day
    // A Date may have the name of a number that is no moment.
    let customer = typeof day === 'number' && !isMoment(day) && !isDayOfMonth(day) ? undefined : ofZone.get(name)
    if (customer === undefined) {
      const zone = this.timeZone === 'caller' ? TimeZone.of(timeZone, 'calendar.timeZone') : TimeZone.of(this.timeZone)
      customer = { rule: this.#ruleOf(day, zone, 'calendar.anchor'), windows: none }
      ofZone.set(name, customer)
    }
    const { windows } = customer
    if (now < windows[1] || now >= windows[2]) customer.windows = windowsAt(customer.rule, now)
    return customer.windows
  }

  #ruleOf(anchor: Anchor | undefined, zone: TimeZone, option?: 'calendar.anchor'): Rule {
    const { months, days } = this.#length
    if (anchor !== undefined) {
      const day = this.#dayOf(anchor, zone, option)
      const dayOfMonth = new Date(day * millisecondsOfDay).getUTCDate()
      return { months, days, anchor: day, dayOfMonth, zone }
    }
    const first = days === 7 ? (weekdays.indexOf(this.weekStart ?? 'monday') + 7 - firstWeekday) % 7 : 0
    return { months, days, anchor: first, dayOfMonth: 1, zone }
  }

  /** The date of an anchor, in whole days since 1970-01-01. A day of a month is that day of January 1970. */
  #dayOf(anchor: Anchor, zone: TimeZone, option?: 'calendar.anchor'): Day {
    const isMonth = this.#length.months === 1
    const isNumber = typeof anchor === 'number'
    if (isMonth && isNumber && isDayOfMonth(anchor)) return anchor - 1
    const date = typeof anchor === 'string' ? dateOf(anchor) : undefined
    if (date !== undefined) return date
    const moment = typeof anchor === 'string' ? momentOf(anchor) : Number(anchor)
    const least = isNumber ? leastMilliseconds : millisecondsOfDay
    if (Math.abs(moment) >= least && moment >= firstMoment && moment <= lastMoment) return zone.dateAt(moment)
    const expected = `${isMonth ? 'a day from 1 to 31, ' : ''}a date or a moment (a number in milliseconds, not in seconds)`
    const inSeconds = isNumber && isMoment(anchor * 1000) && !isMoment(anchor)
    const example = `anchor: ${inSeconds ? `${anchor} * 1000` : isMonth ? '15' : "'2026-02-15'"}`
    if (option === undefined) throw wrong('anchor', expected, anchor, example)
    throw invalidOption(option, expected, anchor, `Write calendar: { ${example} }.`, 'HEADGATE_CALENDAR')
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
      const example = `every: ${shown(every)}, anchor: '2026-01-01'`
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

/** The days since 1970-01-01 of a text such as `2026-02-15`. Undefined for another form, NaN is never returned. */
function dateOf(text: string): Day | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text < '0001') return undefined
  const ms = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text ? undefined : ms / millisecondsOfDay
}

/** The moment of a text with a date, a time and an offset, such as `2026-02-15T10:00:00Z`. NaN for another form. */
function momentOf(text: string): number {
  return /^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:?\d{2})$/.test(text) ? Date.parse(text) : Number.NaN
}

function wrong(option: string, expected: string, got: unknown, example: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_CALENDAR',
    `calendarWindow: ${option} must be ${expected}, got ${shown(got)}. Write ${example}.`,
  )
}
