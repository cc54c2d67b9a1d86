/*
 * A bucket that is refilled at whole intervals.
 *
 *     fixed window, aligned to the clock    [kW, (k+1)W) starts with `limit` units
 *     fixed window, from the first request  a window opens with the first call after the last window ended
 *     token bucket, interval refill         `limit` tokens at the end of each W, up to `burst` of them
 *
 * All three limiters use one counter of spent units. At the end of each interval, `limit` units are subtracted from the counter:
 *
 *       spent
 *     burst  _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
 *                  |##|           |
 *               |##|##|           |##|          - limit at each |
 *            |##|##|##|        |##|##|
 *            ^ start           ^ start + W
 *
 * A key that has spent nothing has its full quota and no open interval: the next call opens an interval. A charge may raise the spent
 * units above `burst`. The units above `burst` are debt, and each interval subtracts `limit` from the debt.
 *
 * A settled reservation gives unused units back as in bookings.ts, interval by interval. Within an interval, no unit becomes free with
 * time, so a call that settles in its interval gives all unused units back. Booked units count in the promised interval.
 *
 * State: last (us), spent (units at `last`), start of the interval that contains `last` (us), id of the open reservations (0: none is
 * open, -1: only bookings are left). A state with open reservations also has the steps and bookings.
 * Bound of a fixed window: `limit` in each window, so 2 * limit across a boundary.
 * Bound of the token bucket: `burst` units at any moment, and `limit` more for each interval that ends.
 */
import { HeadgateError } from '../../common/index.ts'
import type { Algorithm, Numbers, Report } from '../algorithm.ts'
import { maxSafe } from '../exact-math.ts'
import { type Facts, type InspectedNumbers, type Terms, timeText, toMilliseconds } from '../inspected-state.ts'
import { DrainingBucket } from './bucket-base.ts'

export class IntervalBucket extends DrainingBucket {
  readonly kind = 'intervalBucket'
  readonly parameters: readonly number[]
  readonly span: number
  /** The units that become free at the end of each interval. */
  readonly rate: number
  /** The length of an interval, in microseconds. */
  readonly per: number
  /** The most units that a key with its full quota can spend at the same time. */
  readonly capacity: number
  readonly weight = 1
  readonly aligned: boolean
  /** The most spent units for which the wait is still exact: the units that become free in 142 years, at most 2^53 - 1 units. */
  readonly most: number

  constructor(limit: number, window: number, burst: number, aligned: boolean) {
    super(4, 2)
    this.rate = limit || 1 // avoids a division by 0: under a limit of 0 no unit is ever spent
    this.per = window
    this.capacity = burst
    this.aligned = aligned
    this.most = Math.min(maxSafe, this.rate * Math.floor(2 ** 52 / window))
    this.span = Math.ceil(burst / this.rate) * window
    this.parameters = [this.rate, window, burst, aligned ? 1 : 0]
    if (burst > this.most) {
      throw new HeadgateError(
        'HEADGATE_INEXACT',
        `A burst of ${burst} at ${limit} per ${window / 1000} ms takes too long to refill to be counted exactly. ` +
          'Choose a smaller burst or a shorter window.',
      )
    }
  }

  wait(s: Numbers, i: number, at: number, cost: number): number {
    const start = this.#startAt(s, i, at)
    if (s[i + 3] !== 0) return this.#waitBehind(s, i, start, at, cost)
    return this.#shortWait(this.#spentAt(s, i, start), start - at, 0, cost)
  }

