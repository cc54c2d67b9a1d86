/*
 * Quota that comes in whole batches.
 *
 *     fixed window, aligned to the clock    [kW, (k+1)W) starts with `limit` units
 *     fixed window, from the first request  a window opens with the first call after the last one ended
 *     token bucket, interval refill         `limit` tokens at the end of each W, up to `burst` of them
 *
 * All three are one counter of what is spent, from which every interval that ends takes `limit` away:
 *
 *       spent
 *     burst  _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
 *                  |##|           |
 *               |##|##|           |##|          - limit at each |
 *            |##|##|##|        |##|##|
 *            ^ start           ^ start + W
 *
 * When nothing is spent the key is like new and no interval is open: the next call opens one. Spent units may pass
 * `burst`: that is debt, from a charge or from a reservation in a later interval, and it is worked off batch by batch.
 * A reservation that has to wait leaves the rest of the intervals it waits for unused, so that it finds its own whole.
 *
 * What a settled reservation gives back is judged as in bucket.ts, from the same two numbers, batch by batch.
 *
 * State: last (us), spent (units at `last`), start of the interval that holds `last` (us), given (units given back so far).
 * Bound: of a fixed window `limit` in each window, hence 2 * limit across a boundary; of the bucket `burst` at once, and
 * `limit` more for each interval that ends.
 */
import { HeadgateError } from '../errors.ts'
import type { Algorithm, Numbers, Report, Ticket } from './algorithm.ts'
import { maxSafe, ratioUp } from './exact.ts'

export class IntervalBucket implements Algorithm {
  readonly kind = 'batches'
  readonly parameters: readonly number[]
  readonly slots = 4
  readonly grows = false
  readonly promises = true
  readonly span: number
  readonly limit: number
  readonly window: number
  readonly burst: number
  readonly aligned: boolean
  /** The largest debt that is worked off in a time which stays exact: 142 years, or 2^53 - 1 units. */
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

