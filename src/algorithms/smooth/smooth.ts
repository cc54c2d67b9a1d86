/*
 * The common part of Guava's two rate limiters: the cost of a call decides how long the next call waits, not how long the call itself
 * waits.
 *
 *     time    0         200                    1200  1400
 *     called  A(1) B(5)                   C(1)
 *     goes    A    |--->B   |------------------>C
 *                  free after A        free after B
 *
 * `free` is the time at which the next call may go. A call waits until `free`, and then its price is added to `free`. So a limiter
 * whose `free` has passed admits a call of any cost immediately.
 *
 * A permit is Guava's word for a unit. While no call comes, permits are stored, up to `max`. Stored permits are spent before fresh
 * permits. The price of a permit is the time that it adds to `free`. The two limiters differ in the price of a stored permit: 0
 * (smooth-bursty.ts), or more than a fresh permit (smooth-warming-up.ts).
 *
 * The arithmetic equals Guava 31.1 bit for bit: permits are doubles, times are whole microseconds, and each part of a price is
 * rounded down to whole microseconds separately. Options outside of Guava's documented range are rejected: an infinite rate, a warm-up
 * of 0, and times beyond 2^52 us.
 *
 * State: last (us), free (us), stored (permits), commits (how many calls were counted; 0 for a new key). Then, for refunds, `free` and
 * `stored` before the last call, the units of the last call, and the id of the open reservations.
 */
import { HeadgateError } from '../../common/index.ts'
import { Algorithm, type Numbers, type Report, type Ticket } from '../algorithm.ts'
import { toleranceOf } from '../effective-time.ts'
import { maxSafe } from '../exact-math.ts'
import { type Description, type Facts, type Terms, timeText, toMilliseconds } from '../inspected-state.ts'

/** The most permits of one call, because Guava counts permits in an int. */
const mostPermits = 2 ** 31 - 1
/** 142 years in microseconds. The time of the next free permit (`free`) stays below this number, so that a double holds it exactly. */
const longest = 2 ** 52

export abstract class Smooth extends Algorithm {
  readonly slots = 8
  override readonly idSlot = 7
  override readonly promises = true
  override readonly paysLater = true
  readonly span = 0
  /**
   * If the clock went back by less than this many microseconds, calls wait until the clock has caught up. If the clock went back
   * further, `free` moves back with the clock. In Guava, calls wait however far the clock went back.
   */
  readonly #rollback: number
  /** The price of a fresh permit, in microseconds. */
  readonly stable: number
  /** The most stored permits. */
  readonly max: number
  /** How many microseconds without calls it takes until one permit is stored. */
  readonly coolDown: number
  /** The largest cost that one call may have, in permits. */
  readonly most: number

  /**
   * @param dearest the highest price of a permit, in microseconds
   * @param window the option `per` of the policy, in microseconds
   */
  constructor(stable: number, max: number, coolDown: number, dearest: number, window: number) {
    super()
    this.stable = stable
    this.max = max
    this.coolDown = coolDown
    this.most = Math.min(mostPermits, Math.floor(longest / Math.max(stable, dearest)))
    const refill = Math.ceil(max * coolDown)
    if (stable < 1) {
      throw new HeadgateError(
        'HEADGATE_RATE',
        'A smooth limiter counts whole microseconds, so it gives at most 1,000,000 units a second. Choose a tokenBucket.',
      )
    }
    if (!(this.most >= 1 && max <= maxSafe && refill <= longest)) {
      throw new HeadgateError(
        'HEADGATE_RATE',
        'This rate is too slow, or stores too much, to be counted below 2^52 microseconds. Choose a shorter `per` or store.',
      )
    }
    this.#rollback = toleranceOf(refill, window)
  }

  /** 0, so that callers pass each time of the clock unchanged. `#rollback` does here what the tolerance does in other algorithms. */
  override get tolerance(): number {
    return 0
  }

