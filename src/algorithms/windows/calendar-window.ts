/*
 * At most `limit` units in each window of a calendar: a day, a month, a billing period.
 *
 * This file has only the arithmetic, and no calendar: each call passes its windows as four times. These are the starts of the previous
 * window, of the present window, of the next window, and of the window after the next. The caller computes the four times by its own
 * clock. The store's clock decides which of the three windows between these times contains the call.
 *
 * The first call of a window stores the start and the end of the window. The window keeps this end, even if the customer's anchor, the
 * time zone or the tz database changes. After the end, the next window begins: at the stored end or at the start that the call passes,
 * whichever is later. So a change of the anchor makes one short window, and never an early refill.
 *
 * A call without windows, such as a late refund, changes only a running window.
 *
 * State: last (us), used units, start and end of the window (us), largest reported threshold (thresholds.ts), id of the open reservations
 * (0: none). A state with reservations that expire also has the numbers of these reservations (expiring-reservations.ts). The
 * reservations become invalid at the end of their window.
 * Bound: `limit` in each window, so 2 * limit across a boundary.
 */
import { Algorithm, type Numbers, type Report, type Ticket, type Windows } from '../algorithm.ts'
import { ratioUp } from '../exact-math.ts'
import { type Description, debtWords, type Facts, timeText, toMilliseconds, usedWords } from '../inspected-state.ts'
import { ExpiringReservations, mostExpiring } from './expiring-reservations.ts'

/** One day in microseconds. */
const day = 86_400_000_000

export class CalendarWindow extends Algorithm {
  readonly kind = 'calendarWindow'
  readonly parameters: readonly number[]
  readonly slots = 6
  override readonly idSlot = 5
  override readonly idCountsRefunds = true
  override readonly toldSlot = 4
  override readonly settles = true
  override readonly bookingNumbers: number = 3 * mostExpiring
  override readonly expiring: ExpiringReservations = new ExpiringReservations(6, 5)
  readonly span: number
  readonly limit: number
  /** The windows that the present call passes; all 0 if the call passes none. Stored in an object, because algorithms are frozen. */
  readonly #call: { windows: Windows } = { windows: [0, 0, 0, 0] }

  /**
   * @param months how many months a window has; 0 for a window of days
   * @param days how many days a window has, a fraction for a window shorter than a day; 0 for a window of months
   */
  constructor(limit: number, months: number, days: number) {
    super()
    this.limit = limit
    this.parameters = [limit, months, days]
    this.span = Math.round((days || longestOf(months)) * day)
  }

  override place(windows: Windows): void {
    this.#call.windows = windows
  }

  /** The start of the window that contains `at`: the stored window while it runs, otherwise the window that the call passes. */
  #startAt(s: Numbers, i: number, at: number): number {
    if (this.#runs(s, i, at)) return s[i + 2] as number
    const [before, present, next] = this.#call.windows
    return at < present ? before : at < next ? present : next
  }

  #endAt(s: Numbers, i: number, at: number): number {
    if (this.#runs(s, i, at)) return s[i + 3] as number
    const [, present, next, last] = this.#call.windows
    const end = at < present ? present : at < next ? next : last
    return at < end ? end : (s[i + 3] as number)
  }

  /**
   * True if the stored window contains `at`. A stored window without used units is ignored, because a store may forget such a window. If
   * the clock went back by `tolerance` or more, the window of the new time applies, and used units stay used.
   */
  #runs(s: Numbers, i: number, at: number): boolean {
    return at < (s[i + 3] as number) && at >= (s[i] as number) && (this.#countedAt(s, i, at) !== 0 || s[i + 4] !== 0)
  }

