import type { PolicySettings } from '../policy/index.ts'
import { toleranceOf } from './effective-time.ts'
import { maxSafe } from './exact-math.ts'
import { type Description, type Facts, type Terms, usedWords } from './state-description.ts'

/** The array that a state is in: one array for many keys, or an array of a key's own, which can grow. */
export type Numbers = Float64Array | number[]

/**
 * What is needed to settle a reservation later. `since`: the time, the window or the segment in which its units count. `id`:
 * the id of the state's open reservations (`Algorithm.idSlot`). `units`: how many it took. All 0 if nothing can be settled.
 */
export type Ticket = readonly [since: number, id: number, units: number]

/**
 * The kinds of arithmetic. A table with an entry for each kind is a `Record` of this type, so the compiler names every
 * table that lacks an entry for a new kind.
 */
export type Kind =
  | 'bucket'
  | 'intervalBucket'
  | 'slidingWindow'
  | 'segmentedWindow'
  | 'slidingLog'
  | 'concurrency'
  | 'smoothBursty'
  | 'smoothWarmingUp'
  | 'penalty'

/** The numbers of one state at one time, filled in by `report`. */
export class Report {
  /** The largest cost admitted now, at least 0. */
  remaining = 0
  /** Microseconds until the key has its full quota again. */
  reset = 0
  /** The units that count now, rounded up. Booked units count, and so do refused calls that were counted. */
  used = 0
}

const report = new Report()

/**
 * The arithmetic of one policy: pure functions over `s[i ... i + slots)`, the state of one key. A new key's state is all
 * zeros, and `s[i]` is always the time of the last commit. Times and waits are whole microseconds.
 *
 * `at` is the effective time of the state (see `effectiveTime`). It is earlier than `s[i]` only if the clock went
 * back by `tolerance` or more. Then used units stay used, and count from `at` on.
 *
 * Only `take`, `count`, `refund`, `settle` and the rare operations (from `adopt` to `unban`) change a state. Each leaves a
 * state that is correct at `at`.
 *
 * An algorithm must write the seven abstract members. The other members have defaults, which are correct and strict.
 */
export abstract class Algorithm {
  /** The name of the arithmetic. With `span` and `parameters` it defines the algorithm for other languages and processes. */
  abstract readonly kind: Kind
  abstract readonly parameters: readonly number[]
  /** How many numbers a key's state has. */
  abstract readonly slots: number
  /** Microseconds of one full refill, or of one window. */
  abstract readonly span: number
  /** Microseconds until `cost` is admitted if no other call comes: 0 is now, Infinity is never. */
  abstract wait(s: Numbers, i: number, at: number, cost: number): number
  /** Takes `cost`. `delay` is what `wait` returned, or 0 to count the cost now. A cost of 0 only brings the state to `at`. */
  abstract take(s: Numbers, i: number, at: number, cost: number, delay: number): void
  /** Fills `out` with the numbers at `at`. */
  abstract report(s: Numbers, i: number, at: number, out: Report): void

  /** False if the algorithm gives no units back. It then has the default `refund` and `settle`, which do nothing. */
  readonly settles: boolean = true
  /** True if a key needs an array of its own, which starts with `slots` numbers. The algorithm must then write `condense` too. */
  readonly grows: boolean = false
  /** How many numbers open reservations add to a state at most. Above 0, a key with such numbers needs an array of its own. */
  readonly bookingNumbers: number = 0
  /** True if a reservation can be promised a future time. If false, the caller has to try again. */
  readonly promises: boolean = false
  /**
   * The index, in the state, of the id that its open reservations share. The id is 0 while none is open. A ticket with another
   * id settles nothing: a reset or time has removed its units. Absent if nothing can be settled.
   */
  declare readonly idSlot?: number
  /**
   * True if a counter is all that is known of a span of time: not how low it was since a booking, only that it was never below
   * the units booked less those refunded since. So a refund adds its units to the id, and a ticket gives back that much less.
   */
  declare readonly idCountsRefunds?: boolean
  /** True for an algorithm that judges the refusals by the other policies, not the call itself. */
  declare readonly punishes?: boolean
  /** With `punishes`: true if its own refusals count too. Then each refusal changes its state. */
  declare readonly countsAlways?: boolean
  /** With `punishes`: true if the other policies of its key count anew when a ban begins. */
  declare readonly restarts?: boolean
  /** With `punishes`: true if a ban lasts as long as the refused call has to wait. */
  declare readonly endsWithWindow?: boolean
  /** True if a reservation holds its units until it is settled, whatever the actual cost, and can renew its lease. */
  declare readonly leases?: boolean
  /**
   * True if a call delays the next call by its own cost, as in Guava's limiters. Then any cost is admitted at once, `wait` shows
   * what is used, and the first look at a key begins its state.
   */
  declare readonly paysLater?: boolean

