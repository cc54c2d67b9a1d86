import type { Source } from '../decision.ts'
import type { BreakerState } from './breaker.ts'

/** How a limiter's store is, as far as this process knows: the same for all limiters of its name (`under`). */
export interface Health {
  /** `'closed'`: the store is asked. `'open'`: it failed, and is not. `'half-open'`: a probe is under way. */
  readonly state: BreakerState
  /** When that began, in milliseconds since the epoch. */
  readonly since: number
  /** Calls by who answered them. Not counted on a store that answers at once: that one's failures are its caller's. */
  readonly sources: Readonly<Record<Source, number>>
  /** Calls rejected with `HEADGATE_STORE_UNAVAILABLE`. */
  readonly denied: number
  /** Calls of the store that failed or were not answered in time. */
  readonly errors: number
  /** What the store failed with last; undefined if it never did. */
  readonly lastError: unknown
  /** Keys that spent something here, or were reset, which the store has yet to be told. */
  readonly owing: number
}

export class Counters {
  readonly sources: Record<Source, number> = { store: 0, fallback: 0, open: 0 }
  denied = 0
}