  #usedAt(s: Numbers, i: number, at: number): number {
    return at < (s[i + 3] as number) ? this.#countedAt(s, i, at) : 0
  }

  /** The used units of the stored window, without the units of expired reservations. */
  #countedAt(s: Numbers, i: number, at: number): number {
    return s[i + 5] === 0 ? (s[i + 1] as number) : this.expiring.usedAt(s, s[i + 1] as number, at)
  }

  #toldAt(s: Numbers, i: number, at: number): number {
    return at < (s[i + 3] as number) ? (s[i + 4] as number) : 0
  }

  wait(s: Numbers, i: number, at: number, cost: number): number {
    if (this.#usedAt(s, i, at) + cost <= this.limit) return 0
    if (cost > this.limit) return Infinity
    return Math.min(this.#endAt(s, i, at), this.expiring.freeAt(s, s[i + 1] as number, this.limit - cost)) - at
  }

  take(s: Numbers, i: number, at: number, cost: number): void {
    const used = this.#usedAt(s, i, at)
    if (!this.#runs(s, i, at) && !this.#open(s, i, at)) return
    s[i] = at
    s[i + 1] = used + cost
    if (s[i + 5] !== 0) this.expiring.drop(s, at)
  }

  /**
   * Stores the window that contains `at`. Tickets of an earlier window become invalid. Returns false if the call passes no windows: the
   * call then counts nothing.
   */
  #open(s: Numbers, i: number, at: number): boolean {
    const start = this.#startAt(s, i, at)
    const end = this.#endAt(s, i, at)
    if (end <= at || this.#call.windows[3] === 0) return false
    if (at >= (s[i] as number)) s[i + 4] = 0
    s[i + 2] = start
    s[i + 3] = end
    this.#forgetTickets(s, i)
    return true
  }

  #forgetTickets(s: Numbers, i: number): void {
    s[i + 5] = 0
    this.expiring.clear(s)
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const used = this.#usedAt(s, i, at)
    out.used = used
    out.remaining = Math.max(0, this.limit - used)
    out.reset = used > 0 || this.#runs(s, i, at) ? this.#endAt(s, i, at) - at : 0
  }

  /** Adds a refused call, up to the limit, so that the call causes no debt. */
  override count(s: Numbers, i: number, at: number, cost: number): void {
    this.take(s, i, at, 0)
    const used = s[i + 1] as number
    s[i + 1] = Math.max(used, Math.min(this.limit, used + cost))
  }

  override refund(s: Numbers, i: number, at: number, cost: number): void {
    this.take(s, i, at, 0)
    s[i + 1] = Math.max(0, (s[i + 1] as number) - cost)
  }

  /** The end of the window, and not its start: after a change of the anchor, the state may have a window with another start. */
  override bookedAt(s: Numbers, i: number): number {
    return s[i + 3] as number
  }

  override settle(s: Numbers, i: number, at: number, units: number): void {
    this.refund(s, i, at, units)
  }

  override lapsed(at: number, [end]: Ticket): boolean {
    return end <= at
  }

  override continues(from: Algorithm): from is CalendarWindow {
    const [, months, days] = this.parameters
    return from instanceof CalendarWindow && from.parameters[1] === months && from.parameters[2] === days
  }

  /** The window keeps its end. Units above the new limit do not count. */
  override carry(s: Numbers, i: number, at: number, _from: Algorithm, times: number, per: number): void {
    this.take(s, i, at, 0)
    s[i + 1] = Math.min(this.limit, ratioUp(s[i + 1] as number, times, per))
    if (times !== per) this.#forgetTickets(s, i)
  }

  override scaledWait(s: Numbers, i: number, at: number, cost: number, capacity: number): number {
    return this.wait(s, i, at, ratioUp(cost, this.limit, capacity))
  }

  /**
   * Merges two states: the larger number of used units, and the later end, which is as strict as both states. A threshold that was
   * reported for one of the states is not reported again.
   */
  override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const used = Math.max(this.#usedAt(s, i, at), this.#usedAt(t, j, at))
    const end = Math.max(s[i + 3] as number, t[j + 3] as number)
    const start = s[i + 3] === end ? (s[i + 2] as number) : (t[j + 2] as number)
    const told = Math.max(this.#toldAt(s, i, at), this.#toldAt(t, j, at))
    s.fill(0, i, i + this.slots)
    this.expiring.clear(s)
    if (used === 0 && told === 0) return
    s[i] = at
    s[i + 1] = used
    s[i + 2] = start
    s[i + 3] = end
    s[i + 4] = told
  }

  /** Replaces a merged window by the window that the call passes, because the merged window may belong to a key with another anchor. */
  override reopen(s: Numbers, i: number, at: number): void {
    if (this.#runs(s, i, at)) {
      s[i + 3] = 0
      const [used, told] = [s[i + 1] as number, s[i + 4] as number]
      this.#open(s, i, at)
      s[i + 1] = used
      s[i + 4] = told
    }
  }

  override describe(s: readonly number[], facts: Facts): Description {
    const [, used = 0, start = 0, end = 0] = s
    const running = facts.at < end
    const rest = running ? ` in the window that ends in ${timeText(end - facts.now)}` : ''
    const debt = running ? Math.max(0, used - this.limit) : 0
    return {
      words: usedWords(facts, `${debtWords(debt)}${rest}`),
      numbers: running ? { used, windowStart: toMilliseconds(start), windowEnd: toMilliseconds(end) } : { used: 0 },
      debt,
      expiring: running ? this.expiring.list(s) : [],
    }
  }
}

/** The number of days in the longest span of `months` months: 31 for one month, 92 for a quarter, 366 for a year. */
function longestOf(months: number): number {
  const daysTo = (month: number) => Date.UTC(1970, month) / 86_400_000
  let longest = 0
  for (let month = 0; month < 48; month++) longest = Math.max(longest, daysTo(month + months) - daysTo(month))
  return longest
}
