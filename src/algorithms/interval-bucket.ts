/*
 * A bucket that is refilled at whole intervals.
 *
 *     fixed window, aligned to the clock    [kW, (k+1)W) starts with `limit` units
 *     fixed window, from the first request  a window opens with the first call after the last window ended
 *     token bucket, interval refill         `limit` tokens at the end of each W, up to `burst` of them
 *
 * All three are one counter of spent units. Every interval that ends takes `limit` away from it:
 *
 *       spent
 *     burst  _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
 *                  |##|           |
 *               |##|##|           |##|          - limit at each |
 *            |##|##|##|        |##|##|
 *            ^ start           ^ start + W
 *
 * If nothing is spent, the key has its full quota and no interval is open: the next call opens one. Spent units may
 * exceed `burst`. That is debt, from a charge or from a reservation in a later interval, and each interval works off its
 * part. A reservation that has to wait leaves the rest of the intervals before it unused, so that its own is whole.
 *
 * A settled reservation gives back as in bucket.ts, from the same two numbers, interval by interval.
 *
 * State: last (us), spent (units at `last`), start of the interval that holds `last` (us), given (units given back so far).
 * Bound of a fixed window: `limit` in each window, so 2 * limit across a boundary.
 * Bound of the token bucket: `burst` at once, and `limit` more for each interval that ends.
 */
import { HeadgateError } from '../errors.ts'
import type { Algorithm, Numbers, Report, Ticket } from './algorithm.ts'
import { maxSafe, ratioUp } from './exact-math.ts'

export class IntervalBucket implements Algorithm {
  readonly kind = 'intervalBucket'
  readonly parameters: readonly number[]
  readonly slots = 4
  readonly grows = false
  readonly promises = true
  readonly span: number
  readonly limit: number
  readonly window: number
  readonly burst: number
  readonly aligned: boolean
  /** The largest debt that can be worked off in an exact time: 142 years, or 2^53 - 1 units. */
  readonly most: number

  constructor(limit: number, window: number, burst: number, aligned: boolean) {
    this.limit = limit
    this.window = window
    this.burst = burst
    this.aligned = aligned
    this.most = Math.min(maxSafe, limit * Math.floor(2 ** 52 / window))
    this.span = Math.ceil(burst / limit) * window
    this.parameters = [limit, window, burst, aligned ? 1 : 0]
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
    const short = this.#spentAt(s, i, start) - (this.burst - cost)
    if (short <= 0) return 0
    return cost > this.burst ? Infinity : start + Math.ceil(short / this.limit) * this.window - at
  }

