import type { Clock, Sleeper } from '../../common/index.ts'
import type { Store } from '../contract/index.ts'
import { Outage } from './outage.ts'

/** The store that all processes share. Each process reports to this store what it has admitted. */
export interface ExactStore extends Store {
  /** False while no connection to the server of the store is open. */
  readonly connected?: boolean
}

/** An object that may have reports to send. */
export interface Reports {
  /** The number of keys with a share. */
  readonly size: number
  /** Sends the reports of all keys that have one to send. */
  report(now: number): void
}

/** Sends the reports of all limiters of a store together, once in a period, as long as a key has a share. */
export class Reporter {
  readonly store: ExactStore
  /** True as soon as the store has answered a report. */
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

  /** Milliseconds until the next reports are sent, rounded up. */
  untilNext(now: number): number {
    return Math.ceil(Math.max(0, this.#nextAt - now) / 1000)
  }

  /** True if the store has never answered, and is known to fail: a report has failed, or no connection is open. */
  isCold(keys: readonly string[]): boolean {
    return !this.answered && (this.store.connected === false || keys.some((key) => this.outageOf(key).fails))
  }

  /** The outage of the shard that stores the key. */
  outageOf(key: string): Outage {
    const shard = this.store.traits?.shardOf?.(key) ?? ''
    const known = this.#outages.get(shard)
    if (known !== undefined) return known
    const outage = new Outage(this.period)
    this.#outages.set(shard, outage)
    return outage
  }

  /** Starts the timer for the next reports, unless the timer is running. */
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
