/*
 * The numbers that a bucket stores for reservations that may still be settled (corrected to their actual cost). Levels and costs are
 * counted in ticks, which are whole numbers: one unit is one tick or more.
 *
 * A call raises the level of the bucket by its cost. Then the level falls (the bucket drains) at a steady rate. If a call is
 * settled for d units less, the level becomes what it would be if the call had cost d less from the start. If the level was
 * low at some time since the call, time has already drained some of these d units:
 *
 *     level   ____
 *            |    \    __          what is left to give back = min(d, lowest level since the call)
 *            |     \  |  \___
 *            |      \_|      \____
 *          call    lowest         now
 * So it is enough to know, for the time of each call, the lowest level since that time (level-history.ts).
 *
 * A reservation that has to wait is booked ahead: its units raise the level at the promised time. Bookings are first come,
 * first served: no call is admitted before the last booking. Each booking has an entry, so a cancelled booking can be removed
 * exactly. If there are too many bookings, the two earliest are merged into a run: units that enter the bucket from `start` to
 * `end`, each as soon as it fits. The level after `end` is the same as without a run. Only the last booking of a run can be
 * given back. While a state has a run, calls before the run give nothing back. These numbers come after the other numbers of a
 * state: how many steps; each step (time, lowest level); each booking (start, end, ticks). A state without these numbers has no
 * open reservation, or no call since the last reservation.
 */
import type { Numbers } from '../algorithm.ts'
import { ratioUp } from '../exact-math.ts'
import { addStep, type Drain, drained, endOfSteps, giveBackSince, lastStep, scaleSteps } from './level-history.ts'

/** The most bookings (of units for later times) of one state. Beyond this number, the two earliest bookings are merged into a run. */
export const maxBookings = 64

export class Bookings {
  readonly #drain: Drain
  /** The index after the `slots` numbers of a state. The number at this index is how many steps (see level-history.ts) the state has. */
  readonly #start: number
  /** The time at which the last call of `#pour` stopped. `#level` is the level at that time. */
  #time = 0
  #level = 0

  constructor(drain: Drain, slots: number) {
    this.#drain = drain
    this.#start = slots
  }

  /**
   * True if the state has steps (stored calls: see level-history.ts) or bookings (units for later times). Both are possible only for a
   * state that is stored alone in an array, from index 0.
   */
  in(s: Numbers): s is number[] {
    return s.length > this.#start && Array.isArray(s)
  }

  #firstBooking(s: Numbers): number {
    return this.in(s) ? endOfSteps(s, this.#start) : s.length
  }

  /** The time at which the last booked units raise the level; `at` if no units are booked for a time after `at`. */
  until(s: Numbers, at: number): number {
    const end = s.length
    return this.#firstBooking(s) < end && (s[end - 2] as number) > at ? (s[end - 2] as number) : at
  }

