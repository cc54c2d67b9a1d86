import type { CallerCalendar, PolicySettings } from '../policy/index.ts'
import { toleranceOf } from './effective-time.ts'
import { maxSafe } from './exact-math.ts'
import { type Description, type Facts, type Terms, usedWords } from './inspected-state.ts'

/** The array that contains a state: a Float64Array for the states of many keys, or an array for one key, which can grow. */
export type Numbers = Float64Array | number[]

/**
 * Identifies a reservation, so that the reservation can be settled (corrected to its actual cost) later. `since`: the time, the window or
 * the segment in which the reservation's units count; the end of a calendar window. `id`: the id that all open reservations of the state
 * share (`Algorithm.idSlot`). `units`: how many units the reservation took. All three are 0 if the reservation cannot be settled.
 * `expiry`: when the state gives the units back, unless the reservation is settled before. Absent if the units stay used.
 */
export type Ticket = readonly [since: number, id: number, units: number, expiry?: number]

/**
 * The kinds of algorithms. A table with an entry for each kind is a `Record` of this type, so the compiler reports every
 * table that has no entry for a new kind.
 */
export type Kind =
  | 'bucket'
  | 'intervalBucket'
  | 'slidingWindow'
  | 'segmentedWindow'
  | 'slidingLog'
  | 'concurrency'
  | 'calendarWindow'
  | 'smoothBursty'
  | 'smoothWarmingUp'
  | 'penalty'

/**
 * The starts of four windows of a calendar, in whole microseconds since the epoch: the previous window, the present window, the next
 * window, and the window after the next.
 */
export type Windows = readonly [before: number, present: number, next: number, last: number]

/** The calendar of a policy: an object of `headgate/calendar`, which knows time zones. */
export interface Calendar {
  /** The parts of the customer's calendar that each call has to give: `'anchor'`, `'timeZone'`, both or none. */
  readonly asks: readonly (keyof CallerCalendar)[]
  /** True if all windows have the length `window` of the policy. */
  readonly even?: boolean
  /**
   * The windows around `now`. Undefined if the call does not give every part in `asks`.
   * @param caller the customer's calendar that the call gives. Only the parts in `asks` are read
   * @throws HeadgateError `HEADGATE_CALENDAR` if a value is invalid
   */
  windowsAt(now: number, caller: CallerCalendar | undefined): Windows | undefined
}

/** The numbers that `Algorithm.report` calculates from a state, for one time. */
export class Report {
  /** The largest cost that would be admitted at that time, at least 0. */
  remaining = 0
  /** Microseconds until the key has its full quota again. */
  reset = 0
  /** The used units, rounded up. Units booked for a later time and units of counted refusals are included. */
  used = 0
}

const report = new Report()

/** The reservations of a state that give their units back when they expire. `wait` and `report` take the expiries into account. */
export interface Expiring {
  /** True if no more reservations that expire fit into the state. */
  isFull(s: Numbers, at: number): boolean
  /** Adds the reservation with this ticket to the state. The state is in an array of its own. */
  add(s: number[], ticket: Ticket): void
  /** Removes a settled reservation, so that it does not expire. Returns false if the state does not have the reservation of the ticket. */
  remove(s: Numbers, ticket: Ticket): boolean
}

/**
 * The arithmetic of one policy: pure functions over `s[i ... i + slots)`, the state of one key. A new key's state is all zeros, and
 * `s[i]` is always the time of the last change. Times and waits are whole microseconds.
 *
 * `at` is the time at which the state is evaluated: the time of the clock, or `s[i]` while the clock is a little behind (`effectiveTime`).
 * `at` is earlier than `s[i]` only if the clock went back by `tolerance` or more. In that case, used units stay used, and time counts from
 * `at` on.
 *
 * Only `take`, `count`, `refund`, `settle` and the rare operations (from `adopt` to `unban`) change a state. Each of these methods
 * leaves a state that is correct at the time `at`.
 *
 * An algorithm must define the seven abstract members. The defaults of the other members are correct, but may be stricter than
 * necessary.
 */
export abstract class Algorithm {
  /** The name of the algorithm. `kind`, `span` and `parameters` define the algorithm for other languages and processes. */
  abstract readonly kind: Kind
  abstract readonly parameters: readonly number[]
  /** How many numbers a key's state has. */
  abstract readonly slots: number
  /** Microseconds of one full refill, or of one window. */
  abstract readonly span: number
  /** Microseconds until `cost` is admitted if no other call comes: 0 means now, Infinity means never. */
  abstract wait(s: Numbers, i: number, at: number, cost: number): number
  /** Counts `cost` as used. `delay` is the result of `wait`, or 0 to count now. A cost of 0 only updates the state to the time `at`. */
  abstract take(s: Numbers, i: number, at: number, cost: number, delay: number): void
  /** Writes the numbers of the state at the time `at` to `out`. */
  abstract report(s: Numbers, i: number, at: number, out: Report): void

