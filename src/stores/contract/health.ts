import { type MaybePromise, monotonicClock } from '../../common/index.ts'
import type { Source } from '../../policy/index.ts'
import type { Command, OutcomeOf, Verb } from './command.ts'
import type { OnFailure } from './on-store-error.ts'

/** The state of a circuit breaker. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/**
 * The health of a limiter's store, as this process knows it. Limiters with the same name (`withPlan`) have the same health.
 *
 * The examples are of a store that decided 900 calls and then did not answer. Five calls timed out, the breaker opened, and this
 * process decided 100 calls.
 */
export interface Health {
  /**
   * `'closed'`: calls go to the store. `'open'`: the store failed and gets no calls. `'half-open'`: a probe of the
   * store has no answer yet.
   */
  readonly state: BreakerState
  /** When the breaker entered its state, in milliseconds since the epoch, such as 1767225600000. */
  readonly since: number
  /**
   * How many calls were decided by the store (`store`), by this process (`fallback`), or were allowed without a decision (`open`): `{
   * store: 900, fallback: 100, open: 0 }`. Calls on a store whose errors reach the caller directly, such as a memory store, are not
   * counted.
   */
  readonly sources: Readonly<Record<Source, number>>
  /** How many calls were rejected because the store failed. Example: 100 with `onStoreError: 'closed'`, or 0 with `'local'`. */
  readonly failedClosed: number
  /** How many requests to the store failed or timed out, including probes. Example: 5 after five timeouts. */
  readonly errors: number
  /** The last error of the store; undefined if the store never failed. */
  readonly lastError: unknown
  /** How many keys have units or a reset that this process must still send to the store. Example: 3 after local calls on three keys. */
  readonly owing: number
  /**
   * Since when this process cannot read the overrides of the limiter, in milliseconds since the epoch. The process then uses the last
   * overrides that it has read. Absent if the process can read the overrides.
   */
  readonly overridesUnreadSince?: number
  /** How the decisions of the candidate differ from those of the current policies. Absent if the limiter has no candidate. */
  readonly candidate?: CandidateHealth
}

/**
 * How the decisions of a candidate differ, under all plans, in this process, since the limiter was made. Example:
 * `{ compared: 1000, newlyRefused: 12, noLongerRefused: 0, undecided: 3 }`.
 */
export interface CandidateHealth {
  /** How many calls both have decided. */
  readonly compared: number
  /** How many of these calls the current policies have admitted and the candidate would refuse. */
  readonly newlyRefused: number
  /** How many of these calls the current policies have refused and the candidate would admit. */
  readonly noLongerRefused: number
  /** How many calls are not compared, because the store failed, or because the candidate cannot take the cost of the call. */
  readonly undecided: number
}

const startedAt = Math.floor(monotonicClock() / 1000)

/** The health of a store that has had no calls yet. */
export function noCalls(): Health {
  const sources = { store: 0, fallback: 0, open: 0 }
  return { state: 'closed', since: startedAt, sources, failedClosed: 0, errors: 0, lastError: undefined, owing: 0 }
}

/**
 * A ledger (a limiter's states in a store) that decides even if the store fails. Either its store cannot fail, or `withFailover` made the
 * ledger.
 */
export interface CheckedLedger {
  run<V extends Verb>(command: Command<V>, onFailure?: OnFailure): MaybePromise<OutcomeOf<V>>
  /** Returns the health of the store. Absent if the store cannot fail. */
  health?(): Health
}
