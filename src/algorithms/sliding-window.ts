/*
 * The sliding window counter: two numbers a key, and no boundary to exploit.
 *
 * A fixed window forgets everything at once, so twice the limit passes across a boundary. A log of every call is exact
 * but remembers every call. Between them: keep the counts of this clock window and of the one before, and let the old
 * one fade as if its calls had come evenly.
 *
 *        previous            current
 *     |##############|######........|
 *            |<------- W ------>|            estimate = previous * (W - e) / W + current
 *                    |<--- e -->| at         admitted iff estimate + cost <= limit
 *
 * The estimate is never rounded: with whole costs, `estimate + cost <= limit` says the same as
 * `previous - floor(previous * e / W) + current + cost <= limit`, and the product is taken exactly (exact.ts).
 *
 * State: last (us), start of the clock window that holds `last` (us), current, previous (units).
 * Bound: `limit` by estimate; 2 * limit - 1 in the worst span of one window, when calls crowd at its two ends.
 */
import { HeadgateError } from '../errors.ts'
import type { PolicyOptions } from '../policy.ts'
import { type Algorithm, definePolicy, type Numbers, type Policy, type Report, type Ticket } from './algorithm.ts'
import { maxFactor, mulDiv, ratioUp } from './exact.ts'

export class SlidingWindow implements Algorithm {
  readonly kind = 'slidingWindow'
  readonly parameters: readonly number[]
  readonly slots = 4
  readonly grows = false
  readonly promises = false
  readonly span: number
  readonly limit: number

  constructor(limit: number, window: number) {
    if (limit > maxFactor) {
      throw new HeadgateError(
        'HEADGATE_INEXACT',
        `A sliding window of ${limit} cannot be estimated exactly. Choose a limit of at most 2^45, or a tokenBucket.`,
      )
    }
    this.limit = limit
    this.span = window
    this.parameters = [limit]
  }

  /** The start of the clock window that holds `at`. */
  #start(s: Numbers, i: number, at: number): number {
    const start = s[i + 1] as number
    const elapsed = at - start
    return elapsed >= 0 && elapsed < this.span ? start : at - (at % this.span)
  }

  #current(s: Numbers, i: number, start: number): number {
    return start <= (s[i + 1] as number) ? (s[i + 2] as number) : 0
  }

  #previous(s: Numbers, i: number, start: number): number {
    const windows = start - (s[i + 1] as number)
    if (windows <= 0) return s[i + 3] as number
    return windows === this.span ? (s[i + 2] as number) : 0
  }

  wait(s: Numbers, i: number, at: number, cost: number): number {
    const start = this.#start(s, i, at)
    const current = this.#current(s, i, start)
    const previous = this.#previous(s, i, start)
    const room = this.limit - cost - current
    return room >= previous ? 0 : this.#later(start, current, previous, room, at)
  }

  /** How long until the window before has faded far enough; that this one has to fade, too, means twice as long. */
  #later(start: number, current: number, previous: number, room: number, at: number): number {
    if (room >= previous - mulDiv(previous, at - start, this.span)) return 0
    if (room >= 0) return start + this.#faded(previous, previous - room) - at
    if (room < -current) return Infinity // a cost beyond the limit
    return start + this.span + this.#faded(current, -room) - at
  }

  /** How far into a window `units` of what the window before held have faded: ceil(units * W / held). */
  #faded(held: number, units: number): number {
    return this.span - mulDiv(this.span, held - units, held)
  }

  fits(s: Numbers, i: number, at: number, cost: number): boolean {
    return this.#current(s, i, this.#start(s, i, at)) + cost <= maxFactor
  }

  take(s: Numbers, i: number, at: number, cost: number): void {
    const start = this.#start(s, i, at)
    if (start !== s[i + 1]) {
      const current = this.#current(s, i, start)
      s[i + 3] = this.#previous(s, i, start)
      s[i + 2] = current
      s[i + 1] = start
    }
    s[i + 2] = (s[i + 2] as number) + cost
    s[i] = at
  }

  count(s: Numbers, i: number, at: number, cost: number): void {
    this.take(s, i, at, Math.min(cost, maxFactor - this.#current(s, i, this.#start(s, i, at))))
  }

  /** From this window first, then from the one before; of a reservation only in the window it was made in. */
  refund(s: Numbers, i: number, at: number, cost: number, ticket: Ticket | undefined): void {
    this.take(s, i, at, 0)
    const age = ticket ? ((s[i + 1] as number) - ticket[0]) / this.span : 0
    const fromCurrent = age <= 0 ? Math.min(cost, s[i + 2] as number) : 0
    s[i + 2] = (s[i + 2] as number) - fromCurrent
    if (ticket ? age === 1 : cost > fromCurrent) s[i + 3] = Math.max(0, (s[i + 3] as number) - (cost - fromCurrent))
  }

  ticket(s: Numbers, i: number): Ticket {
    return [s[i + 1] as number, 0, 0]
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const start = this.#start(s, i, at)
    const current = this.#current(s, i, start)
    const previous = this.#previous(s, i, start)
    const faded = previous === 0 ? 0 : mulDiv(previous, at - start, this.span)
    const toWindow = start + this.span - at
    out.remaining = Math.max(0, this.limit - current - (previous - faded))
    out.reset = current > 0 ? toWindow + this.span : previous > 0 ? toWindow : 0
  }

  carry(s: Numbers, i: number, at: number, from: Algorithm, times: number, per: number): boolean {
    if (!(from instanceof SlidingWindow) || from.span !== this.span) return false
    this.take(s, i, at, 0)
    s[i + 2] = Math.min(this.limit, ratioUp(s[i + 2] as number, times, per))
    s[i + 3] = Math.min(this.limit, ratioUp(s[i + 3] as number, times, per))
    return true
  }

  /** Both counts of the same clock window and of the one before. */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    this.take(s, i, at, 0)
    const start = s[i + 1] as number
    s[i + 2] = Math.max(s[i + 2] as number, this.#current(t, j, start))
    s[i + 3] = Math.max(s[i + 3] as number, this.#previous(t, j, start))
  }
}

/**
 * The default: smooth, two counters a key, no burst across a boundary beyond the estimate.
 * @throws HeadgateError on any option that is out of range
 */
export function slidingWindow(options: PolicyOptions): Policy {
  return definePolicy('slidingWindow', options, [], (terms, window) => new SlidingWindow(terms.limit, window))
}
