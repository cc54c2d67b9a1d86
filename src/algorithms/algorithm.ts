import type { PolicySettings } from '../policy/index.ts'
import { type Description, type Facts, type Terms, usedWords } from './describe.ts'
import { toleranceOf } from './effective-time.ts'
import { maxSafe } from './exact-math.ts'

/** Where states live: many keys in one array, or an array of a key's own that can grow. */
export type Numbers = Float64Array | number[]

/**
 * What a reservation needs later to be settled: the time at which its units count (or the window, or the segment), the id
 * of the bookkeeping that knows it (see `Algorithm.idSlot`), and its units. An algorithm that settles nothing leaves all 0.
 */
export type Ticket = readonly [since: number, id: number, units: number]

/**
 * What kinds of arithmetic there are. Each table of them is a `Record` of this type, so the compiler names all that a new kind
 * has to be added to.
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
 * back by `tolerance` or more. Then what is used stays used, and counts from `at` on.
 *
 * Only `take`, `count`, `refund` and `settle` write, and the rare operations on states. Each leaves a state that is correct at
 * `at`.
 *
 * Seven members have to be written: the abstract ones. The others have defaults that are right and strict.
 */
export abstract class Algorithm {
  /** The name of the arithmetic. With `span` and `parameters` it defines the algorithm for other languages and processes. */
  abstract readonly kind: Kind
  abstract readonly parameters: readonly number[]
  /** How many numbers a key's state has. */
  abstract readonly slots: number
  /** One full refill, or one window. */
  abstract readonly span: number
  /** How long until `cost` is admitted if no other call comes: 0 is now, Infinity is never. */
  abstract wait(s: Numbers, i: number, at: number, cost: number): number
  /** Commits `cost` after `delay`, which is what `wait` returned, or 0 to count it now. A cost of 0 only brings the state to `at`. */
  abstract take(s: Numbers, i: number, at: number, cost: number, delay: number): void
  /** Fills `out` with the numbers at `at`. */
  abstract report(s: Numbers, i: number, at: number, out: Report): void

  /** False if it gives nothing back, because it relies on the defaults of `refund` and `settle`. */
  readonly settles: boolean = true
  /** True if a key needs an array of its own, which starts with `slots` numbers. Then `condense` has to be written too. */
  readonly grows: boolean = false
  /** How many numbers follow the state at most while reservations are open. Above 0, such a key needs an array of its own. */
  readonly bookingNumbers: number = 0
  /** True if a reservation can be promised a future time. If false, the caller has to try again. */
  readonly promises: boolean = false
  /**
   * Which number of the state holds the id that its reservations share; it is 0 while there is none. A ticket with another
   * id settles nothing: its units were forgotten, by a reset or by time. Absent if nothing can be settled.
   */
  declare readonly idSlot?: number
  /** True if it judges the refusals of the other policies, and not the call. */
  declare readonly punishes?: boolean
  /** With `punishes`: true if it also counts the refusals that are its own. Then each refusal changes its state. */
  declare readonly countsAlways?: boolean
  /** With `punishes`: true if the other policies of its key count anew when a block begins. */
  declare readonly restarts?: boolean
  /** With `punishes`: true if a block lasts as long as the refused call has to wait. */
  declare readonly endsWithWindow?: boolean
  /** True if a reservation holds its units until it is settled, whatever the actual cost, and can renew them. */
  declare readonly leases?: boolean
  /**
   * True if the next call waits for the cost of a call, as in Guava's limiters. So any cost is admitted at once, the wait tells
   * what is used, and a state begins with the first look at it.
   */
  declare readonly paysLater?: boolean

  /** A clock that goes back by less than this stands still until it catches up. */
  get tolerance(): number {
    return toleranceOf(this.span)
  }

  /** True if the numbers stay exact when `cost` is taken with that delay, admitted or not. */
  fits(s: Numbers, i: number, at: number, cost: number, _delay: number): boolean {
    return this.#usedAt(s, i, at) + cost <= maxSafe / 2
  }

  /**
   * Counts a refused call (`countRefused`).
   * @param _wait how long the call has to wait, under whichever policy; penalties that end with the window read it
   */
  count(s: Numbers, i: number, at: number, cost: number, _wait: number): void {
    if (this.fits(s, i, at, cost, 0)) this.take(s, i, at, cost, 0)
  }

  /** Gives `cost` back, the newest units first, never beyond the full quota. Not called for a key that has its full quota. */
  refund(_s: Numbers, _i: number, _at: number, _cost: number): void {}

  /** The `since` of the ticket of what `take` has just committed at `at` with that delay. */
  bookedAt(_s: Numbers, _i: number, at: number, delay: number): number {
    return at + delay
  }

  /**
   * Gives `units` of a reservation back: those that time has not given back already. Afterwards the state is what it would
   * be had the reservation cost that much less. Called only if the ticket has the state's id.
   */
  settle(_s: Numbers, _i: number, _at: number, _units: number, _ticket: Ticket): void {}

  /** How many units of a ticket are still held. Only with `leases`. */
  held?(s: Numbers, i: number, at: number, ticket: Ticket): number

  /**
   * Rewrites a state that `from` left, which is this algorithm at another rate. Times that were promised to reservations
   * stay. Returns false, and changes nothing, for any other `from`. Absent if such a state means the same here.
   */
  adopt?(s: Numbers, i: number, at: number, from: Algorithm): boolean

  /**
   * Rewrites a state that `from` left, which is this algorithm with other numbers. Used units count `times / per` as
   * much, rounded up and limited to the capacity here. Returns false, and changes nothing, if the windows differ: then used
   * units count as just taken.
   */
  carry(_s: Numbers, _i: number, _at: number, _from: Algorithm, _times: number, _per: number): boolean {
    return false
  }

  /**
   * Makes the state at `s[i]` at least as strict as itself and as the state at `t[j]`, from the last booking on, and never
   * more permissive in sum. A full store merges keys this way. `at` is the later of the two effective times.
   */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const used = Math.max(this.#usedAt(s, i, at), this.#usedAt(t, j, at))
    s.fill(0, i, i + this.slots)
    if (used > 0) this.take(s, i, at, used, 0)
  }

  /** How many numbers `condense` writes at most. */
  get condensed(): number {
    return this.slots
  }

  /** Writes a state of at most `condensed` numbers to `t[j ...]`, which is all zeros. It is as strict as `merge` makes it. */
  condense(s: Numbers, i: number, _at: number, t: Numbers, j: number): void {
    for (let n = 0; n < this.slots; n++) t[j + n] = s[i + n] as number
  }

  /** Makes a merged state the state of one key from this call on. An interval that opens with a call opens with this one. */
  reopen?(s: Numbers, i: number, at: number): void
  /** Ends a block, and counts refusals anew. Past blocks stay known. Only where refusals are punished. */
  unblock?(s: Numbers, i: number, at: number): void

  /** How many entries of a time and a total a state has at most, without debt, under that limit. Only for logs. */
  mostEntries?(limit: number): number

  /** What the numbers promise. A bucket knows its rate, not the window that it was written in. */
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

/** A limit with its arithmetic, which a limiter takes. Immutable, and made by a constructor such as `tokenBucket`. */
export interface Policy extends PolicySettings {
  readonly algorithm: Algorithm
}
