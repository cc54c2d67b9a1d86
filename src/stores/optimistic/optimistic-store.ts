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
 * Bound: docs/scale.md. Processes that nobody asks keep an equal part, and together at most what remained. A part that is larger
 * follows the demand, and needs two answers that agree. What was admitted beyond the burst is debt, which comes off what a
 * bucket gives back, so in the long run a key gets its rate.
 *
 * A report has a number and is sent, unchanged, until it is answered. The store counts it once.
 */
import { type Clock, monotonicClock } from '../../clock.ts'
import { type Sleeper, timerSleeper } from '../../sleeper.ts'
import type { BreakerTerms, Ledger, LedgerTerms, Store } from '../store.ts'
import { OptimisticLedger } from './optimistic-ledger.ts'
import { type ExactStore, Reporter } from './reporter.ts'

export class OptimisticStore implements Store {
  readonly kind?: string
  readonly synchronous = false
  readonly timeout?: number
  readonly prefix?: string
  readonly breaker?: Partial<BreakerTerms>
  declare readonly shardOf?: (keys: readonly string[]) => string
  readonly #reporter: Reporter

  /**
   * @param exact the store behind it, which all processes share
   * @param period how often a process reports, in milliseconds
   */
  constructor(exact: ExactStore, period: number, clock: Clock = monotonicClock, sleeper: Sleeper = timerSleeper(true)) {
    const { kind, timeout, prefix, breaker } = exact
    if (exact.shardOf !== undefined) this.shardOf = (keys) => exact.shardOf?.(keys) as string
    Object.assign(this, {
      ...(kind && { kind }),
      ...(timeout && { timeout }),
      ...(prefix && { prefix }),
      ...(breaker && { breaker }),
    })
    this.#reporter = new Reporter(exact, period * 1000, clock, sleeper)
  }

  open(terms: LedgerTerms): Ledger {
    return new OptimisticLedger(terms, this.#reporter)
  }
}
