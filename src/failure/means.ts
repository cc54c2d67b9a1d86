import type { Tickets } from '../algorithms/evaluation.ts'
import type { Decision } from '../decision.ts'
import type { Booking, CallExtras, DecideExtras, DecideVerb, Ledger, LedgerTerms } from '../stores/store.ts'
import { Debtor } from './debtor.ts'
import type { LocalQuota } from './local-quota.ts'
import { letThrough } from './open-door.ts'
import type { Shared } from './shared.ts'

/** What the calls of one ledger are answered by: the store's ledger, or what there is here. */
export class Means {
  readonly terms: LedgerTerms
  readonly ledger: Ledger
  readonly shared: Shared
  readonly books: LocalQuota
  readonly debtor: Debtor
  /** Who granted a reservation, where it was not the store. */
  readonly granted: WeakMap<Tickets, 'local' | 'open'> = new WeakMap()

  constructor(terms: LedgerTerms, shared: Shared, books: LocalQuota) {
    this.terms = terms
    this.ledger = shared.line.store.open(terms)
    this.shared = shared
    this.books = books
    this.debtor = new Debtor(shared.line, terms, books)
  }

  decideHere(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    const granted = verb === 'refund' && extras?.tickets !== undefined // by the store: here there is nothing of it
    if (verb === 'peek' || granted) return this.books.decide('peek', keys, cost, extras)
    if (verb === 'refund') return this.refundHere(keys, cost, extras)
    this.shared.accounts.note(this.debtor, keys)
    return this.books.decide(verb, keys, cost, extras)
  }

  /** Gives back what was taken here, and at the store what that has been told of. */
  refundHere(keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    const { decision, overpaid } = this.books.refund(keys, cost, extras)
    for (const [policy, units] of overpaid.entries()) {
      const key = keys[this.terms.scopes.indexOf(this.terms.policies[policy]?.scope as string)] as string
      if (units > 0) this.#postpone(keys, () => this.debtor.refund(policy, key, units))
    }
    return decision
  }

  reserveHere(keys: readonly string[], cost: number, maxWait: number, details?: CallExtras): Booking {
    this.shared.accounts.note(this.debtor, keys)
    return this.#granting('local', this.books.reserve(keys, cost, maxWait, details))
  }

  letThrough(extras: CallExtras | undefined): Decision {
    return letThrough(this.terms.policies, extras)
  }

  reserveNothing(details: CallExtras | undefined): Booking {
    return this.#granting('open', { decision: this.letThrough(details), wait: 0, tickets: [] })
  }

  #granting(by: 'local' | 'open', booking: Booking): Booking {
    if (booking.tickets !== undefined) this.granted.set(booking.tickets, by)
    return booking
  }

  /** Gives units back that the store took; one that fails keeps them, which errs to the strict side. */
  async giveBack(keys: readonly string[], cost: number, tickets?: Tickets): Promise<void> {
    const refund = () => this.ledger.decide('refund', keys, cost, tickets && { tickets })
    await this.shared.line.ask(refund).catch(() => undefined)
  }

  giveBackLater(keys: readonly string[], cost: number, tickets: Tickets): void {
    this.#postpone(keys, () => this.giveBack(keys, cost, tickets))
  }

  #postpone(keys: readonly string[], run: () => Promise<unknown>): void {
    this.shared.postponed.add({ scopes: this.terms.scopes, keys, run })
  }
}
