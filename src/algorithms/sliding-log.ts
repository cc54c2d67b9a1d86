/*
 * The log: the time of every call that was admitted, so the count in (at - W, at] is exact.
 *
 * Its price is memory for each call held; what usually makes it slow besides, counting the log again at every call, is
 * not needed. Each entry carries the running total up to and including itself, so that the units between two entries
 * are a subtraction, and where the window begins, or how far it must slide to make room, is found by doubled steps from
 * the oldest entry, where it mostly is, and then by halving.
 *
 *     time    t0    t1    t2         t3   t4
 *     total    2     3     7          8    9
 *                |<---------- W ----------->|   used = 9 - 2 = 7
 *
 * Calls of one microsecond share an entry. Entries that have left go when a later call is admitted, and the array is
 * closed up when a third of it is empty (at half, V8 would give the room back, and take and clear as much anew), so a call
 * costs a constant plus the logarithm of what has left since the last.
 *
 * A reservation is an entry in the future, never before the newest: first come, first served.
 *
 * State: last (us), index of the first entry, one past the last entry, total before the first entry;
 * then the entries, two numbers each. Bound: `limit` in any span of one window, exactly.
 */
import { HeadgateError } from '../errors.ts'
import type { PolicyOptions } from '../policy.ts'
import { type Algorithm, definePolicy, type Numbers, type Policy, type Report, type Ticket } from './algorithm.ts'
import { condensedLog, condenseLog } from './condense-log.ts'
import { maxSafe, ratioUp } from './exact.ts'

const header = 4
/** With debt, refused calls that count and one call more, a window then still holds less than 2^53 units. */
const most = 2 ** 50

export class SlidingLog implements Algorithm {
  readonly kind = 'slidingLog'
  readonly parameters: readonly number[]
  readonly slots: number = header
  readonly grows = true
  readonly condensed: number = condensedLog
  readonly promises = true
  readonly span: number
  readonly limit: number

  constructor(limit: number, window: number) {
    if (limit > most) {
      throw new HeadgateError(
        'HEADGATE_INEXACT',
        `A sliding log of ${limit} cannot be summed exactly. Choose a limit of at most 2^50, or a tokenBucket.`,
      )
    }
    this.limit = limit
    this.span = window
    this.parameters = [limit]
  }