  /** False if the algorithm never gives units back: `refund` and `settle` are then the defaults, which do nothing. */
  readonly settles: boolean = true
  /** True if a state can have more than `slots` numbers. Each state is then stored in its own array, and `condense` must be overridden. */
  readonly grows: boolean = false
  /** The most numbers that open reservations add to a state. If above 0, a state with such numbers is stored in its own array. */
  readonly bookingNumbers: number = 0
  /** The reservations of a state that give their units back when they expire. Absent if the algorithm has no such reservations. */
  declare readonly expiring?: Expiring
  /** True if a reservation can be granted for a future time. If false, a reservation that has to wait is refused. */
  readonly promises: boolean = false
  /**
   * The index, in a state, of the id that all open reservations of the state share. The id is 0 while no reservation is open. A reservation
   * whose ticket has another id gives nothing back, because a reset or time has removed its units. Absent if no reservation can be settled.
   */
  declare readonly idSlot?: number
  /**
   * The index, in a state, of the largest threshold that was reported in the running window, in millionths (see thresholds.ts).
   * Absent for an algorithm without thresholds.
   */
  declare readonly toldSlot?: number
  /**
   * True if each refund increases the id of the open reservations by the refunded units. The settlement of an earlier reservation then
   * gives back that many units less, because the refund may already have given back the same units. Needed if a state has one counter for a
   * span of time, and does not store the lowest value of the counter since each reservation.
   */
  declare readonly idCountsRefunds?: boolean
  /** True for a penalty: an algorithm that counts refusals by the other policies, not admitted calls. */
  declare readonly punishes?: boolean
  /** True for a penalty (`punishes`) whose own refusals count too. Each refusal then changes the penalty's state. */
  declare readonly countsAlways?: boolean
  /** True for a penalty (`punishes`) that resets the other policies of the key at the start of a ban. */
  declare readonly restarts?: boolean
  /** True for a penalty (`punishes`) whose bans last as long as the refused call has to wait. */
  declare readonly endsWithWindow?: boolean
  /** True for a penalty (`punishes`) whose bans begin when a quota is spent. False if bans begin after refusals. */
  declare readonly spends?: boolean
  /** The same penalty (with `spends`), but with bans that reset no policy. Absent if the bans of this penalty already reset no policy. */
  declare readonly unreset?: Algorithm | undefined
  /** True if units stay used until their reservation is settled, or its lease ends without a renewal, as the units of unfinished calls. */
  declare readonly leases?: boolean
  /**
   * True if the cost of a call delays the next call, and not the call itself, as in Guava's limiters. Any cost is then admitted as soon
   * as the wait for earlier costs is over. `wait` depends on the used units only. The first read of a key creates its state.
   */
  declare readonly paysLater?: boolean

  /** In microseconds. If the clock goes back by less than the tolerance, the state's time does not change until the clock has caught up. */
  get tolerance(): number {
    return toleranceOf(this.span)
  }

  /** True if the numbers of the state stay exact when `cost` is counted after `_delay`, whether or not the cost would be admitted. */
  fits(s: Numbers, i: number, at: number, cost: number, _delay: number): boolean {
    return this.#usedAt(s, i, at) + cost <= maxSafe / 2
  }

  /**
   * Counts the cost of a refused call, for the option `countRefused`.
   * @param _wait microseconds that the call has to wait under all policies; read only by penalties whose bans end with the window
   */
  count(s: Numbers, i: number, at: number, cost: number, _wait: number): void {
    if (this.fits(s, i, at, cost, 0)) this.take(s, i, at, cost, 0)
  }

  /** Gives `cost` units back, the newest used units first, but never beyond the full quota. Not called for a key with its full quota. */
  refund(_s: Numbers, _i: number, _at: number, _cost: number): void {}

  /** The number `since` of the ticket that identifies a reservation. Called immediately after `take`, with the same `at` and `delay`. */
  bookedAt(_s: Numbers, _i: number, at: number, delay: number): number {
    return at + delay
  }

  /** Only for windows of a calendar: the windows around the present call. Called before any other method of a call. */
  place?(windows: Windows): void

  /** True if a settlement changes nothing, because the window of the ticket is over. Absent if tickets do not end with a window. */
  lapsed?(at: number, ticket: Ticket): boolean

