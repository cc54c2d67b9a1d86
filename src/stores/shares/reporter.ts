import type { Clock, Sleeper } from '../../common/index.ts'
import type { Store } from '../contract/index.ts'
import { Outage } from './outage.ts'

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
  /** True once the store has answered. */
  answered = false
  readonly clock: Clock
  /** The time between two reports, in microseconds. */
  readonly period: number
  readonly #sleeper: Sleeper
  readonly #scopes: Reports[] = []
  readonly #outages = new Map<string, Outage>()
  #nextAt = 0
  #sleeping = false
  #closed = false

  constructor(store: ExactStore, period: number, clock: Clock, sleeper: Sleeper) {
    this.store = store
    this.clock = clock
    this.period = period
    this.#sleeper = sleeper
  }

  add(scope: Reports): void {
    this.#scopes.push(scope)
  }

  /** Milliseconds until the next reports, rounded up. */
  untilNext(now: number): number {
    return Math.ceil(Math.max(0, this.#nextAt - now) / 1000)
  }

  /** True if the store has never answered this process, and is known to fail: a report failed, or no connection is open. */
  isCold(keys: readonly string[]): boolean {
    return !this.answered && (this.store.connected === false || keys.some((key) => this.outageOf(key).fails))
  }

  /** The outage of the shard that has the key. */
  outageOf(key: string): Outage {
    const shard = this.store.traits?.shardOf?.(key) ?? ''
    const known = this.#outages.get(shard)
    if (known !== undefined) return known
    const outage = new Outage(this.period)
    this.#outages.set(shard, outage)
    return outage
  }

  /** Begins a period, unless one is running. */
  wake(): void {
    if (this.#sleeping || this.#closed) return
    this.#sleeping = true
    this.#nextAt = this.clock() + this.period
    this.#sleeper(this.period / 1000, () => this.#report())
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#report()
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
    if (awake) this.wake()
  }
}
