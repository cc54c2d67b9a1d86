/*
 * The sliding log stores the time of every admitted call, so the number of units in (at - W, at] is exact.
 *
 * A log needs memory for each call in its window. A naive log is slow as well, because it counts all entries again at every call. Here
 * each entry has the total units so far, so the used units are the difference of two totals. A binary search finds the first entry in
 * the window, or the entry that has to leave before a cost is admitted.
 *
 *     time    t0    t1    t2         t3   t4
 *     total    2     3     7          8    9
 *                |<---------- W ----------->|   used = 9 - 2 = 7
 *
 * Entries that have left the window are removed when a later call is admitted. So the work of a call is a constant plus the logarithm
 * of the number of entries that have left since the last call. The array is in log-entries.ts.
 *
 * A reservation that has to wait is an entry in the future, never before the newest entry: first come, first served.
 *
 * State: last (us), index of the first entry, index after the last entry, total before the first entry, id of the open reservations;
 * then the entries, two numbers each. Bound: exactly `limit` units in any span of one window.
 */
import { HeadgateError } from '../../common/index.ts'
import type { PolicyOptions } from '../../policy/index.ts'
import { Algorithm, type Kind, type Numbers, type Policy, type Report, type Ticket } from '../algorithm.ts'
import { definePolicy } from '../define-policy.ts'
import {
  type Description,
  debtWords,
  type Facts,
  nextWords,
  timeText,
  toMilliseconds,
  type UnitsAt,
  usedWords,
} from '../inspected-state.ts'
import { condensedLog, condenseLog } from './condense-log.ts'
import {
  append,
  dropBefore,
  firstAbove,
  firstReaching,
  header,
  keepNewest,
  removeUnits,
  scale,
  shift,
  timeOf,
  totalOf,
} from './log-entries.ts'

/**
 * The largest limit: the units of a window with debt (units above the limit), counted refusals and one more call then still sum to less
 * than 2^53.
 */
const most = 2 ** 50

export class SlidingLog extends Algorithm {
  readonly kind: Kind = 'slidingLog'
  readonly parameters: readonly number[]
  readonly slots: number = header
  override readonly grows = true
  override readonly idSlot = 4
  override readonly promises: boolean = true
  readonly span: number
  readonly limit: number

  constructor(limit: number, window: number) {
    super()
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

  wait(s: Numbers, i: number, at: number, cost: number): number {
    if (cost > this.limit) return Infinity
    const end = s[i + 2] as number
    if (end === s[i + 1]) return 0
    const now = at + this.#aheadAt(s, i, at)
    const queued = this.promises ? Math.max(0, timeOf(s, i, end - 1) - now) : 0
    const target = totalOf(s, i, end - 1) + cost - this.limit
    const first = this.#firstAt(s, i, at)
    if (target <= totalOf(s, i, first - 1)) return queued
    const leaving = firstReaching(s, i, first, target)
    return Math.max(queued, timeOf(s, i, leaving) + this.span - now)
  }

  /** By how many microseconds `at` is before the time of the state; 0 if `at` is not before that time. */
  #aheadAt(s: Numbers, i: number, at: number): number {
    return Math.max(0, (s[i] as number) - at)
  }

  /** The first entry in the window that ends at `at`. An entry that is exactly one window old is not in the window. */
  #firstAt(s: Numbers, i: number, at: number): number {
    return firstAbove(s, i + header, s[i + 1] as number, s[i + 2] as number, at + this.#aheadAt(s, i, at) - this.span)
  }

  #usedAt(s: Numbers, i: number, at: number): number {
    return totalOf(s, i, (s[i + 2] as number) - 1) - totalOf(s, i, this.#firstAt(s, i, at) - 1)
  }

  take(s: Numbers, i: number, at: number, cost: number, delay: number): void {
    this.#advance(s, i, at)
    if (cost > 0) append(s, i, at + delay, cost)
  }

  /**
   * Moves the state to time `at`: makes all times earlier if `at` is before the time of the state, and removes entries before the
   * window.
   */
  #advance(s: Numbers, i: number, at: number): void {
    const ahead = this.#aheadAt(s, i, at)
    if (ahead > 0) shift(s, i, ahead)
    if (ahead > 0) s[i + 4] = 0 // makes earlier tickets invalid: their entries have other times now
    s[i] = at
    dropBefore(s, i, this.#firstAt(s, i, at))
  }

  /**
   * Adds the cost of a refused call. Then removes all but the newest `limit` units that are not booked: older units change no later decision,
   * also if the booked units are given back.
   */
  override count(s: Numbers, i: number, at: number, cost: number): void {
    this.take(s, i, at, Math.min(cost, this.limit), 0)
    const booked = firstAbove(s, i + header, s[i + 1] as number, s[i + 2] as number, at)
    keepNewest(s, i, booked, this.limit)
  }

  /** Removes `cost` units, the newest first. */
  override refund(s: Numbers, i: number, at: number, cost: number): void {
    this.#advance(s, i, at)
    this.#removeNewest(s, i, (s[i + 2] as number) - 1, cost)
  }

