/*
 * A bucket that drains without a pause.
 *
 * The naive token bucket keeps a fraction of a token and adds `elapsed * limit / window` to it. Each step rounds, the
 * roundings pile up, and a request that is due exactly now is refused. GCRA keeps one time instead (the theoretical
 * arrival time) and does the same division the other way round. Both are one limiter:
 *
 *     token bucket   starts full, refills,    a call takes tokens,   refused when they do not suffice
 *     leaky bucket   starts empty, drains,    a call pours water in, refused when it would run over
 *     GCRA           TAT starts at now,       a call pushes it on,   refused when it would lie too far ahead
 *
 *     capacity  ___________________________________________
 *                        |\      excess: wait until it has drained
 *         level   |\     | \    ______
 *                 | \    |  \  |\
 *                 |  \   |   \ | \       (TAT = last + level / drain)
 *        0  ______|   \__|    \|  \________________________
 *
 * Here nothing is divided until somebody asks for a wait. The level is kept in ticks so small that a unit of cost and
 * a microsecond are both whole numbers of them: a unit weighs `window` ticks, a microsecond drains `limit` ticks,
 * both divided by their greatest common divisor. The level may lie above the capacity: that is debt, from a charge or
 * from a reservation, and it drains like the rest.
 *
 * What was poured in last lies on top. So a reservation's ticket is the level it rose to, and what has drained of it can
 * be read off later: first goes what lay below. Two things spoil that reading. Others gave back what lay below: hence
 * the state counts what was given back. And while calls are booked ahead their times are promised: what will have
 * drained when the last of them acts cannot be used by anybody any more, and so is not given back either.
 *
 * State: last (us), level (ticks at `last`), given (units given back so far, rounded up).
 * Bound: burst + limit * t / window units in any span t, booked ones at their promised time.
 */
import { HeadgateError } from '../errors.ts'
import type { Algorithm, Numbers, Report, Ticket } from './algorithm.ts'
import { gcd, maxSafe, ratioUp } from './exact.ts'

export class Bucket implements Algorithm {
  readonly kind = 'bucket'
  readonly parameters: readonly number[]
  readonly slots = 3
  readonly grows = false
  readonly promises = true
  readonly span: number
  readonly burst: number
  /** Ticks that one unit weighs. */
  readonly weight: number
  /** Ticks that drain in one microsecond. */
  readonly drain: number
  readonly capacity: number

  constructor(limit: number, window: number, burst: number) {
    const divisor = gcd(limit, window)
    this.burst = burst
    this.weight = window / divisor
    this.drain = limit / divisor
    this.capacity = burst * this.weight
    this.parameters = [burst, this.weight, this.drain]
    if (this.capacity > maxSafe) {
      throw new HeadgateError(
        'HEADGATE_INEXACT',
        `A bucket of ${burst} at ${limit} per ${window / 1000} ms cannot be counted in whole numbers below 2^53. ` +
          'Choose a limit that shares a divisor with the window (1000000 for 999983), a shorter window or a smaller burst.',
      )
    }
    this.span = Math.ceil(this.capacity / this.drain)
  }

  /** The level at `at`. A product beyond 2^53 is still larger than any level, so the maximum is exact. */
  #level(s: Numbers, i: number, at: number): number {
    const level = s[i + 1] as number
    const elapsed = at - (s[i] as number)
    return elapsed <= 0 ? level : Math.max(0, level - elapsed * this.drain)
  }

  wait(s: Numbers, i: number, at: number, cost: number): number {
    const excess = this.#level(s, i, at) - (this.capacity - cost * this.weight)
    if (excess <= 0) return 0
    return cost > this.burst ? Infinity : Math.ceil(excess / this.drain)
  }

  fits(s: Numbers, i: number, at: number, cost: number): boolean {
    return this.#level(s, i, at) + cost * this.weight <= maxSafe
  }

  take(s: Numbers, i: number, at: number, cost: number): void {
    s[i + 1] = this.#level(s, i, at) + cost * this.weight
    s[i] = at
  }

  /** To the brim at most, so that one full refill after the last refused call everything is forgotten. */
  count(s: Numbers, i: number, at: number, cost: number): void {
    const level = this.#level(s, i, at)
    const brim = cost > this.burst ? this.capacity : Math.min(this.capacity, level + cost * this.weight)
    s[i + 1] = Math.max(level, brim)
    s[i] = at
  }

  refund(s: Numbers, i: number, at: number, cost: number, ticket: Ticket | undefined): void {
    const level = this.#level(s, i, at)
    const top = ticket ? this.#top(s, i, at, ticket) : level
    const promised = ticket ? Math.max(0, level - this.capacity) : 0
    const back = Math.min(level, cost * this.weight, Math.max(0, top - promised))
    // Given back off the top of all, it lay below no other reservation.
    if (!ticket || top < level) s[i + 2] = Math.min(maxSafe, (s[i + 2] as number) + Math.ceil(back / this.weight))
    s[i + 1] = level - back
    s[i] = at
  }

  /** Up to where a reservation reaches in the bucket by now, at least; below 0, nothing of it is left. */
  #top(s: Numbers, i: number, at: number, [since, mark, given]: Ticket): number {
    const givenSince = (s[i + 2] as number) - given
    if (givenSince < 0 || s[i + 2] === maxSafe) return 0 // another state than the one it was booked in, or lost count
    return mark - givenSince * this.weight - Math.max(0, at - since) * this.drain
  }

  ticket(s: Numbers, i: number): Ticket {
    return [s[i] as number, s[i + 1] as number, s[i + 2] as number]
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const level = this.#level(s, i, at)
    const room = this.capacity - level
    out.remaining = room > 0 ? Math.floor(room / this.weight) : 0
    out.reset = Math.ceil(level / this.drain)
  }

  /**
   * What is owed is the same number of units, rounded up, and what is booked ahead keeps its time: the next call comes
   * after it at a higher rate too.
   */
  adopt(s: Numbers, i: number, at: number, from: Algorithm): boolean {
    if (!(from instanceof Bucket)) return false
    const level = from.#level(s, i, at)
    const units = ratioUp(level, this.weight, from.weight)
    const booked = Math.ceil(Math.max(0, level - from.capacity) / from.drain)
    const ahead = booked === 0 ? 0 : this.capacity + booked * this.drain
    s[i + 1] = Math.min(maxSafe, Math.max(units, ahead))
    s[i] = at
    return true
  }

  /** A reservation from before gives nothing back any more: what is given now lies above its mark. */
  carry(s: Numbers, i: number, at: number, from: Algorithm, times: number, per: number): boolean {
    if (!(from instanceof Bucket)) return false
    const level = ratioUp(from.#level(s, i, at), times, per)
    s[i + 1] = level < maxSafe ? Math.min(this.capacity, ratioUp(level, this.weight, from.weight)) : this.capacity
    s[i + 2] = Math.min(maxSafe, (s[i + 2] as number) + Math.ceil(from.capacity / this.weight))
    s[i] = at
    return true
  }

  /** What was given back to either is counted: no reservation gives back more than it would have. */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    s[i + 1] = Math.max(this.#level(s, i, at), this.#level(t, j, at))
    s[i + 2] = Math.max(s[i + 2] as number, t[j + 2] as number)
    s[i] = at
  }
}
