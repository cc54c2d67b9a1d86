import type { PolicySettings } from '../policy.ts'
import type { Numbers, StateOperations } from './state-operations.ts'

export type { Numbers } from './state-operations.ts'

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

/**
 * The arithmetic of one policy: pure functions over `s[i ... i + slots)`, the state of one key. A new key's state is all
 * zeros, and `s[i]` is always the time of the last commit. Times and waits are whole microseconds.
 *
 * `at` is the effective time of the state (see `effectiveTime`). It is earlier than `s[i]` only if the clock went
 * back by `tolerance` or more. Then what is used stays used, and counts from `at` on.
 *
 * Only `take`, `count`, `refund` and `settle` write. Each leaves a state that is correct at `at`.
 */
export interface Algorithm extends StateOperations {
  /** The name of the arithmetic. With `span` and `parameters` it defines the algorithm for other languages and processes. */
  readonly kind: Kind
  readonly parameters: readonly number[]
  /** How many numbers a key's state has. */
  readonly slots: number
  /** True if a key needs an array of its own, which starts with `slots` numbers. */
  readonly grows: boolean
  /** True if a key needs an array of its own while it has reservations that may still be settled. */
  readonly growsByBooking?: boolean
  /**
   * Which number of the state holds the id that its reservations share; it is 0 while there is none. A ticket with another
   * id settles nothing: its units were forgotten, by a reset or by time. Absent if nothing can be settled.
   */
  readonly idSlot?: number
  /** One full refill, or one window. */
  readonly span: number
  /** A clock that goes back by less than this stands still until it catches up. */
  readonly tolerance: number
  /** True if a reservation can be promised a future time. If false, the caller has to try again. */
  readonly promises: boolean
  /** True if it judges the refusals of the other policies, and not the call. */
  readonly punishes?: boolean
  /** With `punishes`: true if it also counts the refusals that are its own. Then each refusal changes its state. */
  readonly countsAlways?: boolean
  /** With `punishes`: true if the other policies of its key count anew when a block begins. */
  readonly restarts?: boolean
  /** With `punishes`: true if a block lasts as long as the refused call has to wait. */
  readonly endsWithWindow?: boolean
  /** True if a reservation holds its units until it is settled, whatever the actual cost, and can renew them. */
  readonly leases?: boolean

  /** How long until `cost` is admitted if no other call comes: 0 is now, Infinity is never. */
  wait(s: Numbers, i: number, at: number, cost: number): number
  /** True if the numbers stay exact when `cost` is taken with that delay, admitted or not. */
  fits(s: Numbers, i: number, at: number, cost: number, delay: number): boolean
  /** Commits `cost` after `delay`, which is what `wait` returned, or 0 to count it now. A cost of 0 only brings the state to `at`. */
  take(s: Numbers, i: number, at: number, cost: number, delay: number): void
  /**
   * Counts a refused call (`countRefused`).
   * @param wait how long the call has to wait, under whichever policy; penalties that end with the window read it
   */
  count(s: Numbers, i: number, at: number, cost: number, wait: number): void
  /** Gives `cost` back, the newest units first, never beyond the full quota. Not called for a key that has its full quota. */
  refund(s: Numbers, i: number, at: number, cost: number): void
  /** The `since` of the ticket of what `take` has just committed at `at` with that delay. */
  bookedAt(s: Numbers, i: number, at: number, delay: number): number
  /**
   * Gives `units` of a reservation back: those that time has not given back already. Afterwards the state is what it would
   * be had the reservation cost that much less. Called only if the ticket has the state's id.
   */
  settle(s: Numbers, i: number, at: number, units: number, ticket: Ticket): void
  /** How many units of a ticket are still held. Only with `leases`. */
  held?(s: Numbers, i: number, at: number, ticket: Ticket): number
  /** Fills `out` with the numbers at `at`. */
  report(s: Numbers, i: number, at: number, out: Report): void
}

/** A limit with its arithmetic, which a limiter takes. Immutable, and made by a constructor such as `tokenBucket`. */
export interface Policy extends PolicySettings {
  readonly algorithm: Algorithm
}
