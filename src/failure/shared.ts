import type { Clock } from '../clock.ts'
import { type Sleeper, timer } from '../stores/deadlines.ts'
import type { Store } from '../stores/store.ts'
import { Counters, type Health } from './health.ts'
import type { OnStoreError } from './on-store-error.ts'
import { Postponed } from './postponed.ts'
import { Reconciler } from './reconciler.ts'
import { StoreLink } from './store-link.ts'

export interface FailoverOptions {
  readonly onStoreError: OnStoreError | undefined
  readonly instances: number
  /** In milliseconds. */
  readonly storeTimeout: number | undefined
  readonly clock?: Clock
  readonly sleeper?: Sleeper
}

/** The most keys of each scope that are decided here: some 400 bytes each, in two books and the accounts. */
export const maxKeys = 100_000

/** What the ledgers of one name share, whatever their policies: one store that fails, and what it has yet to be told. */
export class Shared {
  readonly onStoreError: OnStoreError | undefined
  readonly instances: number
  readonly line: StoreLink
  readonly accounts: Reconciler
  readonly postponed: Postponed
  readonly counters: Counters = new Counters()

  constructor(store: Store, options: FailoverOptions, clock: Clock) {
    const { onStoreError, instances, storeTimeout, sleeper = timer } = options
    this.onStoreError = onStoreError
    this.instances = instances
    this.line = new StoreLink(store, storeTimeout, clock, sleeper)
    this.accounts = new Reconciler(this.line, maxKeys)
    this.postponed = new Postponed(this.line.breaker)
  }

  health(): Health {
    const { state, since, lastError } = this.line.breaker
    const { sources, denied } = this.counters
    return {
      state,
      since: Math.floor(since / 1000),
      sources: { ...sources },
      denied,
      errors: this.line.errors,
      lastError,
      owing: this.accounts.size,
    }
  }
}
