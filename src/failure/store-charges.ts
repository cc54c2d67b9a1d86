import type { HeadgateError } from '../errors.ts'
import { allOf } from '../maybe-promise.ts'
import type { Ledger, LedgerTerms, OpenLedger } from '../stores/store.ts'
import type { LocalQuota } from './local-quota.ts'
import type { StoreLink } from './store-link.ts'

/**
 * Charges the store for units that were spent locally under one set of policies. Each policy is charged by itself: after
 * 600 calls in ten minutes, a daily policy is owed 600 units and one of ten a second is owed ten.
 */
export class StoreCharges {
  readonly #link: StoreLink
  readonly #open: OpenLedger
  /** Of all policies together. */
  readonly #whole: Ledger
  readonly #terms: LedgerTerms
  readonly #quota: LocalQuota
  /** One ledger for each policy, opened at first use. A ledger of the same name reaches the same states. */
  readonly #ledgers: (Ledger | undefined)[] = []

  constructor(link: StoreLink, open: OpenLedger, terms: LedgerTerms, quota: LocalQuota, whole: Ledger) {
    this.#link = link
    this.#open = open
    this.#whole = whole
    this.#terms = terms
    this.#quota = quota
  }

  /** In the order of a call's keys. */
  get scopes(): readonly string[] {
    return this.#terms.scopes
  }

  /** Rejects if the store does not respond. A charge of 0 units changes nothing. */
  async check(scope: string, key: string): Promise<void> {
    const [policy] = this.#policiesOf(scope)
    await this.#link.request(() => this.#ledger(policy as number).run({ verb: 'charge', keys: [key], costs: 0 }))
  }

  /** Resets the key in the store. */
  async reset(scope: string, key: string): Promise<void> {
    await allOf(
      this.#policiesOf(scope).map((policy) =>
        this.#link.request(() => this.#ledger(policy).run({ verb: 'reset', keys: [key] })),
      ),
    )
  }

  /**
   * Charges the units that the key owes. They count as charged from the moment of the request. After a timeout they still
   * do, since the store may have counted them. After any other failure they are owed again, unless the key was forgotten.
   */
  async charge(scope: string, key: string, forgotten: () => boolean): Promise<void> {
    const quota = this.#quota
    const charges = quota.owed(scope, key).map(async (units, policy) => {
      if (units === 0) return
      quota.addCharged(policy, key, units)
      try {
        await this.#link.request(() => this.#ledger(policy).run({ verb: 'charge', keys: [key], costs: units }))
      } catch (error) {
        const { code, uncounted } = error as Partial<HeadgateError>
        const mayHaveCounted = code === 'HEADGATE_STORE_TIMEOUT' && !uncounted
        if (!mayHaveCounted && !forgotten()) quota.removeCharged(policy, key, units)
        throw error
      }
    })
    await allOf(charges)
  }

  /** Gives back units that the store was charged. */
  async refund(policy: number, key: string, units: number): Promise<void> {
    await this.#link.request(() => this.#ledger(policy).run({ verb: 'refund', keys: [key], costs: units }))
  }

  #policiesOf(scope: string): number[] {
    return [...this.#terms.policies.keys()].filter((n) => this.#terms.policies[n]?.scope === scope)
  }

  #ledger(policy: number): Ledger {
    const policies = this.#terms.policies.slice(policy, policy + 1)
    const scopes = policies.map(({ scope }) => scope)
    const ledger = this.#ledgers[policy] ?? this.#open({ ...this.#terms, policies, scopes }, this.#whole)
    this.#ledgers[policy] = ledger
    return ledger
  }
}
