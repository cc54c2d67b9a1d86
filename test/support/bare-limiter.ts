import type { Decision, Key, Policy, Store } from '../../src/index.ts'
import type { Booking, Ledger, LedgerTerms } from '../../src/store.ts'

/** A limiter without a failover layer: it passes on the store's results and errors. */
export class BareLimiter {
  readonly name: string
  readonly #ledger: Ledger
  readonly #scopes: readonly string[]

  constructor({ name, policies, store }: { name: string; policies: readonly Policy[]; store: Store }) {
    this.name = name
    this.#scopes = [...new Set(policies.map(({ scope }) => scope))]
    const terms: LedgerTerms = { name, policies, scopes: this.#scopes }
    this.#ledger = store.open(terms)
  }

  async consume(key: Key, { cost = 1 } = {}): Promise<Decision> {
    return this.#ledger.run({ verb: 'consume', keys: this.#keys(key), costs: cost })
  }

  async peek(key: Key): Promise<Decision> {
    return this.#ledger.run({ verb: 'peek', keys: this.#keys(key) })
  }

  async charge(key: Key): Promise<Decision> {
    return this.#ledger.run({ verb: 'charge', keys: this.#keys(key) })
  }

  async refund(key: Key): Promise<Decision> {
    return this.#ledger.run({ verb: 'refund', keys: this.#keys(key) })
  }

  async reserve(key: Key): Promise<Booking> {
    return this.#ledger.run({ verb: 'reserve', keys: this.#keys(key) })
  }

  async reset(key: Key): Promise<void> {
    return this.#ledger.run({ verb: 'reset', keys: this.#keys(key) })
  }

  #keys(key: Key): string[] {
    return this.#scopes.map((scope) => (typeof key === 'string' ? key : (key[scope] as string)))
  }
}