  /** The level at `at`, if the level at `time` was `level`. Includes the units that are booked for a time up to `at`. */
  levelAt(s: Numbers, time: number, level: number, at: number): number {
    this.#time = time
    this.#level = level
    for (let k = this.#firstBooking(s); k < s.length && (s[k] as number) <= at; k += 3) this.#pour(s, k, at)
    return drained(this.#drain, this.#level, at - this.#time)
  }

  /**
   * Moves `#time` and `#level` to the end of the booking at index `k`, or to the start of a run (merged bookings) that ends after `at`.
   * Returns the level just before the booking.
   */
  #pour(s: Numbers, k: number, at: number): number {
    const drain = this.#drain
    const [start, end, ticks] = [s[k] as number, s[k + 1] as number, s[k + 2] as number]
    const found = drained(drain, this.#level, start - this.#time)
    this.#level = found + ticks
    this.#time = start
    if (start === end || end > at) return found
    // The last units of a run (merged bookings) enter the bucket at the end of the run, however far the level has fallen by then.
    this.#level = Math.max(drained(drain, this.#level, end - start), Math.min(ticks, drain.capacity))
    this.#time = end
    return Math.max(0, this.#level - ticks)
  }

  /** The sum of the ticks (parts of units) of all bookings that start after `at`. */
  ahead(s: Numbers, at: number): number {
    let ticks = 0
    for (let k = this.#firstBooking(s); k < s.length; k += 3) if ((s[k] as number) > at) ticks += s[k + 2] as number
    return ticks
  }

  /** Calculates the level at `at`, and removes the bookings (units for later times) that this level includes. Returns the level. */
  advance(s: number[], time: number, level: number, at: number): number {
    this.#time = time
    this.#level = level
    for (let k = this.#firstBooking(s); k < s.length && (s[k] as number) <= at; k = this.#firstBooking(s)) {
      const [start, end, ticks] = [s[k] as number, s[k + 1] as number, s[k + 2] as number]
      const found = this.#pour(s, k, at)
      if (end > at) return this.#enterRun(s, k, found, at)
      s.splice(k, 3)
      addStep(s, this.#start, end, start === end ? found : Math.max(0, this.#level - ticks))
    }
    return drained(this.#drain, this.#level, at - this.#time)
  }

  /** Splits a run (merged bookings) at `at`: the units that fit now become part of the level, and the other units stay booked. */
  #enterRun(s: number[], k: number, found: number, at: number): number {
    const whole = drained(this.#drain, this.#level, at - this.#time)
    const level = Math.min(whole, this.#drain.capacity)
    const start = s[k] as number
    s[k] = at
    s[k + 2] = Math.max(1, whole - level)
    addStep(s, this.#start, start, found)
    return level
  }

  /** Stores that a call came at `time`, when the level was `level`. @param fell 1 if the level has fallen since the last step */
  arrive(s: number[], time: number, level: number, fell: 0 | 1): void {
    addStep(s, this.#start, time, level, fell)
  }

  /**
   * The time in the ticket of a reservation at `time`. A settlement finds the reservation by this time. If a refund came at the same time,
   * the time in the ticket is 1 us later, so that the order of the refund and the call is known.
   */
  since(s: Numbers, time: number): number {
    return this.in(s) ? Math.max(time, lastStep(s, this.#start)) : time
  }

  /** Books units at `time`, which is not before the last booking. @param level the level at `now` */
  book(s: number[], now: number, level: number, time: number, ticks: number): void {
    if (s.length === this.#start) s.push(0)
    const end = s.length
    if (this.#firstBooking(s) < end && s[end - 3] === time) s[end - 1] = (s[end - 1] as number) + ticks
    else s.push(time, time, ticks)
    if ((s.length - this.#firstBooking(s)) / 3 > maxBookings) this.#mergeBookings(s, now, level)
  }

  /**
   * Merges the two earliest bookings. The level after both bookings is the same as before the merge. If the units of the second booking
   * enter the bucket as soon as they fit, the result is a run (a span of time in which units enter). Otherwise, the first booking can no
   * longer be cancelled.
   */
  #mergeBookings(s: number[], now: number, level: number): void {
    const k = this.#firstBooking(s)
    const { rate, per, capacity } = this.#drain
    const [start, ticks, end] = [s[k] as number, (s[k + 2] as number) + (s[k + 5] as number), s[k + 4] as number]
    const over = drained(this.#drain, level, start - now) + ticks - capacity
    if (start + Math.ceil(Math.max(0, over) / rate) * per === end) {
      s.splice(k, 6, start, end, ticks)
    } else {
      const exact = this.#levelThrough(s, now, level, k + 3)
      s.splice(k, 6, end, end, exact - drained(this.#drain, level, end - now))
    }
  }

  /** The level right after the units of the booking at index `last` were added. */
  #levelThrough(s: number[], now: number, level: number, last: number): number {
    this.#time = now
    this.#level = level
    for (let k = this.#firstBooking(s); k <= last; k += 3) this.#pour(s, k, s[k + 1] as number)
    return this.#level
  }

  /**
   * How many of its unused `ticks` (parts of units) the call at the time `since` can still give back. The caller of `settle` lowers the
   * level by the result.
   */
  settle(s: number[], level: number, since: number, ticks: number): number {
    const bookings = this.#firstBooking(s)
    if (bookings < s.length && s[bookings] !== s[bookings + 1]) return 0 // the length of a run depends on the level before the run
    return giveBackSince(s, this.#start, since, level, ticks)
  }

  /**
   * Cancels `ticks` of the future booking that ends at `time`. In a run (merged bookings), only the last booking can be cancelled. Returns
   * by how many ticks the caller has to lower the level, because the level may already include some ticks of a run.
   * @param whole all ticks of the booking
   */
  cancel(s: number[], now: number, level: number, time: number, whole: number, ticks: number): number {
    let k = this.#firstBooking(s)
    while (k < s.length && (s[k + 1] as number) < time) k += 3
    if (k >= s.length || s[k + 1] !== time) return 0
    if (s[k] !== time) {
      if (k + 3 !== s.length) return 0
      const back = Math.min(level, Math.max(0, whole - (s[k + 2] as number)))
      this.#popRun(s, now, level, k, whole)
      if (whole > ticks) this.book(s, now, level - back, time, whole - ticks)
      return back
    }
    s[k + 2] = (s[k + 2] as number) - ticks
    if ((s[k + 2] as number) <= 0) s.splice(k, 3)
    return 0
  }

  /** Removes the last booking from a run (merged bookings). The new end of the run is the time at which all other units of the run fit. */
  #popRun(s: number[], now: number, level: number, k: number, ticks: number): void {
    const { rate, per, capacity } = this.#drain
    const start = s[k] as number
    const left = (s[k + 2] as number) - ticks
    if (left <= 0) {
      s.splice(k, 3)
      return
    }
    const found = drained(this.#drain, level, start - now)
    s[k + 1] = start + Math.ceil(Math.max(0, found + left - capacity) / rate) * per
    s[k + 2] = left
  }

  /**
   * Refunds `ticks` (parts of units): cancels bookings for later times, the newest first. Returns the ticks that are left, which the caller
   * subtracts from the level.
   */
  refund(s: number[], now: number, level: number, ticks: number): number {
    while (ticks > 0 && this.#firstBooking(s) < s.length) {
      const end = s.length
      const taken = Math.min(ticks, s[end - 1] as number)
      this.cancel(s, now, level, s[end - 2] as number, taken, taken)
      ticks -= taken
    }
    return ticks
  }

  /**
   * Called when the clock went back by `ahead` microseconds. Moves the bookings back by `ahead`. Removes the steps, so that earlier
   * reservations give nothing back.
   */
  restart(s: number[], ahead: number): void {
    const bookings = s.slice(this.#firstBooking(s))
    s.length = this.#start
    if (bookings.length === 0) return
    s.push(0, ...bookings.map((number, k) => (k % 3 === 2 ? number : number - ahead)))
  }

  /** True if no reservation can still be settled: the level is 0, and no units are booked for a later time. */
  over(s: Numbers, level: number): boolean {
    return level === 0 && this.#firstBooking(s) >= s.length
  }

  /**
   * Multiplies all ticks by `times / per`. Rounds the ticks of bookings up, and the levels of steps down, so that no booking becomes
   * too small, and no settlement gives back too many units.
   */
  scale(s: number[], times: number, per: number): void {
    if (this.in(s)) scaleSteps(s, this.#start, times, per)
    for (let k = this.#firstBooking(s) + 2; k < s.length; k += 3) s[k] = ratioUp(s[k] as number, times, per)
  }

  /**
   * Called at a change of the rate. Makes each run (merged bookings) one booking at the end of the run, with at most as many ticks as the
   * capacity.
   */
  endRuns(s: number[]): void {
    for (let k = this.#firstBooking(s); k < s.length; k += 3) {
      if (s[k] !== s[k + 1]) s[k + 2] = Math.min(s[k + 2] as number, this.#drain.capacity)
      s[k] = s[k + 1] as number
    }
  }

  /** The time and the ticks of each booking. A run (merged bookings) is listed as one booking, at the end of the run. */
  list(s: readonly number[]): readonly (readonly [time: number, ticks: number])[] {
    const all: [number, number][] = []
    for (let k = this.#firstBooking(s as number[]); k < s.length; k += 3)
      all.push([s[k + 1] as number, s[k + 2] as number])
    return all
  }

  /**
   * A level at `at` for a state without bookings (units for later times). The level is so high that after the last booking, no call waits
   * less than with the bookings.
   */
  folded(s: Numbers, time: number, level: number, at: number): number {
    const until = this.until(s, at)
    return this.levelAt(s, time, level, until) + ((until - at) / this.#drain.per) * this.#drain.rate
  }
}
