import type { Decision, Key, Store } from '../../src/index.ts'
import type { Booking, Ledger, LedgerTerms } from '../../src/store.ts'

/** The terms of a limiter that passes on the store's errors, and gives units of late outcomes back. */
export const throwing: LedgerTerms['failure'] = { onStoreError: 'throw', instances: 1, storeTimeout: undefined }

/** A limiter that passes on the store's results and errors. Without `failure`, it has no failover layer. */
export class BareLimiter {
  readonly name: string
  readonly #ledger: Ledger
  readonly #scopes: readonly string[]

  constructor({
    name,
    policies,
    store,
    failure,
  }: Pick<LedgerTerms, 'name' | 'policies' | 'failure'> & { store: Store }) {
    this.name = name
    this.#scopes = [...new Set(policies.map(({ scope }) => scope))]
    const terms: LedgerTerms = { name, policies, scopes: this.#scopes, failure }
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
