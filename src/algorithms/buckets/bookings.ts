/*
 * What a bucket remembers for reservations that may still be settled.
 *
 * A call pours its units into the bucket at its time: `level` rises at once, and falls at a steady rate. If a call is
 * settled for d units less, the whole path after it is redrawn as if it had cost d less from the start. Where the path has
 * touched the bottom since, units of the call have drained already:
 *
 *     level   ____
 *            |    \    __          what is left to give back = min(d, lowest level since the call)
 *            |     \  |  \___
 *            |      \_|      \____
 *          call    lowest         now
 * So it is enough to know, for the time of each call, the lowest level since: a staircase that never falls (steps.ts).
 *
 * A reservation that has to wait is booked ahead: its units pour at the promised time. Bookings are first come, first
 * served: no call goes before the last booking. Each booking has its own entry, so it can be cancelled without a trace. When
 * there are too many, the two bookings that act first become a run: units that pour at `start` and act as soon as they fit,
 * the last of them at `end`. The level after `end` is the same. Only the last booking of a run can be given back. While a
 * state has a run, calls before the run give nothing back.
 * These numbers follow the state in a key's own array: the number of steps; each step (time, lowest); each booking (start, end,
 * ticks). A state without these numbers has no open reservation, or no later call.
 */
import type { Numbers } from '../algorithm.ts'
import { ratioUp } from '../exact-math.ts'
import { addStep, type Drain, drained, endOfSteps, giveBackSince, lastStep, scaleSteps } from './steps.ts'

/** The most bookings of one state. Beyond it, bookings are merged into a run. */
export const maxBookings = 64

export class Bookings {
  readonly #drain: Drain
  /** Where the number of steps is in a state: after its `slots` numbers. */
  readonly #start: number
  /** Where the last call of `#pour` stopped: the time, and the level at that time. */
  #time = 0
  #level = 0

  constructor(drain: Drain, slots: number) {
    this.#drain = drain
    this.#start = slots
  }

  /** True if the state has steps or bookings. Only a state in an array of its own, which starts at 0, has them. */
  in(s: Numbers): s is number[] {
    return s.length > this.#start && Array.isArray(s)
  }

  #firstBooking(s: Numbers): number {
    return this.in(s) ? endOfSteps(s, this.#start) : s.length
  }

  /** The time at which the last booking acts; 0 if none is ahead. */
  until(s: Numbers, at: number): number {
    const end = s.length
    return this.#firstBooking(s) < end && (s[end - 2] as number) > at ? (s[end - 2] as number) : 0
  }

