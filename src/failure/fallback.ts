import type { Costs, Tickets } from '../algorithms/evaluation.ts'
import { monotonicClock } from '../clock.ts'
import { type Decision, join } from '../decision.ts'
import type {
  Booking,
  CallOptions,
  DecideOptions,
  DecideVerb,
  Ledger,
  LedgerTerms,
  ReserveOptions,
} from '../stores/store.ts'
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
  /** How many processes share the limits, as the user says. */
  readonly instances: number
  /** Reservations that the store did not grant. */
  readonly granted: WeakMap<Tickets, 'local' | 'open'>
}

/** One ledger of the store, and the local decisions that replace its decisions while the store fails. */
export class Fallback {
  readonly terms: LedgerTerms
  readonly shared: SharedFailover
  readonly ledger: Ledger
  readonly quota: LocalQuota
  readonly charges: StoreCharges

  constructor(terms: LedgerTerms, shared: SharedFailover, quota: LocalQuota) {
    this.terms = terms
    this.shared = shared
    this.ledger = shared.link.store.open({ ...terms, instances: shared.instances })
    this.quota = quota
    this.charges = new StoreCharges(shared.link, terms, quota)
  }

  decideLocally(verb: DecideVerb, keys: readonly string[], costs: Costs, extras?: DecideOptions): Decision {
    if (verb === 'peek') return this.quota.decide('peek', keys, costs, extras)
    if (verb === 'settle') return this.#settleForStore(keys, costs, extras)
    if (verb === 'refund') return this.#giveBackLocally('refund', keys, costs, extras)
    this.shared.reconciler.note(this.charges, keys)
    return this.quota.decide(verb, keys, costs, extras)
  }

  /** The store granted the reservation, so the local states do not include it. What goes beyond it is charged here. */
  #settleForStore(keys: readonly string[], costs: Costs, extras?: DecideOptions): Decision {
    const beyond = typeof costs === 'number' ? costs : costs.map((cost) => Math.max(0, cost))
    if (typeof beyond !== 'number' && beyond.every((cost) => cost === 0)) {
      return this.quota.decide('peek', keys, 1, detailsOf(extras))
    }
    this.shared.reconciler.note(this.charges, keys)
    return this.quota.decide('charge', keys, beyond, detailsOf(extras))
  }

  /** A renewal of what the store granted takes nothing here: the units are in flight already. */
  reserveLocally(keys: readonly string[], costs: Costs, maxWait: number, extras?: ReserveOptions): Booking {
    if (extras?.renews !== undefined) return { ...this.reserveNothing(extras), tickets: extras.renews }
    this.shared.reconciler.note(this.charges, keys)
    return this.#grant('local', this.quota.reserve(keys, costs, maxWait, extras))
  }

  /** Allowed and uncounted. */
  letThrough(extras: CallOptions | undefined): Decision {
    const verdicts = this.terms.policies.map(({ name, limit, burst, shadow }) => ({
      name,
      allowed: true,
      limit,
      remaining: burst,
      used: 0,
      retryAfter: 0,
      resetAfter: 0,
      shadow,
      ...(extras?.nextAfter ? { nextAfter: 0 } : {}),
    }))
    return join(true, verdicts, 'open', extras?.at ? Math.floor(monotonicClock() / 1000) : undefined)
  }

  /** Granted and uncounted. */
  reserveNothing(extras: ReserveOptions | undefined): Booking {
    const decision = this.letThrough(extras)
    if (extras?.renews !== undefined) return { decision, wait: 0, tickets: extras.renews }
    return this.#grant('open', { decision, wait: 0, tickets: [] })
  }

  #grant(by: 'local' | 'open', booking: Booking): Booking {
    if (booking.tickets !== undefined) this.shared.granted.set(booking.tickets, by)
    return booking
  }

  /** Settles a reservation that was granted here; undefined if the store granted it. */
  settleGranted(tickets: Tickets, keys: readonly string[], costs: Costs, extras: DecideOptions): Decision | undefined {
    const by = this.shared.granted.get(tickets)
    if (by === undefined) return undefined
    if (by === 'open') return this.letThrough(extras)
    this.shared.reconciler.note(this.charges, keys)
    return this.#giveBackLocally('settle', keys, costs, extras)
  }

  /** Renews a reservation that was granted here; undefined if the store granted it. */
  renewGranted(tickets: Tickets, keys: readonly string[], costs: Costs, extras: ReserveOptions): Booking | undefined {
    const by = this.shared.granted.get(tickets)
    if (by === undefined) return undefined
    return by === 'open' ? this.reserveNothing(extras) : this.#grant(by, this.quota.reserve(keys, costs, 0, extras))
  }

  /** Gives back what was taken locally. If the store has been charged for it, refunds the store too. */
  #giveBackLocally(verb: 'refund' | 'settle', keys: readonly string[], costs: Costs, extras?: DecideOptions): Decision {
    const { decision, overcharged } = this.quota.giveBack(verb, keys, costs, extras)
    for (const [policy, units] of overcharged.entries()) {
      const key = keys[this.terms.scopes.indexOf(this.terms.policies[policy]?.scope as string)] as string
      if (units > 0) this.#refundLater(keys, () => this.charges.refund(policy, key, units))
    }
    return decision
  }

  /** Gives units back to the store. If that fails they stay taken, which errs on the strict side. */
  async giveBack(keys: readonly string[], costs: Costs, tickets?: Tickets): Promise<void> {
    const refund = () => this.ledger.decide(tickets ? 'settle' : 'refund', keys, costs, tickets && { tickets })
    await this.shared.link.request(refund).catch(() => undefined)
  }

  /** What goes beyond the reservation has been charged here, and is reconciled. */
  giveBackLater(keys: readonly string[], costs: Costs, tickets: Tickets): void {
    if (typeof costs === 'number' || costs.every((cost) => cost >= 0)) return
    const back = costs.map((cost) => Math.min(0, cost))
    this.#refundLater(keys, () => this.giveBack(keys, back, tickets))
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

function detailsOf({ at, nextAfter }: DecideOptions = {}): DecideOptions {
  return { ...(at && { at }), ...(nextAfter && { nextAfter }) }
}
