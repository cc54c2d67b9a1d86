import type { Clock, Sleeper } from '../../../common/index.ts'
import type { Store } from '../../contract/index.ts'
import type { Outage } from './outage.ts'
import { Processes } from './processes.ts'

/** The store that all processes share: the shares report to it. */
export interface ExactStore extends Store {
  /** False while no connection to the store is open. */
  readonly connected?: boolean
}

/** An object that has something to report. */
export interface Reports {
  /** How many keys it has. */
  readonly size: number
  /** Sends the reports that are due. */
  report(now: number): void
}

/** Sends the reports of all limiters of a store together, once in each period with anything to report. */
export class Reporter {
  readonly store: ExactStore
  /** True once the store has answered a report. */
  answered = false
  readonly clock: Clock
  readonly processes: Processes
  /** The time between two reports, in microseconds. */
  readonly period: number
  readonly #sleeper: Sleeper
  readonly #scopes: Reports[] = []
  #nextAt = 0
  #sleeping = false
  #closed = false

  constructor(store: ExactStore, period: number, clock: Clock, sleeper: Sleeper) {
    this.store = store
    this.clock = clock
    this.period = period
    this.#sleeper = sleeper
    this.processes = new Processes(store, period / 1000, clock, sleeper)
  }

  add(scope: Reports): void {
    this.#scopes.push(scope)
  }

  /** Microseconds until the next reports. */
  untilNext(now: number): number {
    return Math.max(0, this.#nextAt - now)
  }

  /** True if the store has never answered this process, and is known to fail: a report failed, or no connection is open. */
  isColdWithout(outage: Outage): boolean {
    if (this.answered || this.processes.counted) return false
    return outage.fails || this.processes.failed || this.store.connected === false
  }

  /** Begins a period, unless one is running. */
  wake(now: number): void {
    if (this.#sleeping || this.#closed) return
    this.#sleeping = true
    this.processes.wake(now)
    this.#nextAt = now + this.period
    this.#sleeper(this.period / 1000, () => this.#report())
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#report()
    this.processes.end()
    this.store.close?.()
  }

  #report(): void {
    this.#sleeping = false
    const now = this.clock()
    let awake = false
    for (const scope of this.#scopes) {
      scope.report(now)
      if (scope.size > 0) awake = true
    }
    if (awake) this.wake(now)
  }
}
