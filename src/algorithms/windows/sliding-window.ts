/*
 * The sliding window counter: two counts per key, and no time at which all units become free together.
 *
 * A fixed window forgets everything at its end, so calls just before and just after its end can take twice the limit. A log of every
 * call is exact, but needs memory for every call. The sliding window counter is a compromise: a count for the present clock window, and
 * a count for the previous clock window. The older count shrinks as if its calls had been spread evenly.
 *
 *        previous            current
 *     |##############|######........|
 *            |<------- W ------>|            estimate = previous * (W - e) / W + current
 *                    |<--- e -->| at         admitted if estimate + cost <= limit
 *
 * The estimate is never rounded. With whole costs, `estimate + cost <= limit` means the same as `previous - floor(previous * e / W) +
 * current + cost <= limit`, and the product is exact (exact-math.ts).
 *
 * State: last (us), start of the clock window that contains `last` (us), current, previous (units), id of the open reservations.
 * Bound: `limit` by the estimate; 2 * limit - 1 in the worst span of one window, when all calls are at its two ends.
 */
import { HeadgateError } from '../../common/index.ts'
import type { PolicyOptions } from '../../policy/index.ts'
import { Algorithm, type Numbers, type Policy, type Report, type Ticket } from '../algorithm.ts'
import { definePolicy } from '../define-policy.ts'
import { maxFactor, mulDiv, ratioDown, ratioUp } from '../exact-math.ts'
import {
  are,
  type Description,
  debtWords,
  type Facts,
  timeText,
  toMilliseconds,
  usedWords,
} from '../inspected-state.ts'

export class SlidingWindow extends Algorithm {
  readonly kind = 'slidingWindow'
  readonly parameters: readonly number[]
  readonly slots = 5
  override readonly idSlot = 4
  override readonly idCountsRefunds = true
  readonly span: number
  readonly limit: number

  constructor(limit: number, window: number) {
    super()
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

  wait(s: Numbers, i: number, at: number, cost: number): number {
    const start = this.#startAt(s, i, at)
    const current = this.#currentAt(s, i, start)
    const previous = this.#previousAt(s, i, start)
    const spare = this.limit - cost - current
    return spare >= previous ? 0 : this.#fadingWait(start, current, previous, spare, at)
  }

  /**
   * The wait until the estimate is low enough for a call. `spare` is how many units of the previous count the estimate may then
   * include. If `spare` is negative, the current count has to shrink too, which begins in the next window.
   */
  #fadingWait(start: number, current: number, previous: number, spare: number, at: number): number {
    if (spare >= previous - mulDiv(previous, at - start, this.span)) return 0
    if (spare >= 0) return start + this.#fadeTime(previous, previous - spare) - at
    if (spare < -current) return Infinity // the cost exceeds the limit
    return start + this.span + this.#fadeTime(current, -spare) - at
  }

