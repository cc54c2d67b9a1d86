import { HeadgateError } from '../errors.ts'
import { type BurstOptions, type Terms, terms } from '../policy.ts'

/** Where states live: many keys in one array, or one growing array of a key's own. */
export type Numbers = Float64Array | number[]

/**
 * What settling a reservation must know: when its units were booked, where they stand in what has to drain, and what
 * the key had been given back before. Read from the state right after the booking; 0 where an algorithm has no use for it.
 */
export type Ticket = readonly [since: number, mark: number, given: number]

/** The numbers of one state at one time, filled in by `report`. */
export class Report {
  /** The largest cost admitted now, at least 0. */
  remaining = 0
  /** How long until the key cannot be told from a new one, in microseconds. */
  reset = 0
}

/**
 * The arithmetic of one policy: pure functions over `s[i ... i + slots)`, the state of one key. All zeros is the
 * state of a new key, and `s[i]` is always the time of the last commit. Times and waits are whole microseconds.
 *
 * `at` is the time by the state's own reckoning (see `standing` in step.ts). It is earlier than `s[i]` only when the
 * clock went back by a full window or more: then what is used is kept and counted from `at` on.
 *
 * Only `take`, `count` and `refund` write, and each leaves a state that is true at `at`.
 */
export interface Algorithm {
  /** Names the arithmetic and, with `span`, gives all its numbers: for a store that restates it in its own language. */
  readonly kind: string
  readonly parameters: readonly number[]
  /** How many numbers a key's state has; `grows` when a key needs an array of its own, which starts with these. */
  readonly slots: number
  readonly grows: boolean
  /** One full refill, or one window: a clock that goes back by less stands still until it catches up. */
  readonly span: number
  /** Whether a future time can be promised to a reservation; where not, the caller has to ask again. */
  readonly promises: boolean
  /** Whether it judges the refusals of the other policies, and not the call. */
  readonly punishes?: boolean

  /** How long until `cost` is admitted if nothing else comes: 0 is now, Infinity is never. */
  wait(s: Numbers, i: number, at: number, cost: number): number
  /** Whether the numbers stay exact when `cost` is taken with that delay, whatever the promise. */
  fits(s: Numbers, i: number, at: number, cost: number, delay: number): boolean
  /** Commits `cost` (0 only brings the state to `at`). `delay` is what `wait` said, or 0 to count it now all the same. */
  take(s: Numbers, i: number, at: number, cost: number, delay: number): void
  /** Counts a refused call (`countRefused`). */
  count(s: Numbers, i: number, at: number, cost: number): void
  /** Gives `cost` back of a key that is not like new, never over full; of a reservation only what time has not given back. */
  refund(s: Numbers, i: number, at: number, cost: number, ticket: Ticket | undefined): void
  /** What `refund` wants to know of the booking just made. */
  ticket(s: Numbers, i: number): Ticket
  /** Fills `out` with the numbers as they are now. */
  report(s: Numbers, i: number, at: number, out: Report): void
  /** Rewrites a state that `from`, this algorithm at another rate, left; where absent, such a state means the same here. */
  adopt?(s: Numbers, i: number, at: number, from: Algorithm): void
  /**
   * Rewrites a state that `from`, this algorithm with other numbers, left: what is used counts `times / per` as much,
   * rounded up and clamped to what is admitted here. False, and nothing is done, where their windows are not the same.
   */
  carry(s: Numbers, i: number, at: number, from: Algorithm, times: number, per: number): boolean
  /**
   * Makes the state at `s[i]` at least as strict as it is and as that at `t[j]`, now and for all time to come: for a
   * store in which keys have to share a state. `at` is the later time by the reckoning of the two.
   */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void
  /** Makes a state that was shared a key's own, from a call on: an interval that opens with a call opens with this one. */
  reopen?(s: Numbers, i: number, at: number): void
  /** Of a state that grows: how many numbers there are of it at most once it is condensed. */
  readonly condensed?: number
  /** Writes to `t[j ...]`, which is all zeros, a state of at most `condensed` numbers that is at least as strict. */
  condense?(s: Numbers, i: number, at: number, t: Numbers, j: number): void
}

/** A promise with its arithmetic: what a limiter takes. Made by the constructors, never by hand; immutable. */
export interface Policy extends Terms {
  readonly algorithm: Algorithm
}

type Remake = (limit: number, burst: number | undefined) => Policy

/** How each policy is made again with another limit. */
const makers = new WeakMap<Policy, Remake>()

/** Joins a promise with its arithmetic. @param remake makes the same policy with another limit */
export function makePolicy(promise: Terms, algorithm: Algorithm, remake: Remake): Policy {
  const policy = Object.freeze({ ...promise, algorithm: Object.freeze(algorithm) })
  makers.set(policy, remake)
  return policy
}

/**
 * The same policy with another limit; its states can be adopted. A burst that was not given follows the limit.
 * @param burst in place of one that was given; left out, that stays
 * @throws HeadgateError as its constructor does, or `HEADGATE_POLICY` for a policy that no constructor made
 */
export function withLimit(policy: Policy, limit: number, burst?: number): Policy {
  const remake = makers.get(policy)
  if (remake !== undefined) return remake(limit, burst)
  throw new HeadgateError(
    'HEADGATE_POLICY',
    'A policy is made by a constructor such as tokenBucket({ limit, window }).',
  )
}

/** Validates the options and joins them with the arithmetic that `build` makes of the terms, window in microseconds. */
export function definePolicy(
  name: string,
  options: BurstOptions,
  extra: readonly string[],
  build: (terms: Terms, window: number) => Algorithm,
): Policy {
  const promise = terms(name, options, extra)
  return makePolicy(promise, build(promise, promise.window * 1000), (limit, burst) =>
    definePolicy(name, { ...options, limit, ...(options.burst && burst ? { burst } : {}) }, extra, build),
  )
}
