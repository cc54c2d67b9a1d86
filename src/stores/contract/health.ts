import { HeadgateError, type MaybePromise, monotonicClock } from '../../common/index.ts'
import type { Source } from '../../policy/index.ts'
import type { Command, OutcomeOf, Verb } from './command.ts'
import type { OnFailure } from './on-store-error.ts'
import { isFallible, type Ledger, type LedgerTerms, type Store } from './store.ts'

/** The state of a circuit breaker. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/**
 * The health of a limiter's store, as this process knows it. Limiters of one name (`withPlan`) share it.
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
  /** Calls rejected because of the store, by the action `'closed'` or `'throw'`: 0. With `onStoreError: 'closed'` it would be 100. */
  readonly failedClosed: number
  /** Requests to the store that failed or timed out: 5. Each probe that fails adds one. */
  readonly errors: number
  /** The last error of the store; undefined if it never failed. */
  readonly lastError: unknown
  /** Keys that the store has yet to be charged or reset for. After local calls on three keys it is 3. */
  readonly owing: number
}

const startedAt = Math.floor(monotonicClock() / 1000)

/** The health of a store that has had no calls. */
export function noCalls(): Health {
  const sources = { store: 0, fallback: 0, open: 0 }
  return { state: 'closed', since: startedAt, sources, failedClosed: 0, errors: 0, lastError: undefined, owing: 0 }
}

/** What a limiter opens: a ledger that cannot fail, or a ledger of `withFailover`, which decides even if the store fails. */
export interface CheckedLedger {
  run<V extends Verb>(command: Command<V>, onFailure?: OnFailure): MaybePromise<OutcomeOf<V>>
  /** The health of the store. Absent if the store cannot fail. */
  health?(): Health
}

/**
 * Opens a limiter's ledger in a store.
 * @throws HeadgateError `HEADGATE_OPTION` for a store that can fail and does not use `withFailover`
 */
export function openLedger(store: Store, terms: LedgerTerms, joins?: Ledger): CheckedLedger {
  const ledger: CheckedLedger = store.open(terms, joins)
  if (!isFallible(store) || ledger.health !== undefined) return ledger
  throw new HeadgateError(
    'HEADGATE_OPTION',
    'This store can fail, and its ledgers do not say what happens then. Write in its open(): ' +
      'return withFailover(this, terms, joins, (terms) => new MyLedger(terms)), with withFailover of headgate/store. ' +
      'A store that cannot fail says traits: { fallible: false }.',
  )
}