  /** How long after the start of a window the estimate includes `units` fewer of the previous window's `count`: ceil(units * W / count). */
  #fadeTime(count: number, units: number): number {
    return this.span - mulDiv(this.span, count - units, count)
  }

  /** The start of the clock window that contains `at`. */
  #startAt(s: Numbers, i: number, at: number): number {
    const start = s[i + 1] as number
    const elapsed = at - start
    return elapsed >= 0 && elapsed < this.span ? start : at - (at % this.span)
  }

  #currentAt(s: Numbers, i: number, start: number): number {
    return start <= (s[i + 1] as number) ? (s[i + 2] as number) : 0
  }

  #previousAt(s: Numbers, i: number, start: number): number {
    const elapsed = start - (s[i + 1] as number)
    if (elapsed <= 0) return s[i + 3] as number
    return elapsed === this.span ? (s[i + 2] as number) : 0
  }

  override fits(s: Numbers, i: number, at: number, cost: number): boolean {
    return this.#currentAt(s, i, this.#startAt(s, i, at)) + cost <= maxFactor
  }

  take(s: Numbers, i: number, at: number, cost: number): void {
    if (at < (s[i] as number)) s[i + 4] = 0 // makes earlier tickets invalid: their units are no longer in the windows that the tickets name
    const start = this.#startAt(s, i, at)
    if (start !== s[i + 1]) {
      const current = this.#currentAt(s, i, start)
      s[i + 3] = this.#previousAt(s, i, start)
      s[i + 2] = current
      s[i + 1] = start
    }
    s[i + 2] = (s[i + 2] as number) + cost
    s[i] = at
  }

  override count(s: Numbers, i: number, at: number, cost: number): void {
    this.take(s, i, at, Math.min(cost, maxFactor - this.#currentAt(s, i, this.#startAt(s, i, at))))
  }

  /** Subtracts refunded units from the current window first, then from the previous window. */
  override refund(s: Numbers, i: number, at: number, cost: number): void {
    this.take(s, i, at, 0)
    const fromCurrent = Math.min(cost, s[i + 2] as number)
    s[i + 2] = (s[i + 2] as number) - fromCurrent
    s[i + 3] = Math.max(0, (s[i + 3] as number) - (cost - fromCurrent))
  }

  override bookedAt(s: Numbers, i: number): number {
    return s[i + 1] as number
  }

  /** Subtracts unused units from the window in which the reservation counted them. */
  override settle(s: Numbers, i: number, at: number, units: number, [since]: Ticket): void {
    this.take(s, i, at, 0)
    const age = ((s[i + 1] as number) - since) / this.span
    if (age === 0) s[i + 2] = Math.max(0, (s[i + 2] as number) - units)
    if (age === 1) s[i + 3] = Math.max(0, (s[i + 3] as number) - units)
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const start = this.#startAt(s, i, at)
    const current = this.#currentAt(s, i, start)
    const previous = this.#previousAt(s, i, start)
    const faded = previous === 0 ? 0 : mulDiv(previous, at - start, this.span)
    const toNextWindow = start + this.span - at
    out.used = current + (previous - faded)
    out.remaining = Math.max(0, this.limit - out.used)
    out.reset = current > 0 ? toNextWindow + this.span : previous > 0 ? toNextWindow : 0
  }

  override continues(from: Algorithm): boolean {
    return from instanceof SlidingWindow && from.span === this.span
  }

  override carry(s: Numbers, i: number, at: number, _from: Algorithm, times: number, per: number): void {
    this.take(s, i, at, 0)
    s[i + 2] = Math.min(maxFactor, ratioUp(s[i + 2] as number, times, per))
    s[i + 3] = Math.min(maxFactor, ratioUp(s[i + 3] as number, times, per))
    if (times !== per) s[i + 4] = 0
    this.#endDebt(s, i, at)
  }

  /**
   * Removes the debt, which is the part of the estimate above the limit. The whole limit stays used, so a call that is refused
   * now because of the debt is still refused.
   */
  #endDebt(s: Numbers, i: number, at: number): void {
    const [start, current, previous] = [s[i + 1] as number, s[i + 2] as number, s[i + 3] as number]
    const left = this.span - (at - start)
    if (current + (previous - mulDiv(previous, at - start, this.span)) <= this.limit) return
    s[i + 2] = Math.min(this.limit, current)
    s[i + 3] = Math.min(previous, ratioDown(this.limit - (s[i + 2] as number), this.span, left))
  }

  override scaledWait(s: Numbers, i: number, at: number, cost: number, capacity: number): number {
    const start = this.#startAt(s, i, at)
    const current = Math.min(maxFactor, ratioUp(this.#currentAt(s, i, start), capacity, this.limit))
    const previous = Math.min(maxFactor, ratioUp(this.#previousAt(s, i, start), capacity, this.limit))
    return this.#fadingWait(start, current, previous, capacity - cost - current, at)
  }

  /** Merges two states: for each of the two clock windows, the larger count. */
  override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    this.take(s, i, at, 0)
    const start = s[i + 1] as number
    s[i + 2] = Math.max(s[i + 2] as number, this.#currentAt(t, j, start))
    s[i + 3] = Math.max(s[i + 3] as number, this.#previousAt(t, j, start))
    s[i + 4] = 0
  }

  override describe(s: readonly number[], facts: Facts): Description {
    const [, start = 0, current = 0, previous = 0] = s
    const { used, now } = facts
    const debt = Math.max(0, used - this.limit)
    const left = used - current
    const before = previous === 0 ? '' : `, and ${left} ${are(left)} left of the ${previous} in the window before`
    const fading = `: ${current} in the window that ends in ${timeText(start + this.span - now)}${before}`
    const [windowStart, windowEnd] = [toMilliseconds(start), toMilliseconds(start + this.span)]
    const words = usedWords(facts, debtWords(debt) + fading)
    return { words, numbers: { windowStart, windowEnd, current, previous }, debt }
  }
}

/**
 * The default algorithm, with two counters per key. The algorithm estimates the used units of the last window, and admits a call if
 * this estimate and the call's cost are at most `limit` together.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function slidingWindow(options: PolicyOptions): Policy {
  return definePolicy('slidingWindow', options, [], (settings, window) => new SlidingWindow(settings.limit, window))
}
