/*
 * The log: it keeps the time of every call that was admitted, so the count in (at - W, at] is exact.
 *
 * A log takes memory for each call in its window. A naive log is slow as well, because it counts all entries again at
 * every call. Here each entry carries the running total, so the used units are a subtraction, and a search finds where the
 * window begins, or how far it has to slide to admit a cost.
 *
 *     time    t0    t1    t2         t3   t4
 *     total    2     3     7          8    9
 *                |<---------- W ----------->|   used = 9 - 2 = 7
 *
 * Entries that have left are removed when a later call is admitted. So a call costs a constant plus the logarithm of what
 * has left since the last call. log-entries.ts holds the array.
 *
 * A reservation is an entry in the future, never before the newest: first come, first served.
 *
 * State: last (us), index of the first entry, one past the last entry, total before the first entry, id of the
 * reservations; then the entries, two numbers each. Bound: `limit` in any span of one window, exactly.
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
} from '../state-description.ts'
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

/** The largest limit: a window with debt, counted refusals and one call more then still holds less than 2^53 units. */
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

  /** How far the times of the entries lie ahead, because the clock went back by more than a window. */
  #aheadAt(s: Numbers, i: number, at: number): number {
    return Math.max(0, (s[i] as number) - at)
  }

  /** The first entry in the window that ends at `at`. An entry aged exactly W has left. */
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

  /** Brings the state to `at`: moves the times if the clock went far back, and drops the entries that have left. */
  #advance(s: Numbers, i: number, at: number): void {
    const ahead = this.#aheadAt(s, i, at)
    if (ahead > 0) shift(s, i, ahead)
    if (ahead > 0) s[i + 4] = 0 // earlier tickets name times that their entries no longer have
    s[i] = at
    dropBefore(s, i, this.#firstAt(s, i, at))
  }

  /** Keeps the newest `limit` units: older ones cannot matter to a later call, so refused calls never lengthen the log. */
  override count(s: Numbers, i: number, at: number, cost: number): void {
    this.take(s, i, at, Math.min(cost, this.limit), 0)
    keepNewest(s, i, this.limit)
  }

  /** Gives back the newest units first. */
  override refund(s: Numbers, i: number, at: number, cost: number): void {
    this.#advance(s, i, at)
    this.#removeNewest(s, i, (s[i + 2] as number) - 1, cost)
  }

  #removeNewest(s: Numbers, i: number, entry: number, units: number): void {
    for (; units > 0 && entry >= (s[i + 1] as number); entry--) units -= removeUnits(s, i, entry, units)
  }

  /** What a refund took from the call's entry, it would have taken from older entries if the call had cost less. They give it back. */
  override settle(s: Numbers, i: number, at: number, units: number, ticket: Ticket): void {
    this.#advance(s, i, at)
    const time = this.entryTime(ticket[0])
    const newest = firstAbove(s, i + header, s[i + 1] as number, s[i + 2] as number, time) - 1
    if (!this.leases && time > at - this.span) this.#removeNewest(s, i, newest, units)
    else if (this.#entryOf(s, i, ticket) >= 0) removeUnits(s, i, newest, units)
  }

  override held(s: Numbers, i: number, at: number, ticket: Ticket): number {
    const entry = this.#entryOf(s, i, ticket)
    if (entry < this.#firstAt(s, i, at)) return 0
    return Math.min(ticket[2], totalOf(s, i, entry) - totalOf(s, i, entry - 1))
  }

  /** The time of a ticket's entry. */
  protected entryTime(since: number): number {
    return since
  }

  /** The entry of a ticket; -1 if it has left. */
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

  /** Every entry keeps its time. If the entries exceed the limit, the newest count. */
  override carry(s: Numbers, i: number, at: number, _from: Algorithm, times: number, per: number): void {
    this.#advance(s, i, at)
    scale(s, i, times, per)
    if (times !== per) s[i + 4] = 0
    if ((s[i + 2] as number) > 0) keepNewest(s, i, this.limit)
  }

  /** Merges to one entry, with the newest time and the larger sum. All entries of both would grow without bound. */
  override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const units = Math.max(this.#usedAt(s, i, at), this.#usedAt(t, j, at))
    const time = Math.max(this.#newestAt(s, i, at), this.#newestAt(t, j, at))
    const entries = units > 0 ? 1 : 0
    for (const [n, number] of [at, 0, entries, 0, 0, time, units].entries()) s[i + n] = number
  }

  /** The time of the newest entry as seen at `at`; 0 if there is none. */
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

  /** One entry for each unit, and as many again by half, or 16, that have left but are not removed yet. */
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
 * Exact: at most `limit` units admitted in (t - window, t] at every moment t. Memory grows with the calls in the window.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function slidingLog(options: PolicyOptions): Policy {
  return definePolicy('slidingLog', options, [], (settings, window) => new SlidingLog(settings.limit, window))
}
