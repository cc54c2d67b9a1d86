/*
 * A bucket that drains continuously.
 *
 * The naive token bucket stores a number of tokens with a fraction, and adds `elapsed * limit / window` to the number. Each
 * addition rounds, the errors add up, and a request that is due exactly now is refused. GCRA stores one time instead (TAT, the
 * theoretical arrival time). All three limiters below make the same decisions:
 *
 *     token bucket   starts full, refills,    a call takes tokens,   refused when there are too few
 *     leaky bucket   starts empty, drains,    a call pours water in, refused when it would overflow
 *     GCRA           TAT starts at now,       a call pushes it on,   refused when it would lie too far ahead
 *
 *     capacity  ___________________________________________
 *                        |\      excess: wait until it has drained
 *         level   |\     | \    ______
 *                 | \    |  \  |\
 *                 |  \   |   \ | \       (TAT = last + level / drain)
 *        0  ______|   \__|    \|  \________________________
 *
 * This file divides only to calculate a wait. The level is counted in ticks, which are small parts of a unit. A unit of cost is a
 * whole number of ticks (`window`), and a whole number of ticks (`limit`) drains in a microsecond. Both numbers are divided by
 * their greatest common divisor. A charge or a reservation may raise the level above the capacity. The ticks above the
 * capacity are debt, which drains at the same rate.
 *
 * A settled reservation gives back the unused units that have not drained since its call (bookings.ts). Booked units raise
 * the level at the promised time, and no later call is admitted before that time.
 *
 * State: last (us), level (ticks at `last`), id of the open reservations (0: none is open, -1: only bookings are left). A
 * state with open reservations also has the steps and bookings.
 * Bound: burst + limit * t / window units in any span t, where booked units count at the promised time.
 */
import { HeadgateError } from '../../common/index.ts'
import type { Algorithm, Numbers, Report } from '../algorithm.ts'
import { toleranceOf } from '../effective-time.ts'
import { gcd, maxSafe, ratioUp } from '../exact-math.ts'
import { type Facts, type InspectedNumbers, nextWords, type Terms, timeText } from '../inspected-state.ts'
import { DrainingBucket } from './bucket-base.ts'

const slots = 3

/** The windows in which people usually write rates: a second, a minute, 15 minutes, an hour, a day. In microseconds. */
const usual = [1, 60, 900, 3600, 86_400].map((seconds) => seconds * 1_000_000)

export class Bucket extends DrainingBucket {
  readonly kind = 'bucket'
  readonly parameters: readonly number[]
  readonly span: number
  readonly #window: number
  readonly burst: number
  /** Ticks per unit of cost. */
  readonly weight: number
  /** Ticks that drain per microsecond. */
  readonly rate: number
  readonly per = 1
  readonly capacity: number

  constructor(limit: number, window: number, burst: number) {
    super(slots, 0)
    const drain = limit || 1 // avoids a division by 0: a limit of 0 admits no call
    const divisor = gcd(drain, window)
    this.burst = burst
    this.weight = window / divisor
    this.rate = drain / divisor
    this.capacity = burst * this.weight
    this.parameters = [burst, this.weight, this.rate]
    if (this.capacity > maxSafe) {
      throw new HeadgateError(
        'HEADGATE_INEXACT',
        `A bucket of ${burst} at ${limit} per ${window / 1000} ms cannot be counted in whole numbers below 2^53. ` +
          'Choose a limit that shares a divisor with the window (1000000 for 999983), a shorter window or a smaller burst.',
      )
    }
    this.span = Math.ceil(this.capacity / this.rate)
    this.#window = window
  }

  override get tolerance(): number {
    return toleranceOf(this.span, this.#window)
  }

  wait(s: Numbers, i: number, at: number, cost: number): number {
    if (s[i + 2] !== 0) return this.#waitBehind(s, i, Math.max(at, s[i] as number), cost * this.weight)
    return this.#excessWait(this.#drained(s, i, at), cost * this.weight)
  }

  /**
   * The level at the time `at`, if the state has no bookings. The product `elapsed * rate` is inexact beyond 2^53, but it is
   * then larger than any level, so the result is 0.
   */
  #drained(s: Numbers, i: number, at: number): number {
    const level = s[i + 1] as number
    const elapsed = at - (s[i] as number)
    return elapsed <= 0 ? level : Math.max(0, level - elapsed * this.rate)
  }

