import { getOrInsert, type HeadgateError } from '../common/index.ts'
import type { Command, Ledger } from '../stores/contract/index.ts'
import type { LocalQuota } from './local-quota.ts'
import type { StoreLink } from './store-link.ts'

/**
 * Charges the store for units that were spent locally under one set of policies. Each policy has units of its own: after
 * 600 calls in ten minutes, the store has to be charged 600 units under a daily policy, and ten under one of ten a second.
 */
export class OwedCharges {
  /** The scopes, in the order of a call's keys. */
  readonly scopes: readonly string[]
  readonly #link: StoreLink
  readonly #quota: LocalQuota
  readonly #open: (scope: string) => Ledger
  /** One ledger for each scope, opened at first use. All ledgers of one name share their states. */
  readonly #ledgers = new Map<string, Ledger>()

  /** @param open opens the store's ledger with the policies of one scope */
  constructor(scopes: readonly string[], link: StoreLink, quota: LocalQuota, open: (scope: string) => Ledger) {
    this.scopes = scopes
    this.#link = link
    this.#quota = quota
    this.#open = open
  }

  /** Sends a charge of 0 units, which changes nothing. Rejects if the store does not respond. */
  async check(scope: string, key: string): Promise<void> {
    await this.#request(scope, { verb: 'charge', keys: [key], costs: 0 })
  }

  /** Resets the key in the store. */
  async reset(scope: string, key: string): Promise<void> {
    await this.#request(scope, { verb: 'reset', keys: [key] })
  }

  /**
   * Charges the units that the key owes. They count as charged once the request is sent, also after a timeout, because the store
   * may have counted them. After any other failure the key owes them again, unless the key was forgotten.
   */
  async charge(scope: string, key: string, forgotten: () => boolean): Promise<void> {
    const quota = this.#quota
    const units = quota.owed(scope, key)
    if (!units.some((owed) => owed > 0)) return
    quota.changeCharged('charge', scope, key, units)
    try {
      await this.#request(scope, { verb: 'charge', keys: [key], costs: units })
    } catch (error) {
      const { code, uncounted } = error as Partial<HeadgateError>
      const mayHaveCounted = code === 'HEADGATE_STORE_TIMEOUT' && !uncounted
      if (!mayHaveCounted && !forgotten()) quota.changeCharged('refund', scope, key, units)
      throw error
    }
  }

  /** Gives back units that the store was charged for. @param units for each policy of the scope */
  async refund(scope: string, key: string, units: readonly number[]): Promise<void> {
    await this.#request(scope, { verb: 'refund', keys: [key], costs: units })
  }

  async #request(scope: string, command: Command): Promise<void> {
    await this.#link.request(getOrInsert(this.#ledgers, scope, this.#open), command)
  }
}
