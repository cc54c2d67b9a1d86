import type { Source } from '../decision.ts'
import type { BreakerState } from './breaker.ts'

/**
 * The health of a limiter's store, as this process knows it. Limiters of one name (`under`) share it.
 *
 * The examples: a store decided 900 calls, then it began to hang. Five calls timed out, the breaker opened, and 100 calls
 * in all were decided in this process.
 */
export interface Health {
  /**
   * `'closed'`: calls go to the store. `'open'`: the store failed and gets no calls. `'half-open'`: a probe is under
   * way.
   */
  readonly state: BreakerState
  /** When that state began, in milliseconds since the epoch, such as 1767225600000. */
  readonly since: number
  /**
   * Calls by what decided them: `{ store: 900, fallback: 100, open: 0 }`. Calls on a synchronous store are not counted,
   * because its failures reach the caller directly.
   */
  readonly sources: Readonly<Record<Source, number>>
  /** Calls rejected because of the store, by the action `'deny'` or `'throw'`: 0. With `onStoreError: 'deny'` it would be 100. */
  readonly denied: number
  /** Requests to the store that failed or timed out: 5. Each probe that fails adds one. */
  readonly errors: number
  /** The last error of the store; undefined if it never failed. */
  readonly lastError: unknown
  /** Keys that the store has yet to be charged or reset for. After local calls on three keys it is 3. */
  readonly owing: number
}

export class Counters {
  readonly sources: Record<Source, number> = { store: 0, fallback: 0, open: 0 }
  denied = 0
}

/** The health of a store that no call has asked through a breaker. */
export function noCalls(since: number): Health {
  const sources = { store: 0, fallback: 0, open: 0 }
  return { state: 'closed', since, sources, denied: 0, errors: 0, lastError: undefined, owing: 0 }
}
