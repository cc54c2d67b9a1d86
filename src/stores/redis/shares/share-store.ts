/*
 * A store that decides without asking: each process admits by what it knows, and reports once a period to the exact store that
 * all share. The answer says what remains. The process may admit its part of that until its next report.
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
 * Bound: docs/scale.md. Processes without calls keep an equal part, together at most what remained. A part that is larger
 * follows the demand, and needs two answers that agree. Units admitted beyond the burst are debt, which reduces what a
 * bucket gives back: in the long run a key gets its rate.
 *
 * A report has a number and is sent, unchanged, until it is answered. The store counts it once.
 */
import { type Clock, monotonicClock, type Sleeper, timerSleeper } from '../../../common/index.ts'
import { withFailover } from '../../../failure/index.ts'
import type { Ledger, LedgerTerms, Store, StoreTraits } from '../../contract/index.ts'
import { type ExactStore, Reporter } from './reporter.ts'
import { ShareLedger } from './share-ledger.ts'

export class ShareStore implements Store {
  readonly synchronous = false
  readonly traits: StoreTraits
  readonly #reporter: Reporter

  /**
   * @param exact the store that all processes share
   * @param period how often a process reports, in milliseconds
   */
  constructor(exact: ExactStore, period: number, clock: Clock = monotonicClock, sleeper: Sleeper = timerSleeper(true)) {
    this.traits = { ...exact.traits }
    this.#reporter = new Reporter(exact, period * 1000, clock, sleeper)
  }

  /** Reports once more what is not reported yet, and then never again. */
  close(): void {
    this.#reporter.close()
  }

  open(terms: LedgerTerms, joins?: Ledger): Ledger {
    const instances = terms.failure?.instances ?? 1
    return withFailover(this, terms, joins, (bare) => new ShareLedger(bare, this.#reporter, instances))
  }
}