  #excessWait(level: number, ticks: number): number {
    const excess = level - (this.capacity - ticks)
    if (excess <= 0) return 0
    return ticks > this.capacity ? Infinity : Math.ceil(excess / this.rate)
  }

  override scaledWait(s: Numbers, i: number, at: number, cost: number, capacity: number): number {
    return this.#waitBehind(s, i, Math.max(at, s[i] as number), ratioUp(cost, this.capacity, capacity))
  }

  /**
   * How long a call of `ticks` waits, in microseconds. The call waits at least until the last booking, because no call may go before a call
   * that was booked earlier.
   */
  #waitBehind(s: Numbers, i: number, now: number, ticks: number): number {
    const from = this.bookings.until(s, now)
    return from - now + this.#excessWait(this.#levelAt(s, i, from), ticks)
  }

  /**
   * The level at the time `at`, including the units that are booked for a time up to `at`. If `at` is before the time of the
   * state (`last`), the result is the stored level.
   */
  #levelAt(s: Numbers, i: number, at: number): number {
    if (s[i + 2] === 0) return this.#drained(s, i, at)
    const last = s[i] as number
    return this.bookings.levelAt(s, last, s[i + 1] as number, Math.max(at, last))
  }

  override fits(s: Numbers, i: number, at: number, cost: number): boolean {
    const ahead = s[i + 2] === 0 ? 0 : this.bookings.ahead(s, Math.max(at, s[i] as number))
    return this.#levelAt(s, i, at) + ahead + cost * this.weight <= maxSafe
  }

  take(s: Numbers, i: number, at: number, cost: number, delay: number): void {
    if (s[i + 2] === 0 && delay === 0) {
      s[i + 1] = this.#drained(s, i, at) + cost * this.weight
      s[i] = at
    } else this.#takeAmongBookings(s as number[], at, cost * this.weight, delay)
  }

  #takeAmongBookings(s: number[], at: number, ticks: number, delay: number): void {
    const fell = at > (s[0] as number) ? 1 : 0
    const level = this.#advance(s, at)
    if (delay > 0) {
      this.bookings.book(s, at, level, at + delay, ticks)
      if (s[2] === 0) s[2] = -1
    } else if (ticks > 0) {
      if (s[2] !== 0) this.bookings.arrive(s, at, level, fell)
      s[1] = level + ticks
    }
  }

  /**
   * Sets the time of the state to `at`, and returns the level at this time. If `at` is before the present time of the state, no earlier
   * reservation can give units back any more.
   */
  #advance(s: number[], at: number): number {
    const last = s[0] as number
    const forth = at >= last
    const level = forth ? this.bookings.advance(s, last, s[1] as number, at) : (s[1] as number)
    if (!forth) this.forgetTickets(s, last - at)
    s[0] = at
    s[1] = level
    if (at > last) this.close(s)
    return level
  }

  /**
   * Adds the cost of a refused call to the level, but not above the capacity. So refused calls, however many, never delay the full
   * quota by more than one refill after the last refused call.
   */
  override count(s: Numbers, i: number, at: number, cost: number): void {
    const level = this.#levelAt(s, i, at)
    const filled = Math.min(this.capacity, level + cost * this.weight)
    const fell = at > (s[i] as number) ? 1 : 0
    this.take(s, i, at, 0, 0)
    if (s[i + 2] !== 0 && filled > level) this.bookings.arrive(s as number[], at, level, fell)
    s[i + 1] = Math.max(level, filled)
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    if (s[i + 2] !== 0) {
      this.#reportBookings(s, i, Math.max(at, s[i] as number), out)
      return
    }
    this.#reportLevel(this.#drained(s, i, at), out)
  }

  #reportLevel(level: number, out: Report): void {
    const unused = this.capacity - level
    const units = Math.floor(unused / this.weight)
    out.remaining = units > 0 ? units : 0
    out.used = this.burst - units
    out.reset = Math.ceil(level / this.rate)
  }

  #reportBookings(s: Numbers, i: number, now: number, out: Report): void {
    const until = this.bookings.until(s, now)
    this.#reportLevel(this.#levelAt(s, i, until), out)
    if (until > now) out.remaining = 0
    out.reset += until - now
    out.used = Math.ceil((this.#levelAt(s, i, now) + this.bookings.ahead(s, now)) / this.weight)
  }

  override continues(from: Algorithm): from is Bucket {
    return from instanceof Bucket
  }

  override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const level = Math.max(this.#foldedAt(s, i, at), this.#foldedAt(t, j, at))
    this.#write(s, i, at, level)
  }

  override condense(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const id = this.bookings.in(s) ? 0 : (s[i + 2] as number)
    this.#write(t, j, at, this.#foldedAt(s, i, at))
    t[j + 2] = id
  }

  /**
   * A level at the time `at` that can replace the level and all bookings of the state. After the time of the last booking, no
   * call waits less under this level than under the state.
   */
  #foldedAt(s: Numbers, i: number, at: number): number {
    if (s[i + 2] === 0) return this.#drained(s, i, at)
    const last = s[i] as number
    return Math.min(maxSafe, this.bookings.folded(s, last, s[i + 1] as number, Math.max(at, last)))
  }

  #write(s: Numbers, i: number, at: number, level: number): void {
    if (Array.isArray(s)) s.length = i + slots
    s[i] = at
    s[i + 1] = level
    s[i + 2] = 0
  }

  /** The rate in words that people use: a limit per window. The window is the shortest of `usual` in which the limit is a whole number. */
  override get terms(): Terms {
    const { weight, rate, burst } = this
    const window = usual.find((each) => (each * rate) % weight === 0 && each * rate <= maxSafe)
    return window === undefined
      ? { limit: rate, window: weight / 1000, burst }
      : { limit: (window * rate) / weight, window: window / 1000, burst }
  }

  protected numbers([, level = 0]: readonly number[]): InspectedNumbers {
    return { level: level / this.weight, capacity: this.burst }
  }

  protected returning(_s: readonly number[], facts: Facts): string {
    return `; one comes back every ${timeText(this.weight / this.rate)}${nextWords(facts, ', the next')}`
  }
}
