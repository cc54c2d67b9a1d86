import type { Source } from '../decision.ts'
import type { BreakerState } from './breaker.ts'

/** The health of a limiter's store, as this process knows it. Limiters of one name (`under`) share it. */
export interface Health {
  /** `'closed'`: the store is asked. `'open'`: it failed and is not asked. `'half-open'`: a probe is under way. */
  readonly state: BreakerState
  /** When that state began, in milliseconds since the epoch. */
  readonly since: number
  /** Calls by who answered them. Calls on a synchronous store are not counted: its failures reach the caller directly. */
  readonly sources: Readonly<Record<Source, number>>
  /** Calls rejected because of the store: by the choice `'deny'` or `'throw'`. */
  readonly denied: number
  /** Requests to the store that failed or were not answered in time. */
  readonly errors: number
  /** The last error of the store; undefined if it never failed. */
  readonly lastError: unknown
  /** Keys that the store has yet to charge or reset, for calls that were decided in this process. */
  readonly owing: number
}

export class Counters {
  readonly sources: Record<Source, number> = { store: 0, fallback: 0, open: 0 }
  denied = 0
}