  /**
   * The wait for `cost`, if `spent` units are used in an interval.
   * @param toStart microseconds until this interval starts, below 0 after its start
   * @param now the wait if the cost fits into this interval
   */
  #shortWait(spent: number, toStart: number, now: number, cost: number): number {
    const short = spent - (this.capacity - cost)
    if (short <= 0) return now
    return cost > this.capacity ? Infinity : toStart + Math.ceil(short / this.rate) * this.per
  }

  /**
   * How long a call waits, in microseconds: at least until the last interval with booked units, because no call may go before an earlier
   * call.
   */
  #waitBehind(s: Numbers, i: number, start: number, at: number, cost: number): number {
    const behind = this.#behind(s, i, start)
    const spent = this.#spentAt(s, i, Math.max(start, s[i + 2] as number) + behind)
    return this.#shortWait(spent, start + behind - at, behind && start + behind - at, cost)
  }

  /** The time from `start` to the start of the last interval for which units are booked, in microseconds. 0 if no units are booked. */
  #behind(s: Numbers, i: number, start: number): number {
    const base = Math.max(start, s[i + 2] as number)
    return this.bookings.until(s, base) - base
  }

  /** The start of the interval that contains `at`. Intervals follow each other without gaps from the start that the state has. */
  #startAt(s: Numbers, i: number, at: number): number {
    const last = s[i] as number
    const start = s[i + 2] as number
    if (at < last) return this.aligned ? at - (at % this.per) : start - (last - at)
    const elapsed = at - start
    return elapsed < this.per ? start : start + Math.floor(elapsed / this.per) * this.per
  }

  /**
   * The spent units at `start`, including units booked up to `start`. If `start` is before the state's interval, returns the stored number.
   */
  #spentAt(s: Numbers, i: number, start: number): number {
    if (s[i + 3] === 0) return this.#drained(s, i, start)
    const from = s[i + 2] as number
    return this.bookings.levelAt(s, from, s[i + 1] as number, Math.max(start, from))
  }

  /** The spent units at `start`, if nothing is booked. A product beyond 2^53 is inexact, but larger than `spent`, so the result is 0. */
  #drained(s: Numbers, i: number, start: number): number {
    const spent = s[i + 1] as number
    const elapsed = start - (s[i + 2] as number)
    return elapsed <= 0 ? spent : Math.max(0, spent - (elapsed / this.per) * this.rate)
  }

  override fits(s: Numbers, i: number, at: number, cost: number, delay: number): boolean {
    const start = this.#startAt(s, i, at)
    const ahead = s[i + 3] === 0 ? 0 : this.bookings.ahead(s, Math.max(start, s[i + 2] as number))
    const waits = Math.floor(delay / this.per) * this.rate
    return this.#spentAt(s, i, start) + ahead + waits + cost <= this.most
  }

  take(s: Numbers, i: number, at: number, cost: number, delay: number): void {
    if (s[i + 3] === 0 && delay === 0) {
      const start = this.#startAt(s, i, at)
      const spent = this.#drained(s, i, start)
      s[i + 1] = spent + cost
      s[i + 2] = spent > 0 ? start : this.#opensAt(at)
      s[i] = at
    } else this.#takeAmongBookings(s as number[], at, cost, delay)
  }

  #opensAt(at: number): number {
    return this.aligned ? at - (at % this.per) : at
  }

  #takeAmongBookings(s: number[], at: number, cost: number, delay: number): void {
    const spent = this.#advance(s, at)
    if (delay > 0) {
      this.bookings.book(s, s[2] as number, spent, at + delay, cost)
      if (s[3] === 0) s[3] = -1
    } else s[1] = spent + cost
  }

  /**
   * Moves the state to time `at`, and returns the spent units. If `at` is before the state's time, earlier reservations give nothing back.
   */
  #advance(s: number[], at: number): number {
    const [last, before, from] = [s[0] as number, s[1] as number, s[2] as number]
    const start = this.#startAt(s, 0, at)
    const forth = at >= last
    const spent = forth ? this.bookings.advance(s, from, before, start) : before
    if (!forth) this.forgetTickets(s, from - start)
    s[0] = at
    s[1] = spent
    s[2] = start
    if (start <= from) return spent
    this.close(s)
    if (s[3] !== 0)
      this.bookings.arrive(s, start, spent, 1) // after this step, earlier tickets give back at most `spent`
    else if (spent === 0) s[2] = this.#opensAt(at)
    return spent
  }

  /** Adds the cost of a refused call to the spent units, but not above `burst`, so that refused calls cause no debt. */
  override count(s: Numbers, i: number, at: number, cost: number): void {
    this.take(s, i, at, 0, 0)
    const spent = s[i + 1] as number
    s[i + 1] = Math.max(spent, Math.min(this.capacity, spent + cost))
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const start = this.#startAt(s, i, at)
    const spent = this.#spentAt(s, i, start)
    out.used = spent
    if (s[i + 3] === 0) this.#reportSpent(spent, start - at, out)
    else this.#reportBookings(s, i, start, at, out)
  }

  #reportSpent(spent: number, toStart: number, out: Report): void {
    out.remaining = Math.max(0, this.capacity - spent)
    out.reset = spent === 0 ? 0 : toStart + Math.ceil(spent / this.rate) * this.per
  }

  #reportBookings(s: Numbers, i: number, start: number, at: number, out: Report): void {
    const behind = this.#behind(s, i, start)
    out.used += this.bookings.ahead(s, Math.max(start, s[i + 2] as number))
    this.#reportSpent(this.#spentAt(s, i, Math.max(start, s[i + 2] as number) + behind), start + behind - at, out)
    if (behind > 0) out.remaining = 0
  }

  override continues(from: Algorithm): from is IntervalBucket {
    return from instanceof IntervalBucket && from.per === this.per && from.aligned === this.aligned
  }

  /** Merges two states: the larger number of spent units, in the later interval, because the later interval is stricter. */
  override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const start = this.#startAt(s, i, at)
    const other = this.#startAt(t, j, at)
    const spent = this.#foldedAt(s, i, start)
    const otherSpent = this.#foldedAt(t, j, other)
    this.#write(s, i, at, Math.max(spent, otherSpent), Math.max(spent > 0 ? start : 0, otherSpent > 0 ? other : 0))
  }

  /** Starts a new interval at `at`, because a merged state may have the interval of another key, which may end earlier. */
  override reopen(s: Numbers, i: number, at: number): void {
    this.take(s, i, at, 0, 0)
    if (!this.aligned) s[i + 2] = at
  }

  override condense(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const start = this.#startAt(s, i, at)
    const id = this.bookings.in(s) ? 0 : (s[i + 3] as number)
    this.#write(t, j, at, this.#foldedAt(s, i, start), start)
    t[j + 3] = id
  }

  /**
   * The spent units of a state without bookings that can replace this state. After the last booked interval, no call waits less under the
   * new state than under this state.
   */
  #foldedAt(s: Numbers, i: number, start: number): number {
    if (s[i + 3] === 0) return this.#drained(s, i, start)
    const [spent, from] = [s[i + 1] as number, s[i + 2] as number]
    return Math.min(this.most, this.bookings.folded(s, from, spent, Math.max(start, from)))
  }

  #write(s: Numbers, i: number, at: number, spent: number, start: number): void {
    if (Array.isArray(s)) s.length = i + this.slots
    s[i] = at
    s[i + 1] = spent
    s[i + 2] = start
    s[i + 3] = 0
  }

  override get terms(): Terms {
    return { limit: this.rate, window: this.per / 1000, burst: this.capacity }
  }

  protected numbers([, spent = 0, start = 0]: readonly number[]): InspectedNumbers {
    const windowEnd = toMilliseconds(start + this.per)
    return { spent, capacity: this.capacity, windowStart: toMilliseconds(start), windowEnd }
  }

  protected returning(s: readonly number[], { now }: Facts): string {
    const end = timeText((s[2] as number) + this.per - now)
    if (this.capacity === this.rate) return ` in the window that ends in ${end}`
    return `; ${this.rate} come back every ${timeText(this.per)}, the next in ${end}`
  }
}
