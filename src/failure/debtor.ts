import type { Ledger, LedgerTerms } from '../stores/store.ts'
import type { LocalQuota } from './local-quota.ts'
import type { StoreLink } from './store-link.ts'

/**
 * One set of policies under which keys spend here, and the store's ledger of each of them by itself. (Charged to all of
 * them at once it would be wrong: 600 calls in ten minutes are no debt of 600 units on ten a second.)
 */
export class Debtor {
  readonly #line: StoreLink
  readonly #terms: LedgerTerms
  readonly #books: LocalQuota
  /** Opened once needed. A ledger of the same name with one policy reaches the same state. */
  readonly #ledgers: (Ledger | undefined)[] = []

  constructor(line: StoreLink, terms: LedgerTerms, books: LocalQuota) {
    this.#line = line
    this.#terms = terms
    this.#books = books
  }

  /** In the order in which a call brings its keys. */
  get scopes(): readonly string[] {
    return this.#terms.scopes
  }

  /** Asks the store to charge nothing. */
  async check(scope: string, key: string): Promise<void> {
    const [policy] = this.#policiesOf(scope)
    await this.#line.ask(() => this.#ledger(policy as number).decide('charge', [key], 0))
  }

  async forget(scope: string, key: string): Promise<void> {
    const resets = this.#policiesOf(scope).map((policy) => this.#line.ask(() => this.#ledger(policy).reset([key])))
    await everyOne(resets)
  }

  /**
   * Charges what the key owes. Paid when it is asked for: what was not answered in time is taken as made, what failed is
   * owed again, unless the key was forgotten meanwhile.
   */
  async pay(scope: string, key: string, forgotten: () => boolean): Promise<void> {
    const books = this.#books
    const charges = books.owed(scope, key).map(async (units, policy) => {
      if (units === 0) return
      books.pay(policy, key, units)
      try {
        await this.#line.ask(() => this.#ledger(policy).decide('charge', [key], units))
      } catch (error) {
        const mayBeMade = (error as { code?: unknown }).code === 'HEADGATE_STORE_TIMEOUT'
        if (!mayBeMade && !forgotten()) books.unpay(policy, key, units)
        throw error
      }
    })
    await everyOne(charges)
  }

  /** Gives units back that the store was told of. */
  async refund(policy: number, key: string, units: number): Promise<void> {
    await this.#line.ask(() => this.#ledger(policy).decide('refund', [key], units))
  }

  #policiesOf(scope: string): number[] {
    return [...this.#terms.policies.keys()].filter((n) => this.#terms.policies[n]?.scope === scope)
  }

  #ledger(policy: number): Ledger {
    const policies = this.#terms.policies.slice(policy, policy + 1)
    const scopes = policies.map(({ scope }) => scope)
    const ledger = this.#ledgers[policy] ?? this.#line.store.open({ ...this.#terms, policies, scopes })
    this.#ledgers[policy] = ledger
    return ledger
  }
}

/** Waits for all of them; rejects with what the first that failed said. */
export async function everyOne(promises: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(promises)) if (result.status === 'rejected') throw result.reason
}
