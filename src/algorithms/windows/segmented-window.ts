/*
 * The segmented window: never more than the limit in any window, with a few counters.
 *
 * The sliding window counter estimates when the old calls came. The sliding log stores the time of each call, which takes more memory.
 * Here the window is divided into k segments with a counter each, and a segment counts in full until it has left the window entirely.
 * So there are never more than `limit` units in ANY span of one window, and used units become free up to one segment late.
 *
 *      leaving   |<------------- W ------------>|
 *     |###|##.|#..|...|..#|###|##.|#..|##.|...|#|        k + 1 counters: k whole segments, and the one that is leaving
 *                                               at
 *
 * A segment is ceil(W / k) long, aligned to the clock. If k does not divide W, a segment leaves less than k microseconds late.
 *
 * State: last (us), index of the segment that contains `last`, then k + 1 counters, the newest first, and the id of the open
 * reservations.
 */
import { HeadgateError, whole } from '../../common/index.ts'
import type { PolicyOptions } from '../../policy/index.ts'
import { Algorithm, type Numbers, type Policy, type Report, type Ticket } from '../algorithm.ts'
import { definePolicy } from '../define-policy.ts'
import { maxSafe, ratioUp } from '../exact-math.ts'
import { type Description, debtWords, type Facts, nextWords, timeText, usedWords } from '../inspected-state.ts'

/**
 * The largest limit: the units of a window with debt (units above the limit), counted refusals and one more call then still sum to less
 * than 2^53.
 */
const most = 2 ** 50

export class SegmentedWindow extends Algorithm {
  readonly kind = 'segmentedWindow'
  readonly parameters: readonly number[]
  readonly slots: number
  declare readonly idSlot: number
  override readonly idCountsRefunds = true
  readonly span: number
  readonly limit: number
  readonly segments: number
  readonly width: number

  constructor(limit: number, window: number, segments: number) {
    super()
    if (limit > most) {
      throw new HeadgateError(
        'HEADGATE_INEXACT',
        `A segmented window of ${limit} cannot be summed exactly. Choose a limit of at most 2^50, or a tokenBucket.`,
      )
    }
    this.limit = limit
    this.span = window
    this.segments = segments
    this.width = Math.ceil(window / segments)
    this.idSlot = 3 + segments
    this.slots = 4 + segments
    this.parameters = [limit, segments]
  }

  wait(s: Numbers, i: number, at: number, cost: number): number {
    if (cost > this.limit) return Infinity
    const age = this.#ageAt(s, i, at)
    let over = this.#usedAt(s, i, age) + cost - this.limit
    if (over <= 0) return 0
    let n = this.segments - age
    while (over > (s[i + 2 + n] as number)) over -= s[i + 2 + n--] as number
    return this.#untilLeft(n, age, at)
  }