  /** The level at `at`, if the level at `time` was `level`. Includes the units of bookings that act until `at`. */
  levelAt(s: Numbers, time: number, level: number, at: number): number {
    this.#time = time
    this.#level = level
    for (let k = this.#firstBooking(s); k < s.length && (s[k] as number) <= at; k += 3) this.#pour(s, k, at)
    return drained(this.#drain, this.#level, at - this.#time)
  }

  /** Follows the level through the booking at `k`, or up to `at` inside it. Returns the level just before the booking acted. */
  #pour(s: Numbers, k: number, at: number): number {
    const drain = this.#drain
    const [start, end, ticks] = [s[k] as number, s[k + 1] as number, s[k + 2] as number]
    const found = drained(drain, this.#level, start - this.#time)
    this.#level = found + ticks
    this.#time = start
    if (start === end || end > at) return found
    // The last units of a run act at its end, whatever has drained until then.
    this.#level = Math.max(drained(drain, this.#level, end - start), Math.min(ticks, drain.capacity))
    this.#time = end
    return Math.max(0, this.#level - ticks)
  }

  /** The sum of the ticks of all bookings that start after `at`. */
  ahead(s: Numbers, at: number): number {
    let ticks = 0
    for (let k = this.#firstBooking(s); k < s.length; k += 3) if ((s[k] as number) > at) ticks += s[k + 2] as number
    return ticks
  }

  /** Brings the state to `at`. Bookings that have acted become part of the level. Returns the level. */
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

  /** Splits a run at `at`: what fits has acted, and the rest is ahead. */
  #enterRun(s: number[], k: number, found: number, at: number): number {
    const whole = drained(this.#drain, this.#level, at - this.#time)
    const level = Math.min(whole, this.#drain.capacity)
    const start = s[k] as number
    s[k] = at
    s[k + 2] = Math.max(1, whole - level)
    addStep(s, this.#start, start, found)
    return level
  }

  /** Notes that a call came at `time`, when the level was `level`. @param fell 1 if the level has fallen since the last step */
  arrive(s: number[], time: number, level: number, fell: 0 | 1): void {
    addStep(s, this.#start, time, level, fell)
  }

  /** The `since` of a call at `time`: calls that come after a refund of the same time are told apart from those before it. */
  since(s: Numbers, time: number): number {
    return this.in(s) ? Math.max(time, lastStep(s, this.#start)) : time
  }

  /** Books units ahead, at a time that is not before the last booking. @param level at `now` */
  book(s: number[], now: number, level: number, time: number, ticks: number): void {
    if (s.length === this.#start) s.push(0)
    const end = s.length
    if (this.#firstBooking(s) < end && s[end - 3] === time) s[end - 1] = (s[end - 1] as number) + ticks
    else s.push(time, time, ticks)
    if ((s.length - this.#firstBooking(s)) / 3 > maxBookings) this.#mergeBookings(s, now, level)
  }

  /**
   * Merges the two bookings that act first; the level after both is the same. The result is a run if the second acts as soon
   * as it fits. If there is a gap before the second, the first can no longer be cancelled.
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

  /** The level right after the booking at `last` has acted. */
  #levelThrough(s: number[], now: number, level: number, last: number): number {
    this.#time = now
    this.#level = level
    for (let k = this.#firstBooking(s); k <= last; k += 3) this.#pour(s, k, s[k + 1] as number)
    return this.#level
  }

  /** How many of `ticks` the call at `since` can still give back. The caller lowers the level by as many. */
  settle(s: number[], level: number, since: number, ticks: number): number {
    const bookings = this.#firstBooking(s)
    if (bookings < s.length && s[bookings] !== s[bookings + 1]) return 0 // a run relies on what has drained
    return giveBackSince(s, this.#start, since, level, ticks)
  }

  /**
   * Cancels ticks of a booking that is still ahead. In a run, only the last booking can be cancelled. Returns by how much the
   * caller lowers the level: some units of a run are part of the level already.
   * @param whole the ticks of the whole booking
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

  /** Takes the last booking out of a run. The others act as soon as they fit, which gives the new end of the run. */
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

  /** Gives back without a ticket, the newest bookings first. Returns the ticks that the caller still has to give back. */
  refund(s: number[], now: number, level: number, ticks: number): number {
    while (ticks > 0 && this.#firstBooking(s) < s.length) {
      const end = s.length
      const taken = Math.min(ticks, s[end - 1] as number)
      this.cancel(s, now, level, s[end - 2] as number, taken, taken)
      ticks -= taken
    }
    return ticks
  }

  /** Forgets the steps: earlier tickets are void. Bookings keep their distance if the clock went far back. */
  restart(s: number[], ahead: number): void {
    const bookings = s.slice(this.#firstBooking(s))
    s.length = this.#start
    if (bookings.length === 0) return
    s.push(0, ...bookings.map((number, k) => (k % 3 === 2 ? number : number - ahead)))
  }

  /** True if nothing is left to settle: the level is 0 and no booking is ahead. */
  over(s: Numbers, level: number): boolean {
    return level === 0 && this.#firstBooking(s) >= s.length
  }

  /** Multiplies everything by `times / per`: bookings are rounded up, and steps down. */
  scale(s: number[], times: number, per: number): void {
    if (this.in(s)) scaleSteps(s, this.#start, times, per)
    for (let k = this.#firstBooking(s) + 2; k < s.length; k += 3) s[k] = ratioUp(s[k] as number, times, per)
  }

  /** For a new rate: a run now acts as a whole at its end. What drains until then is at most the capacity. */
  endRuns(s: number[]): void {
    for (let k = this.#firstBooking(s); k < s.length; k += 3) {
      if (s[k] !== s[k + 1]) s[k + 2] = Math.min(s[k + 2] as number, this.#drain.capacity)
      s[k] = s[k + 1] as number
    }
  }

  /** The time at which each booking acts, and its ticks. A run counts as one, at its end. */
  list(s: readonly number[]): readonly (readonly [time: number, ticks: number])[] {
    const all: [number, number][] = []
    for (let k = this.#firstBooking(s as number[]); k < s.length; k += 3)
      all.push([s[k + 1] as number, s[k + 2] as number])
    return all
  }

  /** A level at `at`, without bookings, that is at least as strict as the state from the last booking on. */
  folded(s: Numbers, time: number, level: number, at: number): number {
    const until = Math.max(at, this.until(s, at))
    return this.levelAt(s, time, level, until) + ((until - at) / this.#drain.per) * this.#drain.rate
  }
}
