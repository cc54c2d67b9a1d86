import type { PolicySettings } from '../policy.ts'
import type { Numbers, StateOperations } from './state-operations.ts'

export type { Numbers } from './state-operations.ts'

/**
 * The numbers that a reservation needs later to give units back: when its units were booked, where they are among the
 * units that have to drain, and how much the key had been given back before. An algorithm that does not need a number
 * leaves it 0.
 */
export type Ticket = readonly [since: number, mark: number, given: number]

/** The numbers of one state at one time, filled in by `report`. */
export class Report {
  /** The largest cost admitted now, at least 0. */
  remaining = 0
  /** Microseconds until the key has its full quota again. */
  reset = 0
}

/**
 * The arithmetic of one policy: pure functions over `s[i ... i + slots)`, the state of one key. A new key's state is all
 * zeros, and `s[i]` is always the time of the last commit. Times and waits are whole microseconds.
 *
 * `at` is the effective time of the state (see `effectiveTime`). It is earlier than `s[i]` only if the clock went
 * back by `span` or more. Then what is used stays used, and counts from `at` on.
 *
 * Only `take`, `count` and `refund` write. Each leaves a state that is correct at `at`.
 */
export interface Algorithm extends StateOperations {
  /** The name of the arithmetic. With `span` and `parameters` it defines the algorithm for other languages and processes. */
  readonly kind: string
  readonly parameters: readonly number[]
  /** How many numbers a key's state has. */
  readonly slots: number
  /** True if a key needs an array of its own, which starts with `slots` numbers. */
  readonly grows: boolean
  /** One full refill, or one window. A clock that goes back by less stands still until it catches up. */
  readonly span: number
  /** True if a reservation can be promised a future time. If false, the caller has to try again. */
  readonly promises: boolean
  /** True if it judges the refusals of the other policies, and not the call. */
  readonly punishes?: boolean

  /** How long until `cost` is admitted if no other call comes: 0 is now, Infinity is never. */
  wait(s: Numbers, i: number, at: number, cost: number): number
  /** True if the numbers stay exact when `cost` is taken with that delay, admitted or not. */
  fits(s: Numbers, i: number, at: number, cost: number, delay: number): boolean
  /** Commits `cost` after `delay`, which is what `wait` returned, or 0 to count it now. A cost of 0 only brings the state to `at`. */
  take(s: Numbers, i: number, at: number, cost: number, delay: number): void
  /** Counts a refused call (`countRefused`). */
  count(s: Numbers, i: number, at: number, cost: number): void
  /**
   * Gives `cost` back, never beyond the full quota. With a ticket, gives back only what time has not given back already.
   * Not called for a key that has its full quota.
   */
  refund(s: Numbers, i: number, at: number, cost: number, ticket: Ticket | undefined): void
  /** The ticket of the booking that was just made, for a later `refund`. */
  ticket(s: Numbers, i: number): Ticket
  /** Fills `out` with the numbers at `at`. */
  report(s: Numbers, i: number, at: number, out: Report): void
}

/** A limit with its arithmetic, which a limiter takes. Immutable, and made by a constructor such as `tokenBucket`. */
export interface Policy extends PolicySettings {
  readonly algorithm: Algorithm
}