  /** The start of the interval that holds `at`, if the intervals of the state go on. */
  #startAt(s: Numbers, i: number, at: number): number {
    const last = s[i] as number
    const start = s[i + 2] as number
    if (at < last) return this.aligned ? at - (at % this.window) : start - (last - at)
    const elapsed = at - start
    return elapsed < this.window ? start : start + Math.floor(elapsed / this.window) * this.window
  }

  /** The units spent in the interval that starts at `start`. A product beyond 2^53 still exceeds anything spent. */
  #spentAt(s: Numbers, i: number, start: number): number {
    const spent = s[i + 1] as number
    const elapsed = start - (s[i + 2] as number)
    return elapsed <= 0 ? spent : Math.max(0, spent - (elapsed / this.window) * this.limit)
  }

  fits(s: Numbers, i: number, at: number, cost: number, delay: number): boolean {
    return this.#spentAfter(this.#spentAt(s, i, this.#startAt(s, i, at)), cost, delay) <= this.most
  }

  /** The units spent once `cost` is booked. The intervals that it waits for go by unused, so that its own is whole. */
  #spentAfter(spent: number, cost: number, delay: number): number {
    const refills = delay > 0 ? Math.ceil((spent + cost - this.burst) / this.limit) : 0
    return Math.max(spent, refills * this.limit) + cost
  }

  take(s: Numbers, i: number, at: number, cost: number, delay: number): void {
    const start = this.#startAt(s, i, at)
    const spent = this.#spentAt(s, i, start)
    s[i + 1] = this.#spentAfter(spent, cost, delay)
    s[i + 2] = spent > 0 ? start : this.#opensAt(at)
    s[i] = at
  }

  #opensAt(at: number): number {
    return this.aligned ? at - (at % this.window) : at
  }

  /** Fills up to `burst` at most: a refused call does not outlast its interval. */
  count(s: Numbers, i: number, at: number, cost: number): void {
    const start = this.#startAt(s, i, at)
    const spent = this.#spentAt(s, i, start)
    s[i + 1] = Math.max(spent, cost > this.burst ? this.burst : Math.min(this.burst, spent + cost))
    s[i + 2] = spent > 0 ? start : this.#opensAt(at)
    s[i] = at
  }

  refund(s: Numbers, i: number, at: number, cost: number, ticket: Ticket | undefined): void {
    const start = this.#startAt(s, i, at)
    const spent = this.#spentAt(s, i, start)
    const top = ticket ? this.#topAt(s, i, start, ticket) : spent
    const promised = ticket ? Math.ceil(Math.max(0, spent - this.burst) / this.limit) * this.limit : 0
    const back = Math.min(spent, cost, Math.max(0, top - promised))
    if (!ticket || top < spent) s[i + 3] = Math.min(maxSafe, (s[i + 3] as number) + back)
    s[i + 2] = start
    s[i + 1] = spent - back
    s[i] = at
  }

  /** The count that a reservation reaches, or a lower one: see bucket.ts. */
  #topAt(s: Numbers, i: number, start: number, [since, mark, given]: Ticket): number {
    const givenSince = (s[i + 3] as number) - given
    if (givenSince < 0 || s[i + 3] === maxSafe) return 0
    // Only a clock that went far back leaves a part of an interval. Rounding up gives too little back, never too much.
    return mark - givenSince - Math.ceil(Math.max(0, start - since) / this.window) * this.limit
  }

  ticket(s: Numbers, i: number): Ticket {
    return [s[i + 2] as number, s[i + 1] as number, s[i + 3] as number]
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const start = this.#startAt(s, i, at)
    const spent = this.#spentAt(s, i, start)
    out.remaining = Math.max(0, this.burst - spent)
    out.reset = spent === 0 ? 0 : start + Math.ceil(spent / this.limit) * this.window - at
  }

  /** Debt stays the same. Larger refills do not bring booked units forward. */
  adopt(s: Numbers, i: number, at: number, from: Algorithm): boolean {
    if (!this.#sameWindows(from)) return false
    const start = from.#startAt(s, i, at)
    const spent = from.#spentAt(s, i, start)
    const booked = Math.ceil(Math.max(0, spent - from.burst) / from.limit)
    s[i + 1] = Math.min(this.most, spent + booked * Math.max(0, this.limit - from.limit))
    s[i + 2] = start
    s[i] = at
    return true
  }

  #sameWindows(from: Algorithm): from is IntervalBucket {
    return from instanceof IntervalBucket && from.window === this.window && from.aligned === this.aligned
  }

  /** Earlier reservations give nothing back any more: `given` grows beyond all their marks. */
  carry(s: Numbers, i: number, at: number, from: Algorithm, times: number, per: number): boolean {
    if (!this.#sameWindows(from)) return false
    const start = from.#startAt(s, i, at)
    s[i + 1] = Math.min(this.burst, ratioUp(from.#spentAt(s, i, start), times, per))
    s[i + 2] = start
    s[i + 3] = Math.min(maxSafe, (s[i + 3] as number) + from.burst)
    s[i] = at
    return true
  }

  /** The later interval counts: its refills come later. */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const start = this.#startAt(s, i, at)
    const other = this.#startAt(t, j, at)
    const spent = this.#spentAt(s, i, start)
    const otherSpent = this.#spentAt(t, j, other)
    s[i + 1] = Math.max(spent, otherSpent)
    s[i + 2] = Math.max(spent > 0 ? start : 0, otherSpent > 0 ? other : 0)
    s[i + 3] = Math.max(s[i + 3] as number, t[j + 3] as number)
    s[i] = at
  }

  /** The merged interval may be another key's, and end before an interval that this key opens now. */
  reopen(s: Numbers, i: number, at: number): void {
    this.take(s, i, at, 0, 0)
    if (!this.aligned) s[i + 2] = at
  }
}
