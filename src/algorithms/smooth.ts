/*
 * What Guava's two rate limiters have in common: who asks now waits for those before, and its own cost falls on the next.
 *
 *     time   0         200                    1200  1400
 *     ask    A(1) B(5)                   C(1)
 *     go     A    |--->B   |------------------>C
 *                 free after A        free after B
 *
 * One number says when the next call may go: `free`. A call waits until then and pushes it on by its own price. So an
 * idle limiter admits any cost at once, and no call is ever too large.
 *
 * While nobody calls, permits are stored, up to `max`; they are spent before fresh ones. What a stored permit costs is
 * where the two differ: nothing (smooth-bursty.ts), or more than a fresh one (smooth-warming-up.ts).
 *
 * The arithmetic is that of Guava 31.1, bit for bit: permits are doubles, times whole microseconds, and each part of a
 * price is cut to whole microseconds by itself. What Guava does beyond its documented range is refused instead: an
 * infinite rate, a warm-up of 0, and times past 2^52 us.
 *
 * State: last (us), free (us), stored (permits), commits (0 is a new key); then, for giving back, what the last call
 * found (free, stored) and its cost.
 */
import { HeadgateError } from '../errors.ts'
import type { Algorithm, Numbers, Report, Ticket } from './algorithm.ts'
import { maxSafe } from './exact.ts'

/** The most permits of one call: Guava counts them in an int. */
const mostPermits = 2 ** 31 - 1
/** 142 years in microseconds: what is owed stays below, so that times stay exact. */
const longest = 2 ** 52
/** How far the clock may go back and be waited for, in microseconds, unless a refill takes longer. Guava waits for any. */
const patience = 60_000_000

export abstract class Smooth implements Algorithm {
  abstract readonly kind: string
  abstract readonly parameters: readonly number[]
  readonly slots = 7
  readonly grows = false
  readonly promises = true
  /** `free` stands still by itself when the clock goes back: the frame need not hold the time for it. */
  readonly span = 0
  readonly #patience: number
  /** Microseconds that a fresh permit costs. */
  readonly stable: number
  /** The most permits stored. */
  readonly max: number
  /** Microseconds of idleness that store a permit. */
  readonly coolDown: number
  /** The largest cost of one call. */
  readonly most: number

  /** @param dearest what a permit costs at most, in microseconds */
  constructor(stable: number, max: number, coolDown: number, dearest: number) {
    this.stable = stable
    this.max = max
    this.coolDown = coolDown
    this.most = Math.min(mostPermits, Math.floor(longest / Math.max(stable, dearest)))
    const refill = Math.ceil(max * coolDown)
    if (!(this.most >= 1 && max <= maxSafe && refill <= longest)) {
      throw new HeadgateError(
        'HEADGATE_RATE',
        'This rate is too slow, or stores too much, to be counted below 2^52 microseconds. Choose a shorter `per` or store.',
      )
    }
    this.#patience = Math.max(patience, refill)
  }

  /** What a key holds that has never been used. */
  protected abstract readonly initial: number

  /** Microseconds that `permits` out of `stored` ones cost. */
  protected abstract price(stored: number, permits: number): number

  /** What is stored here of what another rate had stored. */
  protected abstract rescaled(stored: number, max: number): number

