/*
 * A ledger that decides every call: by the store, or by `onStoreError` if the store fails.
 *
 *     call -> breaker closed? -> settle what the key owes -> store, within the deadline -> decision
 *                  |                        |                        |
 *                  no                     fails                    fails
 *                  +------------------------+------------------------+--> the choice -> deny: an error
 *                                                                                       allow: let through, uncounted
 *                                                                                       local: decided in this process
 */
import type { Costs } from '../algorithms/evaluation.ts'
import { monotonicClock } from '../clock.ts'
import type { Decision } from '../decision.ts'
import type { KeptKey, KeyPage } from '../inspection/kept-key.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import { realSleeper } from '../sleeper.ts'
import type { Booking, DecideOptions, DecideVerb, Ledger, LedgerTerms, ReserveOptions, Store } from '../stores/store.ts'
import { type Call, DecideCall, ReserveCall, ResetCall } from './calls.ts'
import { DeferredRefunds } from './deferred-refunds.ts'
import { Fallback } from './fallback.ts'
import { Counters, type Health, noCalls } from './health.ts'
import { LocalQuota } from './local-quota.ts'
import type { FailoverOptions } from './on-store-error.ts'
import { Reconciler } from './reconciler.ts'
import { ShardedLedger, type ShardLedger } from './sharded-ledger.ts'
import { inspectKeys, listKeys } from './shown-keys.ts'
import { StoreLink } from './store-link.ts'

/** The most keys of each scope that are decided locally, at about 400 bytes each. */
const maxKeys = 100_000

class FailoverLedger implements ShardLedger {
  readonly #fallback: Fallback

  /** Absent if the store cannot show its keys. */
  readonly inspect?: (keys: readonly string[]) => Promise<readonly KeptKey[]>
  readonly list?: (scope: string, from: unknown) => Promise<KeyPage>
  /** Absent if the store cannot forget all keys. */
  readonly clear?: () => Promise<void>
  /** Absent if the store cannot block keys. */
  readonly block?: NonNullable<Ledger['block']>
  readonly unblock?: NonNullable<Ledger['unblock']>

  constructor(fallback: Fallback) {
    const { block, unblock } = fallback.ledger
    this.#fallback = fallback
    if (block !== undefined) this.block = (...terms) => this.#block(...terms)
    if (unblock !== undefined) this.unblock = (keys) => this.#unblock(keys)
    if (fallback.ledger.inspect !== undefined) this.inspect = (keys) => inspectKeys(fallback, keys)
    if (fallback.ledger.list !== undefined) this.list = (scope, from) => listKeys(fallback, scope, from)
    if (fallback.ledger.clear !== undefined) this.clear = () => this.#clear()
  }

  /** The key is blocked in the local quota too, for the time in which the store fails. */
  async #block(...block: Parameters<NonNullable<Ledger['block']>>): Promise<void> {
    const { ledger, quota, shared } = this.#fallback
    quota.block(...block)
    await shared.link.request(() => ledger.block?.(...block))
  }

  async #unblock(keys: readonly (string | undefined)[]): Promise<void> {
    const { ledger, quota, shared } = this.#fallback
    quota.unblock(keys)
    await shared.link.request(() => ledger.unblock?.(keys))
  }

  /** It takes as long as there are keys, so no deadline of a call applies. */
  async #clear(): Promise<void> {
    this.forgetAll()
    await this.#fallback.ledger.clear?.()
  }

  /** What keys owe the store is what they spent here, so they owe nothing then. */
  forgetAll(): void {
    this.#fallback.quota.clear()
  }

  /** Other policies have a ledger of their own in the store. They share the local states, debts and counters. */
  vary(terms: LedgerTerms): ShardLedger {
    const { shared, quota } = this.#fallback
    return new FailoverLedger(new Fallback(terms, shared, quota.vary(terms)))
  }

  decide(verb: DecideVerb, keys: readonly string[], costs: Costs, extras?: DecideOptions): MaybePromise<Decision> {
    const fallback = this.#fallback
    const granted = extras?.tickets && fallback.settleGranted(extras.tickets, keys, costs, extras)
    return granted ?? this.#run(new DecideCall(fallback, verb, keys, costs, extras))
  }

  reserve(keys: readonly string[], costs: Costs, maxWait: number, extras?: ReserveOptions): MaybePromise<Booking> {
    const fallback = this.#fallback
    const granted = extras?.renews && fallback.renewGranted(extras.renews, keys, costs, extras)
    return granted ?? this.#run(new ReserveCall(fallback, keys, costs, maxWait, extras))
  }

  /** Resets the keys under the policies of all limiters of the name. */
  reset(keys: readonly string[]): MaybePromise<void> {
    this.forget(keys)
    return this.#run(new ResetCall(this.#fallback, keys))
  }

  forget(keys: readonly string[]): void {
    this.#fallback.forget(keys)
  }

  #run<T>(call: Call<T>): MaybePromise<T> {
    const { ledger, charges, quota, shared } = this.#fallback
    const { link, reconciler } = shared
    if (link.breaker.closed) {
      quota.releaseIfFull()
      const settled = reconciler.settle(charges, call.keys)
      return settled === undefined ? link.send(call) : link.sendAfter(settled, call)
    }
    // A charge of 0 units is decided and written like any other charge, and changes no number.
    link.probe(() => ledger.decide('charge', call.keys, 0))
    return call.failed(link.breaker.lastError)
  }

  health(): Health {
    const { link, reconciler, counters } = this.#fallback.shared
    const { state, since, lastError } = link.breaker
    return {
      state,
      since: Math.floor(since / 1000),
      sources: { ...counters.sources },
      denied: counters.denied,
      errors: link.errors,
      lastError,
      owing: reconciler.size,
    }
  }
}

/** Opens a limiter's ledger in a store. A synchronous store is called directly, without failover. */
export function openLedger(store: Store, terms: LedgerTerms, options: FailoverOptions): Ledger {
  if (store.synchronous) return store.open(terms)
  const { onStoreError, instances, storeTimeout, clock = monotonicClock, sleeper = realSleeper() } = options
  const quota = LocalQuota.of(terms, instances, maxKeys, clock)
  const common = { onStoreError, instances, counters: new Counters(), granted: new WeakMap() }
  const open = (shard?: string) => {
    const link = new StoreLink(store, terms.name, storeTimeout, clock, sleeper, shard)
    const reconciler = new Reconciler(link, maxKeys)
    const refunds = new DeferredRefunds(link.breaker)
    return new FailoverLedger(new Fallback(terms, { ...common, link, reconciler, refunds }, quota))
  }
  return store.shardOf === undefined ? open() : new ShardedLedger((keys) => store.shardOf?.(keys) as string, open)
}

const startedAt = Math.floor(monotonicClock() / 1000)

/** The health of a ledger's store. A synchronous store is always `'closed'`. */
export function healthOf(ledger: Ledger): Health {
  const known = ledger instanceof FailoverLedger || ledger instanceof ShardedLedger
  return (known ? ledger.health() : undefined) ?? noCalls(startedAt)
}
