import { type Clock, getOrInsert, type Sleeper } from '../../common/index.ts'
import type { Store } from '../contract/index.ts'
import { Outage } from './report-outage.ts'

/** The store that all processes share. Each process reports to this store what it has admitted. */
export interface ExactStore extends Store {
  /** False while no connection to the server of the store is open. */
  readonly connected?: boolean
}

/** What a `Reporter` needs from the shares (units to admit) of keys in one scope (kind of key) under one plan (set of policies). */
export interface Reports {
  /** The name of the limiter and of the scope (kind of key), in one text. */
  readonly name: string
  /** The policies as JSON, by which a plan (set of policies) that is made a second time finds its earlier shares (units to admit). */
  readonly text: string
  /** The id by which the store knows the sender of reports. No other process, limiter or plan (set of policies) has the same id. */
  readonly sender: string
  /** The number of keys of which this process may admit units by itself. */
  readonly size: number
  /** Sends a report for each key that has something to report. */
  report(now: number): void
}

/** Sends the reports of all limiters on a store at the same time: once in each period, as long as any key has a share (units to admit). */
export class Reporter<Shares extends Reports> {
  readonly store: ExactStore
  /** True as soon as the store has answered a report. */
  answered = false
  readonly clock: Clock
  /** The time between two reports, in microseconds. */
  readonly period: number
  readonly #sleeper: Sleeper
  /**
   * The shares (units to admit) of each plan (set of policies): first by the name of the limiter with the scope, then by the plan's text.
   */
  readonly #scopes = new Map<string, Map<string, Shares>>()
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

  add(shares: Shares): void {
    const plans = getOrInsert(this.#scopes, shares.name, () => new Map<string, Shares>())
    const known = plans.get(shares.text)
    plans.set(known === undefined || known === shares ? shares.text : shares.sender, shares)
  }

  /** The shares of all plans (sets of policies) under which keys have units to admit. @param name the name of the limiter, and the scope */
  plansOf(name: string): Iterable<Shares> {
    return this.#scopes.get(name)?.values() ?? []
  }

  /**
   * The shares (units to admit here) that keys have under the same policies, because their plan (set of policies) was also made before.
   * Undefined if no key has such a share.
   */
  known({ name, text }: Shares): Shares | undefined {
    return this.#scopes.get(name)?.get(text)
  }

  /** Milliseconds until the next reports are sent, rounded up. */
  untilNext(now: number): number {
    return Math.ceil(Math.max(0, this.#nextAt - now) / 1000)
  }

  /** True if the store has never answered a report, and is known to fail: a report has failed, or no connection is open. */
  isCold(keys: readonly string[]): boolean {
    return !this.answered && (this.store.connected === false || keys.some((key) => this.outageOf(key).fails))
  }

  /** The outage of the shard that stores the key. */
  outageOf(key: string): Outage {
    const shard = this.store.traits?.shardOf?.(key) ?? ''
    return getOrInsert(this.#outages, shard, () => new Outage(this.period))
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
    for (const [name, plans] of this.#scopes) {
      for (const [id, shares] of plans) {
        shares.report(now)
        if (shares.size === 0) plans.delete(id)
      }
      if (plans.size === 0) this.#scopes.delete(name)
    }
    if (this.#scopes.size > 0) this.wake()
  }
}
