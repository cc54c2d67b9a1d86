/*
 * What one process decides by itself while the store is away, and what of it the store has been told since.
 *
 *     spent   100 ----.____                 .-- 40 more
 *                          `---.___________/    `----.__
 *     paid             .-- 100 ----.____________________    charged to the store when it was back
 *     owed   = spent - paid, as much of both as still counts
 *
 * Two books under the same policies, each a memory store, so that what lapses lapses in both by the same arithmetic. What
 * is spent stays in its book when it is paid: a store that fails again and again does not give a new quota each time. The
 * limiters of one name (`under`) write into the same books, as they do into the same states of the store.
 */
import type { Policy } from '../algorithms/algorithm.ts'
import { Bucket } from '../algorithms/bucket.ts'
import { Smooth } from '../algorithms/smooth.ts'
import type { Clock } from '../clock.ts'
import type { Decision, Verdict } from '../decision.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { Booking, CallExtras, DecideExtras, DecideVerb, Ledger, LedgerTerms, Store } from '../stores/store.ts'

/** What all books of one name write in. */
interface Shelf {
  readonly store: Store
  spent: Ledger | undefined
  /** One for each policy, by its scope and name: the store is told of each by itself. */
  readonly paid: Map<string, { readonly scope: string; readonly ledger: Ledger }>
}

export class LocalQuota {
  readonly #terms: LedgerTerms
  readonly #policies: readonly Policy[]
  readonly #scopes: readonly string[]
  readonly #shelf: Shelf
  #opened: { readonly spent: Ledger; readonly paid: readonly Ledger[] } | undefined

  private constructor(terms: LedgerTerms, shelf: Shelf) {
    this.#terms = terms
    this.#policies = terms.policies
    this.#scopes = terms.scopes
    this.#shelf = shelf
  }

  /** @param maxKeys of each scope */
  static of(terms: LedgerTerms, maxKeys: number, clock: Clock): LocalQuota {
    return new LocalQuota(terms, { store: memoryStore({ maxKeys, clock }), spent: undefined, paid: new Map() })
  }

  /** The same books under other policies. */
  vary(terms: LedgerTerms): LocalQuota {
    return new LocalQuota(terms, this.#shelf)
  }

  /** Opened at the first failure: most books stay empty. */
  #open(): { readonly spent: Ledger; readonly paid: readonly Ledger[] } {
    const shelf = this.#shelf
    const spent = shelf.spent?.vary?.(this.#terms) ?? shelf.store.open(this.#terms)
    shelf.spent ??= spent
    this.#opened = { spent, paid: this.#policies.map((policy) => this.#openPaid(policy)) }
    return this.#opened
  }

  #openPaid(policy: Policy): Ledger {
    const { store, paid } = this.#shelf
    const { scope } = policy
    const title = JSON.stringify([scope, policy.name])
    const terms = { ...this.#terms, policies: [policy], scopes: [scope] }
    const first = paid.get(title)
    if (first?.ledger.vary !== undefined) return first.ledger.vary(terms)
    const ledger = store.open(terms)
    paid.set(title, { scope, ledger })
    return ledger
  }

  get #spent(): Ledger {
    return (this.#opened ?? this.#open()).spent
  }

  get #paid(): readonly Ledger[] {
    return (this.#opened ?? this.#open()).paid
  }

  decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    const decision = this.#spent.decide(verb, keys, cost, extras) as Decision
    return { ...decision, source: 'fallback' }
  }

  reserve(keys: readonly string[], cost: number, maxWait: number, details?: CallExtras): Booking {
    const booking = this.#spent.reserve(keys, cost, maxWait, details) as Booking
    return { ...booking, decision: { ...booking.decision, source: 'fallback' } }
  }

  /** Units of each policy of that key that were spent here and still count, and that the store has not been told of. */
  owed(scope: string, key: string): readonly number[] {
    const spent = this.#used(key)
    return this.#policies.map((policy, n) =>
      policy.scope === scope ? Math.max(0, (spent[n] as number) - this.#paidOf(n, key)) : 0,
    )
  }

  pay(policy: number, key: string, units: number): void {
    void this.#paid[policy]?.decide('charge', [key], units)
  }

  unpay(policy: number, key: string, units: number): void {
    void this.#paid[policy]?.decide('refund', [key], units)
  }

  /** Gives units back; returns, for each policy, how many of them the store has been told of already. */
  refund(keys: readonly string[], cost: number, extras?: DecideExtras): { decision: Decision; overpaid: number[] } {
    const before = this.#policies.map((policy, n) => this.#used(this.#keyOf(policy, keys))[n] as number)
    const decision = this.decide('refund', keys, cost, extras)
    const overpaid = this.#policies.map((policy, n) => {
      const key = this.#keyOf(policy, keys)
      const spent = this.#used(key)[n] as number
      const units = Math.max(0, Math.min((before[n] as number) - spent, this.#paidOf(n, key) - spent))
      if (units > 0) this.unpay(n, key, units)
      return units
    })
    return { decision, overpaid }
  }

  reset(keys: readonly string[]): void {
    if (this.#shelf.spent === undefined) return
    void this.#spent.reset(keys)
    for (const paid of this.#shelf.paid.values()) {
      if (this.#scopes.includes(paid.scope)) void paid.ledger.reset([this.#keyOf(paid, keys)])
    }
  }

  #keyOf({ scope }: { scope: string }, keys: readonly string[]): string {
    return keys[this.#scopes.indexOf(scope)] as string
  }

  /** What is spent, by policy: asked with one key for all scopes, of which only that of the key's own means anything. */
  #used(key: string): readonly number[] {
    const keys = this.#scopes.map(() => key)
    const { policies } = this.#spent.decide('peek', keys, 1) as Decision
    return policies.map((verdict, n) => usedOf(this.#policies[n] as Policy, verdict))
  }

  #paidOf(policy: number, key: string): number {
    const { policies } = (this.#paid[policy] as Ledger).decide('peek', [key], 1) as Decision
    return usedOf(this.#policies[policy] as Policy, policies[0] as Verdict)
  }
}

/**
 * Guava's limiters admit any cost and have the next one wait: what is used is the wait. What a bucket owes beyond its
 * burst can be read off the wait too; of windows and logs no more is known than that they are full.
 */
function usedOf({ algorithm, burst, limit, window }: Policy, { remaining, retryAfter }: Verdict): number {
  if (algorithm.punishes) return 0 // it takes nothing: a block is the matter of who pronounced it
  const waited = Math.ceil(((retryAfter - 1) * limit) / window) // waits are rounded up
  if (algorithm instanceof Smooth) return Math.max(0, waited)
  return algorithm instanceof Bucket && remaining === 0 ? burst - 1 + Math.max(1, waited) : burst - remaining
}
