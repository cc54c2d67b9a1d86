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
import { type Sleeper, timerSleeper } from '../../sleeper.ts'
import type { BreakerTerms, Ledger, LedgerTerms, Store } from '../store.ts'
import { OptimisticLedger } from './optimistic-ledger.ts'
import { Reporter } from './reporter.ts'

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
  constructor(exact: Store, period: number, clock: Clock = monotonicClock, sleeper: Sleeper = timerSleeper(true)) {
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