  /** How far the state's times lie ahead because the clock went far back. */
  #ahead(s: Numbers, i: number, at: number): number {
    const ahead = (s[i] as number) - at
    return ahead > this.#patience ? ahead : 0
  }

  /** When the next call may go. */
  #free(s: Numbers, i: number, at: number): number {
    return s[i + 3] === 0 ? at : (s[i + 1] as number) - this.#ahead(s, i, at)
  }

  #stored(s: Numbers, i: number, at: number, free: number): number {
    if (s[i + 3] === 0) return this.initial
    const stored = s[i + 2] as number
    return at > free ? Math.min(this.max, stored + (at - free) / this.coolDown) : stored
  }

  wait(s: Numbers, i: number, at: number, cost: number): number {
    if (cost > this.most) return Infinity
    return Math.max(0, this.#free(s, i, at) - at)
  }

  fits(s: Numbers, i: number, at: number, cost: number): boolean {
    return this.#free(s, i, at) - at + cost * (longest / this.most) <= 2 * longest && cost <= this.most
  }

  take(s: Numbers, i: number, at: number, cost: number): void {
    const ahead = this.#ahead(s, i, at)
    if (cost === 0 && ahead === 0 && s[i + 3] !== 0) return // the last call stays the last
    const free = this.#free(s, i, at)
    const stored = this.#stored(s, i, at, free)
    s[i] = ahead > 0 ? at : Math.max(s[i] as number, at)
    s[i + 3] = (s[i + 3] as number) + 1
    s[i + 4] = Math.max(free, at)
    s[i + 5] = stored
    this.#book(s, i, cost)
  }

  /** Takes `cost` from what the last call found. */
  #book(s: Numbers, i: number, cost: number): void {
    const stored = s[i + 5] as number
    const spent = Math.min(cost, stored)
    s[i + 1] = (s[i + 4] as number) + this.price(stored, spent) + Math.trunc((cost - spent) * this.stable)
    s[i + 2] = stored - spent
    s[i + 6] = cost
  }

  count(s: Numbers, i: number, at: number, cost: number): void {
    if (this.fits(s, i, at, cost)) this.take(s, i, at, cost)
  }

  /**
   * Only the last call can give back: what came after it was promised its time by what it cost. Then the state is as if
   * it had asked for that much less, and the call before it is the last.
   */
  refund(s: Numbers, i: number, at: number, cost: number, ticket: Ticket | undefined): void {
    if ((ticket && ticket[0] !== s[i + 3]) || this.#ahead(s, i, at) > 0) return
    const taken = s[i + 6] as number
    if (taken === 0) this.#unbook(s, i, at, cost)
    else this.#book(s, i, Math.max(0, taken - cost))
    if (cost >= taken) {
      s[i + 6] = 0
      s[i + 3] = Math.max(1, (s[i + 3] as number) - 1)
    }
  }

  /** The call before the one that gave everything back: what it found is not known any more and is reckoned back. */
  #unbook(s: Numbers, i: number, at: number, cost: number): void {
    const stored = s[i + 2] as number
    const free = this.#free(s, i, at)
    if (free <= at) return
    const spent = Math.min(cost, this.max - stored) // there is no price beyond the store's brim
    const back = stored > 0 ? this.price(stored + spent, spent) : Math.trunc(cost * this.stable)
    if (stored > 0) s[i + 2] = Math.min(this.max, stored + spent)
    s[i + 1] = Math.max(at, free - back)
  }

  ticket(s: Numbers, i: number): Ticket {
    return [s[i + 3] as number, 0, 0]
  }

  /** `reset` is when the store is full again. A key never seen may hold less: forgetting one errs to the strict side. */
  report(s: Numbers, i: number, at: number, out: Report): void {
    const free = this.#free(s, i, at)
    out.remaining = free <= at ? this.most : 0
    out.reset = 0
    if (s[i + 3] === 0) return
    const missing = this.max - this.#stored(s, i, at, free)
    out.reset = Math.max(0, free - at) + (missing > 0 ? Math.ceil(missing * this.coolDown) : 0)
  }

  /** As Guava's setRate: idle time counts at the old rate, the store is scaled, and a wait that was promised is kept. */
  adopt(s: Numbers, i: number, at: number, from: Algorithm): void {
    if (!(from instanceof Smooth) || s[i + 3] === 0) return
    const free = from.#free(s, i, at)
    s[i + 2] = this.rescaled(from.#stored(s, i, at, free), from.max)
    s[i + 1] = Math.max(free, at)
    s[i] = at
    // What calls were charged at the old rate cannot be given back at the new one.
    s[i + 3] = (s[i + 3] as number) + 1
    s[i + 4] = s[i + 1] as number
    s[i + 5] = s[i + 2] as number
    s[i + 6] = 0
  }

  /** Stored permits are scaled, as by `adopt`, whatever the rule is for units. */
  carry(s: Numbers, i: number, at: number, from: Algorithm): boolean {
    if (from.kind !== this.kind) return false
    this.adopt(s, i, at, from)
    return true
  }

  /** The later time, and of what is stored by then what comes dearer. Nothing can be given back. */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const from = this.#free(s, i, at)
    const other = this.#free(t, j, at)
    const free = Math.max(from, other)
    const stored = [this.#stored(s, i, free, from), this.#stored(t, j, free, other)]
    const dearer = this.price(this.max, this.max) > this.max * this.stable
    s[i + 2] = dearer ? Math.max(...stored) : Math.min(...stored)
    s[i + 3] = Math.max(s[i + 3] as number, t[j + 3] as number) + 1
    s[i + 1] = free
    s[i] = at
    s[i + 4] = free
    s[i + 5] = s[i + 2] as number
    s[i + 6] = 0
  }
}