  #time(s: Numbers, i: number, entry: number): number {
    return s[i + header + 2 * entry] as number
  }

  /** The running total up to and including `entry`. */
  #total(s: Numbers, i: number, entry: number): number {
    return entry < (s[i + 1] as number) ? (s[i + 3] as number) : (s[i + header + 2 * entry + 1] as number)
  }

  /** How far the entries' times lie ahead because the clock went back by more than a window. */
  #ahead(s: Numbers, i: number, at: number): number {
    return Math.max(0, (s[i] as number) - at)
  }

  /** The first entry that is still in the window that ends at `at`: one aged exactly W has left. */
  #first(s: Numbers, i: number, at: number): number {
    return firstAbove(s, i + header, s[i + 1] as number, s[i + 2] as number, at + this.#ahead(s, i, at) - this.span)
  }

  #used(s: Numbers, i: number, at: number): number {
    return this.#total(s, i, (s[i + 2] as number) - 1) - this.#total(s, i, this.#first(s, i, at) - 1)
  }

  wait(s: Numbers, i: number, at: number, cost: number): number {
    if (cost > this.limit) return Infinity
    const end = s[i + 2] as number
    if (end === s[i + 1]) return 0
    const now = at + this.#ahead(s, i, at)
    const queued = Math.max(0, this.#time(s, i, end - 1) - now)
    const target = this.#total(s, i, end - 1) + cost - this.limit
    const first = this.#first(s, i, at)
    if (target <= this.#total(s, i, first - 1)) return queued
    const leaving = firstAbove(s, i + header + 1, first, end - 1, target - 1)
    return Math.max(queued, this.#time(s, i, leaving) + this.span - now)
  }

  fits(s: Numbers, i: number, at: number, cost: number): boolean {
    return this.#used(s, i, at) + cost <= maxSafe / 2
  }

  take(s: Numbers, i: number, at: number, cost: number, delay: number): void {
    this.#settle(s, i, at)
    if (cost === 0) return
    const end = s[i + 2] as number
    if (this.#total(s, i, end - 1) + cost > maxSafe) this.#close(s, i, s[i + 1] as number, end)
    this.#append(s, i, at + delay, cost)
  }

  /** Brings the state to `at`: shifts the times if the clock went far back, drops what has left, closes the gap. */
  #settle(s: Numbers, i: number, at: number): void {
    const ahead = this.#ahead(s, i, at)
    if (ahead > 0) for (let n = s[i + 1] as number; n < (s[i + 2] as number); n++) s[i + header + 2 * n]! -= ahead
    s[i] = at
    this.#drop(s, i, this.#first(s, i, at))
  }

  #drop(s: Numbers, i: number, first: number): void {
    s[i + 3] = this.#total(s, i, first - 1)
    s[i + 1] = first
    const end = s[i + 2] as number
    if (first === end || (first >= 16 && first >= end / 3)) this.#close(s, i, first, end)
  }

  /** Moves the entries to the front and lets the totals start from 0 again. */
  #close(s: Numbers, i: number, first: number, end: number): void {
    const before = s[i + 3] as number
    for (let n = first; n < end; n++) {
      s[i + header + 2 * (n - first)] = this.#time(s, i, n)
      s[i + header + 2 * (n - first) + 1] = (s[i + header + 2 * n + 1] as number) - before
    }
    s[i + 1] = 0
    s[i + 2] = end - first
    s[i + 3] = 0
    if (Array.isArray(s)) s.length = i + header + 2 * (end - first)
  }

  #append(s: Numbers, i: number, time: number, cost: number): void {
    const end = s[i + 2] as number
    const total = this.#total(s, i, end - 1) + cost
    const newest = end > (s[i + 1] as number) ? this.#time(s, i, end - 1) : -1
    if (newest >= time) {
      s[i + header + 2 * end - 1] = total
    } else {
      s[i + header + 2 * end] = time
      s[i + header + 2 * end + 1] = total
      s[i + 2] = end + 1
    }
  }

  /** Only the newest `limit` units can matter to a later call, so no flood of refused calls makes the log longer. */
  count(s: Numbers, i: number, at: number, cost: number): void {
    this.take(s, i, at, Math.min(cost, this.limit), 0)
    this.#trim(s, i)
  }

  /** Leaves the entries that the newest `limit` units are in. */
  #trim(s: Numbers, i: number): void {
    const spare = this.#total(s, i, (s[i + 2] as number) - 1) - this.limit
    let first = s[i + 1] as number
    while (this.#total(s, i, first) <= spare) first++
    this.#drop(s, i, first)
  }

  /** The newest units first; of a reservation only those of its own time. */
  refund(s: Numbers, i: number, at: number, cost: number, ticket: Ticket | undefined): void {
    this.#settle(s, i, at)
    let entry = (s[i + 2] as number) - 1
    if (ticket) while (entry >= (s[i + 1] as number) && this.#time(s, i, entry) > ticket[0]) entry--
    for (; cost > 0 && entry >= (s[i + 1] as number); entry--) {
      if (ticket && this.#time(s, i, entry) !== ticket[0]) return
      cost -= this.#lighten(s, i, entry, cost)
    }
  }

  /** Takes up to `cost` units out of an entry, which goes when nothing is left of it, and returns how many. */
  #lighten(s: Numbers, i: number, entry: number, cost: number): number {
    const end = s[i + 2] as number
    const back = Math.min(cost, this.#total(s, i, entry) - this.#total(s, i, entry - 1))
    for (let n = entry; n < end; n++) s[i + header + 2 * n + 1]! -= back
    if (this.#total(s, i, entry) === this.#total(s, i, entry - 1)) {
      s.copyWithin(i + header + 2 * entry, i + header + 2 * (entry + 1), i + header + 2 * end)
      s[i + 2] = end - 1
    }
    return back
  }

  /** The entry's time names it; a clock that went far back since has renamed it, and nothing is given back. */
  ticket(s: Numbers, i: number): Ticket {
    return [this.#time(s, i, (s[i + 2] as number) - 1), 0, 0]
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const end = s[i + 2] as number
    const first = this.#first(s, i, at)
    out.remaining = this.limit
    out.reset = 0
    if (first === end) return
    const now = at + this.#ahead(s, i, at)
    const newest = this.#time(s, i, end - 1)
    const used = this.#total(s, i, end - 1) - this.#total(s, i, first - 1)
    out.remaining = newest > now ? 0 : Math.max(0, this.limit - used)
    out.reset = newest + this.span - now
  }

  /** Every entry keeps its time; where they are more than the limit, the newest count. */
  carry(s: Numbers, i: number, at: number, from: Algorithm, times: number, per: number): boolean {
    if (!(from instanceof SlidingLog) || from.span !== this.span) return false
    this.#settle(s, i, at)
    this.#close(s, i, s[i + 1] as number, s[i + 2] as number)
    const end = s[i + 2] as number
    for (let n = 0; n < end; n++) {
      s[i + header + 2 * n + 1] = Math.min(maxSafe, ratioUp(this.#total(s, i, n), times, per))
    }
    if (end > 0) this.#trim(s, i)
    return true
  }

  /** One entry, the newest time with the most units: a longer log of two would not stay within bounds. */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const units = Math.max(this.#used(s, i, at), this.#used(t, j, at))
    const time = Math.max(this.#newest(s, i, at), this.#newest(t, j, at))
    const entries = units > 0 ? 1 : 0
    for (const [n, number] of [at, 0, entries, 0, time, units].entries()) s[i + n] = number
  }

  /** The time of the newest entry by the reckoning of `at`; 0 if there is none. */
  #newest(s: Numbers, i: number, at: number): number {
    const end = s[i + 2] as number
    return end === s[i + 1] ? 0 : this.#time(s, i, end - 1) - this.#ahead(s, i, at)
  }

  condense(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    condenseLog(s, i, this.#first(s, i, at), t, j, this.span)
  }
}

/** The first of the entries from `low` on whose time or total, as `from` says, is above `bound`; `high` if none before is. */
function firstAbove(s: Numbers, from: number, low: number, high: number, bound: number): number {
  let step = 1
  for (; low + step <= high && (s[from + 2 * (low + step - 1)] as number) <= bound; step *= 2) low += step
  high = Math.min(high, low + step - 1)
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((s[from + 2 * middle] as number) > bound) high = middle
    else low = middle + 1
  }
  return low
}

/**
 * Exact: fewer than `limit` units admitted in (t - window, t] at every moment. Memory grows with what is held.
 * @throws HeadgateError on any option that is out of range
 */
export function slidingLog(options: PolicyOptions): Policy {
  return definePolicy('slidingLog', options, [], (terms, window) => new SlidingLog(terms.limit, window))
}
