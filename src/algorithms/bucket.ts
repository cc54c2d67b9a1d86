/*
 * A bucket that drains continuously.
 *
 * The naive token bucket keeps a fraction of a token and adds `elapsed * limit / window` to it. Each step rounds, the
 * errors add up, and a request that is due exactly now is refused. GCRA keeps one time instead (the theoretical arrival
 * time) and does the same division the other way round. Both are the same limiter:
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
 * Here nothing is divided until a wait is needed. The level is counted in ticks, chosen so small that a unit of
 * cost and a microsecond are both whole numbers of them: a unit takes `window` ticks and a microsecond drains `limit`
 * ticks, both divided by their greatest common divisor. The level may rise above the capacity. That is debt, from a
 * charge or a reservation, and it drains like the rest.
 *
 * A reservation's ticket is the level it rose to. The bucket drains from the bottom, so this level tells later how much
 * of the reservation has drained. Two things would make it wrong. Units below it may be given back: so the state counts
 * all units given back. And calls may be booked ahead at promised times: what drains before the last of them acts cannot
 * be used by another call, and is not given back either.
 *
 * State: last (us), level (ticks at `last`), given (units given back so far, rounded up).
 * Bound: burst + limit * t / window units in any span t, where booked units count at their promised time.
 */
import { HeadgateError } from '../errors.ts'
import type { Algorithm, Numbers, Report, Ticket } from './algorithm.ts'
import { gcd, maxSafe, ratioUp } from './exact-math.ts'

export class Bucket implements Algorithm {
  readonly kind = 'bucket'
  readonly parameters: readonly number[]
  readonly slots = 3
  readonly grows = false
  readonly promises = true
  readonly span: number
  readonly burst: number
  /** Ticks per unit. */
  readonly weight: number
  /** Ticks that drain per microsecond. */
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

  wait(s: Numbers, i: number, at: number, cost: number): number {
    const excess = this.#levelAt(s, i, at) - (this.capacity - cost * this.weight)
    if (excess <= 0) return 0
    return cost > this.burst ? Infinity : Math.ceil(excess / this.drain)
  }

  /** A product beyond 2^53 is inexact, but still larger than any level: the maximum is exact. */
  #levelAt(s: Numbers, i: number, at: number): number {
    const level = s[i + 1] as number
    const elapsed = at - (s[i] as number)
    return elapsed <= 0 ? level : Math.max(0, level - elapsed * this.drain)
  }

  fits(s: Numbers, i: number, at: number, cost: number): boolean {
    return this.#levelAt(s, i, at) + cost * this.weight <= maxSafe
  }

  take(s: Numbers, i: number, at: number, cost: number): void {
    s[i + 1] = this.#levelAt(s, i, at) + cost * this.weight
    s[i] = at
  }

  /** Fills up to the capacity at most. So one full refill after the last refused call, all of them are forgotten. */
  count(s: Numbers, i: number, at: number, cost: number): void {
    const level = this.#levelAt(s, i, at)
    const filled = cost > this.burst ? this.capacity : Math.min(this.capacity, level + cost * this.weight)
    s[i + 1] = Math.max(level, filled)
    s[i] = at
  }

  refund(s: Numbers, i: number, at: number, cost: number, ticket: Ticket | undefined): void {
    const level = this.#levelAt(s, i, at)
    const top = ticket ? this.#topAt(s, i, at, ticket) : level
    const promised = ticket ? Math.max(0, level - this.capacity) : 0
    const back = Math.min(level, cost * this.weight, Math.max(0, top - promised))
    // At the very top, there is no reservation above that the refund would lower.
    if (!ticket || top < level) s[i + 2] = Math.min(maxSafe, (s[i + 2] as number) + Math.ceil(back / this.weight))
    s[i + 1] = level - back
    s[i] = at
  }

  /** The level that a reservation reaches at `at`, or a lower one. Below 0, nothing of it is left. */
  #topAt(s: Numbers, i: number, at: number, [since, mark, given]: Ticket): number {
    const givenSince = (s[i + 2] as number) - given
    if (givenSince < 0 || s[i + 2] === maxSafe) return 0 // booked in another state, or the count overflowed
    return mark - givenSince * this.weight - Math.max(0, at - since) * this.drain
  }

  ticket(s: Numbers, i: number): Ticket {
    return [s[i] as number, s[i + 1] as number, s[i + 2] as number]
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const level = this.#levelAt(s, i, at)
    const unused = this.capacity - level
    out.remaining = unused > 0 ? Math.floor(unused / this.weight) : 0
    out.reset = Math.ceil(level / this.drain)
  }

  /** Debt stays the same number of units, rounded up. Booked units keep their time: the next call comes after them. */
  adopt(s: Numbers, i: number, at: number, from: Algorithm): boolean {
    if (!(from instanceof Bucket)) return false
    const level = from.#levelAt(s, i, at)
    const units = ratioUp(level, this.weight, from.weight)
    const booked = Math.ceil(Math.max(0, level - from.capacity) / from.drain)
    const ahead = booked === 0 ? 0 : this.capacity + booked * this.drain
    s[i + 1] = Math.min(maxSafe, Math.max(units, ahead))
    s[i] = at
    return true
  }

  /** Earlier reservations give nothing back any more: `given` grows beyond all their marks. */
  carry(s: Numbers, i: number, at: number, from: Algorithm, times: number, per: number): boolean {
    if (!(from instanceof Bucket)) return false
    const level = ratioUp(from.#levelAt(s, i, at), times, per)
    s[i + 1] = level < maxSafe ? Math.min(this.capacity, ratioUp(level, this.weight, from.weight)) : this.capacity
    s[i + 2] = Math.min(maxSafe, (s[i + 2] as number) + Math.ceil(from.capacity / this.weight))
    s[i] = at
    return true
  }

  /** The larger `given` counts: no reservation gives back more than it would have. */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    s[i + 1] = Math.max(this.#levelAt(s, i, at), this.#levelAt(t, j, at))
    s[i + 2] = Math.max(s[i + 2] as number, t[j + 2] as number)
    s[i] = at
  }
}