  /** Where the interval that holds `at` starts, were the state's intervals to go on. */
  #start(s: Numbers, i: number, at: number): number {
    const last = s[i] as number
    const start = s[i + 2] as number
    if (at < last) return this.aligned ? at - (at % this.window) : start - (last - at)
    const elapsed = at - start
    return elapsed < this.window ? start : start + Math.floor(elapsed / this.window) * this.window
  }

  /** What is spent when `start` is the interval's start. A product beyond 2^53 still exceeds anything spent. */
  #spent(s: Numbers, i: number, start: number): number {
    const spent = s[i + 1] as number
    const elapsed = start - (s[i + 2] as number)
    return elapsed <= 0 ? spent : Math.max(0, spent - (elapsed / this.window) * this.limit)
  }

  wait(s: Numbers, i: number, at: number, cost: number): number {
    const start = this.#start(s, i, at)
    const short = this.#spent(s, i, start) - (this.burst - cost)
    if (short <= 0) return 0
    return cost > this.burst ? Infinity : start + Math.ceil(short / this.limit) * this.window - at
  }

  fits(s: Numbers, i: number, at: number, cost: number, delay: number): boolean {
    return this.#booked(this.#spent(s, i, this.#start(s, i, at)), cost, delay) <= this.most
  }

  /** What is spent once `cost` is booked: the intervals it waits for go by unused, so that it finds its own whole. */
  #booked(spent: number, cost: number, delay: number): number {
    const refills = delay > 0 ? Math.ceil((spent + cost - this.burst) / this.limit) : 0
    return Math.max(spent, refills * this.limit) + cost
  }

  take(s: Numbers, i: number, at: number, cost: number, delay: number): void {
    const start = this.#start(s, i, at)
    const spent = this.#spent(s, i, start)
    s[i + 1] = this.#booked(spent, cost, delay)
    s[i + 2] = spent > 0 ? start : this.#opens(at)
    s[i] = at
  }

  #opens(at: number): number {
    return this.aligned ? at - (at % this.window) : at
  }

  /** To the brim at most: a refused call does not outlive its interval. */
  count(s: Numbers, i: number, at: number, cost: number): void {
    const start = this.#start(s, i, at)
    const spent = this.#spent(s, i, start)
    s[i + 1] = Math.max(spent, cost > this.burst ? this.burst : Math.min(this.burst, spent + cost))
    s[i + 2] = spent > 0 ? start : this.#opens(at)
    s[i] = at
  }

  refund(s: Numbers, i: number, at: number, cost: number, ticket: Ticket | undefined): void {
    const start = this.#start(s, i, at)
    const spent = this.#spent(s, i, start)
    const top = ticket ? this.#top(s, i, start, ticket) : spent
    const promised = ticket ? Math.ceil(Math.max(0, spent - this.burst) / this.limit) * this.limit : 0
    const back = Math.min(spent, cost, Math.max(0, top - promised))
    if (!ticket || top < spent) s[i + 3] = Math.min(maxSafe, (s[i + 3] as number) + back)
    s[i + 2] = start
    s[i + 1] = spent - back
    s[i] = at
  }

  #top(s: Numbers, i: number, start: number, [since, mark, given]: Ticket): number {
    const givenSince = (s[i + 3] as number) - given
    if (givenSince < 0 || s[i + 3] === maxSafe) return 0
    // A part of an interval is left only by a clock that went far back since: then rather too little is given back.
    return mark - givenSince - Math.ceil(Math.max(0, start - since) / this.window) * this.limit
  }

  ticket(s: Numbers, i: number): Ticket {
    return [s[i + 2] as number, s[i + 1] as number, s[i + 3] as number]
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const start = this.#start(s, i, at)
    const spent = this.#spent(s, i, start)
    out.remaining = Math.max(0, this.burst - spent)
    out.reset = spent === 0 ? 0 : start + Math.ceil(spent / this.limit) * this.window - at
  }

  #sameWindows(from: Algorithm): from is IntervalBucket {
    return from instanceof IntervalBucket && from.window === this.window && from.aligned === this.aligned
  }

  /** What is owed is the same; larger batches do not bring what is booked ahead any sooner. */
  adopt(s: Numbers, i: number, at: number, from: Algorithm): boolean {
    if (!this.#sameWindows(from)) return false
    const start = from.#start(s, i, at)
    const spent = from.#spent(s, i, start)
    const booked = Math.ceil(Math.max(0, spent - from.burst) / from.limit)
    s[i + 1] = Math.min(this.most, spent + booked * Math.max(0, this.limit - from.limit))
    s[i + 2] = start
    s[i] = at
    return true
  }

  /** A reservation from before gives nothing back any more: what is given now lies above its mark. */
  carry(s: Numbers, i: number, at: number, from: Algorithm, times: number, per: number): boolean {
    if (!this.#sameWindows(from)) return false
    const start = from.#start(s, i, at)
    s[i + 1] = Math.min(this.burst, ratioUp(from.#spent(s, i, start), times, per))
    s[i + 2] = start
    s[i + 3] = Math.min(maxSafe, (s[i + 3] as number) + from.burst)
    s[i] = at
    return true
  }

  /** Of two intervals the later: its batches come later. */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const start = this.#start(s, i, at)
    const other = this.#start(t, j, at)
    const spent = this.#spent(s, i, start)
    const otherSpent = this.#spent(t, j, other)
    s[i + 1] = Math.max(spent, otherSpent)
    s[i + 2] = Math.max(spent > 0 ? start : 0, otherSpent > 0 ? other : 0)
    s[i + 3] = Math.max(s[i + 3] as number, t[j + 3] as number)
    s[i] = at
  }

  /** The interval may be another key's, and end before one that this key opens now. */
  reopen(s: Numbers, i: number, at: number): void {
    this.take(s, i, at, 0, 0)
    if (!this.aligned) s[i + 2] = at
  }
}