  /** If the clock goes back by less than this, the state's time stands still until the clock catches up. */
  get tolerance(): number {
    return toleranceOf(this.span)
  }

  /** True if the numbers stay exact when `cost` is taken after `_delay`, whether admitted or not. */
  fits(s: Numbers, i: number, at: number, cost: number, _delay: number): boolean {
    return this.#usedAt(s, i, at) + cost <= maxSafe / 2
  }

  /**
   * Counts a refused call (`countRefused`).
   * @param _wait microseconds that the call has to wait under all policies; only penalties that end with the window read it
   */
  count(s: Numbers, i: number, at: number, cost: number, _wait: number): void {
    if (this.fits(s, i, at, cost, 0)) this.take(s, i, at, cost, 0)
  }

  /** Gives `cost` back, the newest units first, never beyond the full quota. Not called for a key that has its full quota. */
  refund(_s: Numbers, _i: number, _at: number, _cost: number): void {}

  /** The `since` of a ticket, right after `take` with the same `at` and `delay`. */
  bookedAt(_s: Numbers, _i: number, at: number, delay: number): number {
    return at + delay
  }

  /**
   * Gives back those `units` of a reservation that time has not given back already. Afterwards the state is as if the
   * reservation had cost that much less. Called only if the ticket has the state's id.
   */
  settle(_s: Numbers, _i: number, _at: number, _units: number, _ticket: Ticket): void {}

  /** How many units of a ticket are still held. Only with `leases`. */
  held?(s: Numbers, i: number, at: number, ticket: Ticket): number

  /**
   * Rewrites a state that was written under `from`, this algorithm at another rate. Times that were promised to reservations
   * stay. Returns false, and changes nothing, for any other `from`. Absent if a state means the same at any rate.
   */
  adopt?(s: Numbers, i: number, at: number, from: Algorithm): boolean

  /** True if a state of `from` goes on here: it is this arithmetic over the same window. `carry` then rewrites the state. */
  continues(_from: Algorithm): boolean {
    return false
  }

  /** Rewrites a state of `from`, which goes on here. Used units count `times / per` as much, rounded up. */
  carry(_s: Numbers, _i: number, _at: number, _from: Algorithm, _times: number, _per: number): void {}

  /**
   * The wait for `cost` if used units count by proportion, as under the same numbers with that capacity. Absent if it is that
   * of the state as `carry` rewrites it now.
   */
  scaledWait?(s: Numbers, i: number, at: number, cost: number, capacity: number): number

  /**
   * Merges the state at `t[j]` into the state at `s[i]`. From the last booking on, the result is at least as strict as each of
   * the two, and never more permissive in sum. A full store merges keys this way. `at`: the later of the two effective times.
   */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const used = Math.max(this.#usedAt(s, i, at), this.#usedAt(t, j, at))
    s.fill(0, i, i + this.slots)
    if (used > 0) this.take(s, i, at, used, 0)
  }

  /** The most numbers that `condense` writes. */
  get condensed(): number {
    return this.slots
  }

  /** Writes a shorter state, of at most `condensed` numbers, to `t[j ...]`, which is all zeros. As strict as by `merge`. */
  condense(s: Numbers, i: number, _at: number, t: Numbers, j: number): void {
    for (let n = 0; n < this.slots; n++) t[j + n] = s[i + n] as number
  }

  /** Makes a merged state the state of one key, at a call of that key. If calls open intervals, this call opens one. */
  reopen?(s: Numbers, i: number, at: number): void
  /** Ends a ban, and counts refusals anew. Past bans stay known. Only where refusals are punished. */
  unban?(s: Numbers, i: number, at: number): void

  /** Only for logs: the most entries of a state without debt under that limit. An entry is a time and a running total. */
  mostEntries?(limit: number): number

  /** The limit, window and burst that the parameters mean. A bucket knows its rate, not the window that the user wrote. */
  get terms(): Terms {
    const [limit = 0] = this.parameters
    return { limit, window: this.span / 1000, burst: limit }
  }

  /** A state in words and numbers, for people. The state is at its effective time. */
  describe(_s: readonly number[], facts: Facts): Description {
    return { words: usedWords(facts), numbers: { used: facts.used } }
  }

  #usedAt(s: Numbers, i: number, at: number): number {
    this.report(s, i, at, report)
    return report.used
  }
}

/** What a limiter takes: a limit with its arithmetic. Immutable. Made by a constructor such as `tokenBucket`. */
export interface Policy extends PolicySettings {
  readonly algorithm: Algorithm
}