  /**
   * Gives back the unused `units` of a reservation, except units that have become free with time already. Afterwards, the state is as if
   * the reservation had cost `units` less. Called only if the id in the reservation's ticket is the id in the state.
   */
  settle(_s: Numbers, _i: number, _at: number, _units: number, _ticket: Ticket): void {}

  /** How many units of a reservation are still in flight: neither released nor freed at the end of the lease. Only with `leases`. */
  held?(s: Numbers, i: number, at: number, ticket: Ticket): number

  /**
   * Rewrites a state that was written by `from`, the same algorithm with another rate. Times that were promised to reservations do not
   * change. If `from` is another algorithm, changes nothing and returns false. Absent if a state means the same at any rate.
   */
  adopt?(s: Numbers, i: number, at: number, from: Algorithm): boolean

  /** True if `from` does the same arithmetic over the same window, so that `carry` can rewrite a state of `from` for this algorithm. */
  continues(_from: Algorithm): boolean {
    return false
  }

  /**
   * Rewrites a state that the algorithm `from` wrote into a state of this algorithm. Called only if `continues(from)` is true. Multiplies
   * the used units by `times / per`, rounded up.
   */
  carry(_s: Numbers, _i: number, _at: number, _from: Algorithm, _times: number, _per: number): void {}

  /**
   * The wait for `cost` under the same policy with another `capacity`, if used units are multiplied by the ratio of the two capacities.
   * Absent if this wait is the wait under the state that `carry` writes.
   */
  scaledWait?(s: Numbers, i: number, at: number, cost: number, capacity: number): number

  /**
   * Merges the state at `t[j]` into the state at `s[i]`. A full store merges the states of several keys to save memory. Units may be booked
   * for later times. After the last of these times, the merged state is at least as strict as each of the two states; before that time, the
   * merged state admits no more units in sum. `at`: the later of the times at which the two states are evaluated.
   */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    const used = Math.max(this.#usedAt(s, i, at), this.#usedAt(t, j, at))
    s.fill(0, i, i + this.slots)
    if (used > 0) this.take(s, i, at, used, 0)
  }

  /** How many numbers of a state `condense` writes at most. */
  get condensed(): number {
    return this.slots
  }

  /**
   * Writes a shorter state, of at most `condensed` numbers, to `t[j ...]`, which is all zeros. The shorter state is at least as strict
   * as the state.
   */
  condense(s: Numbers, i: number, _at: number, t: Numbers, j: number): void {
    for (let n = 0; n < this.slots; n++) t[j + n] = s[i + n] as number
  }

  /**
   * Turns a merged state into the state of one key, when that key is called. If the first call of a key opens an interval, this call
   * opens an interval.
   */
  reopen?(s: Numbers, i: number, at: number): void
  /** Ends a ban, and counts refusals from 0 again. The number of earlier bans does not change. Only for a penalty (`punishes`). */
  unban?(s: Numbers, i: number, at: number): void
  /** Records that a reservation may give `units` back. Returns the ticket that `settle` needs for these units. Only with `spends`. */
  hold?(s: Numbers, i: number, at: number, units: number): Ticket
  /** Begins a ban. Returns the duration of the ban in microseconds; 0 if the key is already banned. Only with `spends`. */
  spend?(s: Numbers, i: number, at: number): number

  /** Only for logs: the most entries (each a time and a running total) of a state whose used units do not exceed this limit. */
  mostEntries?(limit: number): number

  /** The limit, window and burst, calculated from the parameters. A bucket knows its rate, not the window that the user wrote. */
  get terms(): Terms {
    const [limit = 0] = this.parameters
    return { limit, window: this.span / 1000, burst: limit }
  }

  /** Describes a state in words and numbers, for people. The state is already changed to what it is at the time `facts.at`. */
  describe(_s: readonly number[], facts: Facts): Description {
    return { words: usedWords(facts), numbers: { used: facts.used } }
  }

  #usedAt(s: Numbers, i: number, at: number): number {
    this.report(s, i, at, report)
    return report.used
  }
}

/** A limit, with the algorithm that decides calls under the limit. A policy is immutable. Functions such as `tokenBucket` make policies. */
export interface Policy extends PolicySettings {
  readonly algorithm: Algorithm
  /** The longest wait that a response reports to a refused client, in milliseconds. Only for a `concurrency` policy. */
  readonly retryAfter?: number
  /** The calendar that says when windows begin. Only for a `calendarWindow`, and for a `fixedWindow` with `thresholds` or `giveBack`. */
  readonly calendar?: Calendar
  /** The parts of the quota that are reported once in each window, in ascending order. Only for a policy with a calendar. */
  readonly thresholds?: readonly number[]
}