  /** How many segments have started after the newest segment that the state has a counter for. */
  #ageAt(s: Numbers, i: number, at: number): number {
    return at < (s[i] as number) ? 0 : Math.floor(at / this.width) - (s[i + 1] as number)
  }

  /**
   * How long until the segment with the counter `n` is entirely before the window, if `age` segments have started after the
   * state's newest segment.
   */
  #untilLeft(n: number, age: number, at: number): number {
    return (Math.floor(at / this.width) - age - n + this.segments + 1) * this.width - at
  }

  #usedAt(s: Numbers, i: number, age: number): number {
    let used = 0
    for (let n = this.segments - age; n >= 0; n--) used += s[i + 2 + n] as number
    return used
  }

  take(s: Numbers, i: number, at: number, cost: number): void {
    if (at < (s[i] as number)) s[i + this.idSlot] = 0 // makes earlier tickets invalid: their units are no longer in the segments that the tickets name
    const age = this.#ageAt(s, i, at)
    if (age > 0) {
      for (let n = this.segments; n >= 0; n--) s[i + 2 + n] = n >= age ? (s[i + 2 + n - age] as number) : 0
    }
    s[i + 2] = (s[i + 2] as number) + cost
    s[i + 1] = Math.floor(at / this.width)
    s[i] = at
  }

  override count(s: Numbers, i: number, at: number, cost: number): void {
    const spare = Math.floor(maxSafe / 2) - this.#usedAt(s, i, this.#ageAt(s, i, at))
    this.take(s, i, at, Math.max(0, Math.min(cost, spare)))
  }

  /** Subtracts refunded units from the newest segment first. */
  override refund(s: Numbers, i: number, at: number, cost: number): void {
    this.take(s, i, at, 0)
    for (let n = 0; n <= this.segments && cost > 0; n++) {
      const back = Math.min(cost, s[i + 2 + n] as number)
      s[i + 2 + n] = (s[i + 2 + n] as number) - back
      cost -= back
    }
  }

  override bookedAt(s: Numbers, i: number): number {
    return s[i + 1] as number
  }

  /** Subtracts unused units from the segment in which the reservation counted them. */
  override settle(s: Numbers, i: number, at: number, units: number, [since]: Ticket): void {
    this.take(s, i, at, 0)
    const n = (s[i + 1] as number) - since
    if (n >= 0 && n <= this.segments) s[i + 2 + n] = Math.max(0, (s[i + 2 + n] as number) - units)
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const age = this.#ageAt(s, i, at)
    const used = this.#usedAt(s, i, age)
    let newest = 0
    while (newest <= this.segments - age && s[i + 2 + newest] === 0) newest++
    out.used = used
    out.remaining = Math.max(0, this.limit - used)
    out.reset = used === 0 ? 0 : this.#untilLeft(newest, age, at)
  }

  override continues(from: Algorithm): boolean {
    return from instanceof SegmentedWindow && from.span === this.span && from.segments === this.segments
  }

  /**
   * Converts counters that were written under another limit. If the sum of the converted counters exceeds the limit, the units of the
   * newest segments are kept, up to the limit.
   */
  override carry(s: Numbers, i: number, at: number, _from: Algorithm, times: number, per: number): void {
    this.take(s, i, at, 0)
    if (times !== per) s[i + this.idSlot] = 0
    let left = this.limit
    for (let n = 0; n <= this.segments; n++) {
      s[i + 2 + n] = Math.min(left, ratioUp(s[i + 2 + n] as number, times, per))
      left -= s[i + 2 + n] as number
    }
  }

  override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    this.take(s, i, at, 0)
    const age = this.#ageAt(t, j, at)
    for (let n = age; n <= this.segments; n++)
      s[i + 2 + n] = Math.max(s[i + 2 + n] as number, t[j + 2 + n - age] as number)
    s[i + this.idSlot] = 0
  }

  override describe(s: readonly number[], facts: Facts): Description {
    const debt = Math.max(0, facts.used - this.limit)
    const within = ` in the last ${timeText(this.span)}${nextWords(facts, '; the next come back')}`
    const numbers = { segment: this.width / 1000, counts: s.slice(2, 3 + this.segments) }
    return { words: usedWords(facts, debtWords(debt) + within), numbers, debt }
  }
}

/** The options of `segmentedWindow`. */
export interface SegmentedWindowOptions extends PolicyOptions {
  /**
   * How many segments the window has, from 1 to 1000. With more segments, units become free sooner, but a key needs more memory.
   * Default 10.
   */
  segments?: number | undefined
}

const segmentsReader = whole(10, { most: 1000, code: 'HEADGATE_SEGMENTS' })

/**
 * At most `limit` units in any span of one window. A key has `segments + 1` counters.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function segmentedWindow(options: SegmentedWindowOptions): Policy {
  return definePolicy('segmentedWindow', options, ['segments'], (settings, window) => {
    return new SegmentedWindow(settings.limit, window, segmentsReader(options.segments, 'segmentedWindow: segments'))
  })
}
