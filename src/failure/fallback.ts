import type { Tickets } from '../algorithms/evaluation.ts'
import { monotonicClock } from '../clock.ts'
import { type Decision, join } from '../decision.ts'
import type { Booking, CallOptions, DecideOptions, DecideVerb, Ledger, LedgerTerms } from '../stores/store.ts'
import type { DeferredRefunds } from './deferred-refunds.ts'
import type { Counters } from './health.ts'
import type { LocalQuota } from './local-quota.ts'
import type { OnStoreError } from './on-store-error.ts'
import type { Reconciler } from './reconciler.ts'
import { StoreCharges } from './store-charges.ts'
import type { StoreLink } from './store-link.ts'

/** What the ledgers of one name share: the link to the store, and the work that waits until it responds again. */
export interface SharedFailover {
  readonly onStoreError: OnStoreError | undefined
  readonly link: StoreLink
  readonly reconciler: Reconciler
  readonly refunds: DeferredRefunds
  readonly counters: Counters
}

/** One ledger of the store, and the local decisions that replace its decisions while the store fails. */
export class Fallback {
  readonly terms: LedgerTerms
  readonly shared: SharedFailover
  readonly ledger: Ledger
  readonly quota: LocalQuota
  readonly charges: StoreCharges
  /** Reservations that the store did not grant. */
  readonly #granted = new WeakMap<Tickets, 'local' | 'open'>()

  constructor(terms: LedgerTerms, shared: SharedFailover, quota: LocalQuota) {
    this.terms = terms
    this.shared = shared
    this.ledger = shared.link.store.open(terms)
    this.quota = quota
    this.charges = new StoreCharges(shared.link, terms, quota)
  }

  decideLocally(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideOptions): Decision {
    const grantedByStore = verb === 'refund' && extras?.tickets !== undefined // the local states do not include it
    if (verb === 'peek' || grantedByStore) return this.quota.decide('peek', keys, cost, extras)
    if (verb === 'refund') return this.#refundLocally(keys, cost, extras)
    this.shared.reconciler.note(this.charges, keys)
    return this.quota.decide(verb, keys, cost, extras)
  }

  reserveLocally(keys: readonly string[], cost: number, maxWait: number, details?: CallOptions): Booking {
    this.shared.reconciler.note(this.charges, keys)
    return this.#grant('local', this.quota.reserve(keys, cost, maxWait, details))
  }

  /** Allowed and uncounted. */
  letThrough(extras: CallOptions | undefined): Decision {
    const verdicts = this.terms.policies.map(({ name, limit, burst, shadow }) => ({
      name,
      allowed: true,
      limit,
      remaining: burst,
      retryAfter: 0,
      resetAfter: 0,
      shadow,
      ...(extras?.nextAfter ? { nextAfter: 0 } : {}),
    }))
    return join(true, verdicts, 'open', extras?.at ? Math.floor(monotonicClock() / 1000) : undefined)
  }

  /** Granted and uncounted. */
  reserveNothing(details: CallOptions | undefined): Booking {
    return this.#grant('open', { decision: this.letThrough(details), wait: 0, tickets: [] })
  }

  #grant(by: 'local' | 'open', booking: Booking): Booking {
    if (booking.tickets !== undefined) this.#granted.set(booking.tickets, by)
    return booking
  }

  /** Refunds a reservation that was granted here; undefined if the store granted it. */
  refundGranted(tickets: Tickets, keys: readonly string[], cost: number, extras: DecideOptions): Decision | undefined {
    const by = this.#granted.get(tickets)
    if (by === undefined) return undefined
    return by === 'open' ? this.letThrough(extras) : this.#refundLocally(keys, cost, extras)
  }

  /** Gives back what was taken locally. If the store has been charged for it, refunds the store too. */
  #refundLocally(keys: readonly string[], cost: number, extras?: DecideOptions): Decision {
    const { decision, overcharged } = this.quota.refund(keys, cost, extras)
    for (const [policy, units] of overcharged.entries()) {
      const key = keys[this.terms.scopes.indexOf(this.terms.policies[policy]?.scope as string)] as string
      if (units > 0) this.#refundLater(keys, () => this.charges.refund(policy, key, units))
    }
    return decision
  }

  /** Gives units back to the store. If that fails they stay taken, which errs on the strict side. */
  async giveBack(keys: readonly string[], cost: number, tickets?: Tickets): Promise<void> {
    const refund = () => this.ledger.decide('refund', keys, cost, tickets && { tickets })
    await this.shared.link.request(refund).catch(() => undefined)
  }

  giveBackLater(keys: readonly string[], cost: number, tickets: Tickets): void {
    this.#refundLater(keys, () => this.giveBack(keys, cost, tickets))
  }

  #refundLater(keys: readonly string[], run: () => Promise<unknown>): void {
    this.shared.refunds.add({ scopes: this.terms.scopes, keys, run })
  }

  /** Resets the keys in the store once it responds. */
  resetLater(keys: readonly string[]): void {
    this.shared.reconciler.reset(this.charges, keys)
  }

  /** Forgets what the keys spent, owe and are owed, for all ledgers of the name. */
  forget(keys: readonly string[]): void {
    this.shared.reconciler.forget(this.charges, keys)
    this.shared.refunds.forget(this.terms.scopes, keys)
    this.quota.reset(keys)
  }
}
