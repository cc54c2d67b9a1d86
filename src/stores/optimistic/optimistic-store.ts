/*
 * A store that decides without asking: each process admits by what it knows, and reports to the exact store behind it once
 * a period. The answer says what remains, and the process may admit its part of that until its next report.
 *
 *     process A   admit admit admit |report|      admit admit |report|
 *                                       \    ^                    \
 *     store                              charge: 40 remain         charge ...
 *                                          /    v
 *     process B   admit admit |report|    admit  admit  admit |report|
 *
 * The parts follow the demand, so a process with three quarters of the requests has three quarters of the units. That is how
 * Google's Doorman divides capacity, and Uber's limiter a quota.
 *
 * Bound: what all processes admit in two periods and two round trips, beyond the limit, for each key. A key that a process
 * has not seen begins with a part as large as that of each other process, and at least with one unit. A process that has not
 * counted the others yet takes itself for the only one.
 */
import { type Clock, monotonicClock } from '../../clock.ts'
import { withFailover } from '../../failure/failover-ledger.ts'
import { type Sleeper, timerSleeper } from '../../sleeper.ts'
import type { Ledger, LedgerTerms, Store, StoreTraits } from '../store.ts'
import { OptimisticLedger } from './optimistic-ledger.ts'
import { Reporter } from './reporter.ts'

export class OptimisticStore implements Store {
  readonly synchronous = false
  readonly traits: StoreTraits
  readonly #reporter: Reporter

  /**
   * @param exact the store behind it, which all processes share
   * @param period how often a process reports, in milliseconds
   */
  constructor(exact: Store, period: number, clock: Clock = monotonicClock, sleeper: Sleeper = timerSleeper(true)) {
    this.traits = { ...exact.traits }
    this.#reporter = new Reporter(exact, period * 1000, clock, sleeper)
  }

  open(terms: LedgerTerms, joins?: Ledger): Ledger {
    return withFailover(this, terms, joins, (bare) => new OptimisticLedger(bare, this.#reporter))
  }
}