  #removeNewest(s: Numbers, i: number, entry: number, units: number): void {
    for (; units > 0 && entry >= (s[i + 1] as number); entry--) units -= removeUnits(s, i, entry, units)
  }

  /**
   * Removes unused units of a call from its entry. If a refund has taken units from this entry, removes the missing units from older
   * entries, except for units in flight.
   */
  override settle(s: Numbers, i: number, at: number, units: number, ticket: Ticket): void {
    this.#advance(s, i, at)
    const time = this.entryTime(ticket[0])
    const newest = firstAbove(s, i + header, s[i + 1] as number, s[i + 2] as number, time) - 1
    if (!this.leases) this.#removeNewest(s, i, newest, units)
    else if (this.#entryOf(s, i, ticket) >= 0) removeUnits(s, i, newest, units)
  }

  override held(s: Numbers, i: number, at: number, ticket: Ticket): number {
    const entry = this.#entryOf(s, i, ticket)
    if (entry < this.#firstAt(s, i, at)) return 0
    return Math.min(ticket[2], totalOf(s, i, entry) - totalOf(s, i, entry - 1))
  }

  /** The time of the entry with the units of a reservation. `since` is the first number of its ticket. */
  protected entryTime(since: number): number {
    return since
  }

  /** The index of the entry with the units of a reservation; -1 if the entry was removed. */
  #entryOf(s: Numbers, i: number, [since]: Ticket): number {
    const end = s[i + 2] as number
    const time = this.entryTime(since)
    const entry = firstAbove(s, i + header, s[i + 1] as number, end, time - 1)
    return entry < end && timeOf(s, i, entry) === time ? entry : -1
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const end = s[i + 2] as number
    const first = this.#firstAt(s, i, at)
    out.remaining = this.limit
    out.reset = 0
    out.used = 0
    if (first === end) return
    const now = at + this.#aheadAt(s, i, at)
    const newest = timeOf(s, i, end - 1)
    const used = totalOf(s, i, end - 1) - totalOf(s, i, first - 1)
    out.used = used
    out.remaining = newest > now && this.promises ? 0 : Math.max(0, this.limit - used)
    out.reset = newest + this.span - now
  }

  override continues(from: Algorithm): boolean {
    return from.kind === this.kind && from.span === this.span
  }

  /**
   * Multiplies the units by `times / per`, and does not change the times. Units above a lower limit stay: the limit may rise again, and newer
   * units may be given back.
   */
  override carry(s: Numbers, i: number, at: number, _from: Algorithm, times: number, per: number): void {
    this.#advance(s, i, at)
    scale(s, i, times, per)
    if (times !== per) s[i + 4] = 0
  }

  /** Merges two logs to one entry, with the newest time and the larger sum, because all entries together could be too many. */
  override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const units = Math.max(this.#usedAt(s, i, at), this.#usedAt(t, j, at))
    const time = Math.max(this.#newestAt(s, i, at), this.#newestAt(t, j, at))
    const entries = units > 0 ? 1 : 0
    for (const [n, number] of [at, 0, entries, 0, 0, time, units].entries()) s[i + n] = number
  }

  /** The time of the newest entry, minus the time by which the clock went back; 0 if there is no entry. */
  #newestAt(s: Numbers, i: number, at: number): number {
    const end = s[i + 2] as number
    return end === s[i + 1] ? 0 : timeOf(s, i, end - 1) - this.#aheadAt(s, i, at)
  }

  override get condensed(): number {
    return condensedLog
  }

  override condense(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    condenseLog(s, i, this.#firstAt(s, i, at), t, j, this.span)
  }

  /** An entry for each unit, and up to half as many (at least 16) that have left the window but are not removed yet. */
  override mostEntries(limit: number): number {
    return Math.ceil(1.5 * limit) + 16
  }

  override describe(s: readonly number[], facts: Facts): Description {
    const entries = this.entries(s as number[])
    const debt = Math.max(0, facts.used - this.limit)
    const within = ` in the last ${timeText(this.span)}${nextWords(facts, '; the next come back')}`
    const [oldest, newest] = [entries[0]?.time, entries.at(-1)?.time]
    const ends = oldest && newest && { oldest: toMilliseconds(oldest), newest: toMilliseconds(newest) }
    return {
      words: usedWords(facts, debtWords(debt) + within),
      numbers: { entries: entries.length, ...ends },
      debt,
      booked: entries.filter(({ time }) => time > facts.at),
    }
  }

  /** The entries, the oldest first. */
  protected entries(s: number[]): readonly UnitsAt[] {
    return Array.from({ length: (s[2] as number) - (s[1] as number) }, (_, n) => {
      const entry = (s[1] as number) + n
      return { time: timeOf(s, 0, entry), units: totalOf(s, 0, entry) - totalOf(s, 0, entry - 1) }
    })
  }
}

/**
 * At most `limit` units are admitted in (t - window, t], exactly, at every moment t. Needs memory for each call in the window.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function slidingLog(options: PolicyOptions): Policy {
  return definePolicy('slidingLog', options, [], (settings, window) => new SlidingLog(settings.limit, window))
}