  /** The stored permits of a new key. */
  protected abstract readonly initial: number

  /** The price in microseconds of `permits` stored permits, if `stored` permits are stored before the call takes them. */
  protected abstract price(stored: number, permits: number): number

  /** How many permits are stored after a change to this rate, if `stored` of at most `max` permits were stored at the old rate. */
  protected abstract rescaled(stored: number, max: number): number

  wait(s: Numbers, i: number, at: number, cost: number): number {
    if (cost > this.most) return Infinity
    return Math.max(0, this.#freeAt(s, i, at) - at)
  }

  /** The time from which the next call is admitted. */
  #freeAt(s: Numbers, i: number, at: number): number {
    return s[i + 3] === 0 ? at : (s[i + 1] as number) - this.#aheadAt(s, i, at)
  }

  /** By how many microseconds `at` is before the time of the state; 0 if that is less than `#rollback`. */
  #aheadAt(s: Numbers, i: number, at: number): number {
    const ahead = (s[i] as number) - at
    return ahead >= this.#rollback ? ahead : 0
  }

  override fits(s: Numbers, i: number, at: number, cost: number): boolean {
    return this.#freeAt(s, i, at) - at + cost * (longest / this.most) <= 2 * longest && cost <= this.most
  }

  take(s: Numbers, i: number, at: number, cost: number): void {
    const ahead = this.#aheadAt(s, i, at)
    if (cost === 0 && ahead === 0 && s[i + 3] !== 0) return // the ticket of the last call stays valid
    const free = this.#freeAt(s, i, at)
    const stored = this.#storedAt(s, i, at, free)
    s[i] = ahead > 0 ? at : Math.max(s[i] as number, at)
    s[i + 3] = (s[i + 3] as number) + 1
    s[i + 4] = Math.max(free, at)
    s[i + 5] = stored
    this.#spend(s, i, cost)
  }

  #storedAt(s: Numbers, i: number, at: number, free: number): number {
    if (s[i + 3] === 0) return this.initial
    const stored = s[i + 2] as number
    return at > free ? Math.min(this.max, stored + (at - free) / this.coolDown) : stored
  }

  /** Calculates `free` and `stored` after the last call, as if that call had the cost `cost`. */
  #spend(s: Numbers, i: number, cost: number): void {
    const stored = s[i + 5] as number
    const spent = Math.min(cost, stored)
    s[i + 1] = (s[i + 4] as number) + this.price(stored, spent) + Math.trunc((cost - spent) * this.stable)
    s[i + 2] = stored - spent
    s[i + 6] = cost
  }

  /** Gives units back only for the last call, because the cost of an earlier call has already delayed later calls. */
  override settle(s: Numbers, i: number, at: number, units: number, [commit]: Ticket): void {
    if (commit === s[i + 3]) this.refund(s, i, at, units)
  }

  /** Changes the state as if the last call had cost `cost` units less. If that cost is then 0, the call before becomes the last call. */
  override refund(s: Numbers, i: number, at: number, cost: number): void {
    if (this.#aheadAt(s, i, at) > 0) return
    const taken = s[i + 6] as number
    if (taken === 0) this.#unspend(s, i, at, cost)
    else this.#spend(s, i, Math.max(0, taken - cost))
    if (cost >= taken) {
      s[i + 6] = 0
      s[i + 3] = Math.max(1, (s[i + 3] as number) - 1)
    }
  }

  /**
   * Refunds a call before the last call. The state as it was before that call is not stored, so the refund is calculated from
   * the present state.
   */
  #unspend(s: Numbers, i: number, at: number, cost: number): void {
    const stored = s[i + 2] as number
    const free = this.#freeAt(s, i, at)
    if (free <= at) return
    const spent = Math.min(cost, this.max - stored) // permits beyond `max` have no price
    const back = stored > 0 ? this.price(stored + spent, spent) : Math.trunc(cost * this.stable)
    if (stored > 0) s[i + 2] = Math.min(this.max, stored + spent)
    s[i + 1] = Math.max(at, free - back)
  }

  override bookedAt(s: Numbers, i: number): number {
    return s[i + 3] as number
  }

  /**
   * `remaining` is `most` if a call may start now, and otherwise 0. `reset` is the time until `max` permits are stored. `used` counts the
   * permits that are missing from `max`, and the permits that could be made in the time until the next call may start.
   */
  report(s: Numbers, i: number, at: number, out: Report): void {
    const free = this.#freeAt(s, i, at)
    out.remaining = free <= at ? this.most : 0
    out.reset = 0
    out.used = 0
    if (s[i + 3] === 0) return
    const missing = this.max - this.#storedAt(s, i, at, free)
    out.used = Math.ceil(Math.max(0, missing) + Math.max(0, free - at) / this.stable)
    out.reset = Math.max(0, free - at) + (missing > 0 ? Math.ceil(missing * this.coolDown) : 0)
  }

  /**
   * Does the same as Guava's setRate. The time without calls until now has stored permits at the old rate. The stored permits are then
   * converted by `rescaled`. The next call may go at the same time as before.
   */
  override adopt(s: Numbers, i: number, at: number, from: Algorithm): boolean {
    if (!(from instanceof Smooth) || from.kind !== this.kind) return false
    if (s[i + 3] === 0) return true
    const free = from.#freeAt(s, i, at)
    const stored = this.rescaled(from.#storedAt(s, i, at, free), from.max)
    this.#restart(s, i, at, Math.max(free, at), stored, (s[i + 3] as number) + 1)
    return true
  }

  override continues(from: Algorithm): boolean {
    return from instanceof Smooth && from.kind === this.kind
  }

  /** Converts a state of another rate, in the same way as `adopt`. */
  override carry(s: Numbers, i: number, at: number, from: Algorithm): void {
    this.adopt(s, i, at, from)
  }

  /**
   * Merges the states of two keys. The result has the later `free`, and of the two numbers of stored permits, the number with which later
   * calls wait longer.
   */
  override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const own = this.#freeAt(s, i, at)
    const other = this.#freeAt(t, j, at)
    const free = Math.max(own, other)
    const stored = [this.#storedAt(s, i, free, own), this.#storedAt(t, j, free, other)]
    const dearer = this.price(this.max, this.max) > this.max * this.stable
    const commits = Math.max(s[i + 3] as number, t[j + 3] as number) + 1
    this.#restart(s, i, at, free, dearer ? Math.max(...stored) : Math.min(...stored), commits)
  }

  /** Writes a state whose earlier calls can give no units back, because permits had another price when these calls took them. */
  #restart(s: Numbers, i: number, at: number, free: number, stored: number, commits: number): void {
    for (const [n, number] of [at, free, stored, commits, free, stored, 0, 0].entries()) s[i + n] = number
  }

  override get terms(): Terms {
    return { limit: 1_000_000 / this.stable, window: 1000, burst: 1 }
  }

  /** Describes a state. For a new key, the number of stored permits is not in the state: it is `initial`. */
  override describe(s: readonly number[], { at, retry, reset }: Facts): Description {
    const free = s[1] as number
    const stored = at > free ? Math.min(this.max, (s[2] as number) + (at - free) / this.coolDown) : (s[2] as number)
    const numbers = { freeAt: toMilliseconds(free), stored, max: this.max }
    if (s[3] === 0) return { words: 'Nothing is used', numbers }
    const paid = retry > 0 ? 'The last call is not paid for' : 'The next call goes at once'
    const permits = `${Number(stored.toFixed(2))} of ${Number(this.max.toFixed(2))} permits are stored`
    return { words: `${paid}; ${permits}${reset > 0 ? `, and the store is full in ${timeText(reset)}` : ''}`, numbers }
  }
}
