import type { Tickets } from '../algorithms/evaluation/index.ts'
import { getOrInsert, type HeadgateError, ownText } from '../common/index.ts'
import { type Command, type KeyCalendar, type Ledger, runPart, withCalendars } from '../stores/contract/index.ts'
import { type DeferredRefunds, givingBack, type LateUnits } from './deferred-refunds.ts'
import type { LocalQuota } from './local-quota.ts'
import { hasUnits } from './pending-charges.ts'
import type { StoreLink } from './store-link.ts'

const ignore = (): void => {}

/**
 * Charges the store for units that this process admitted while the store failed. Each policy is charged only for the units that
 * still count: after 600 calls in ten minutes, a policy with a window of a day is charged 600 units, and a policy of ten units
 * a second only ten.
 */
export class OwedCharges {
  /** The scopes (kinds of keys) of the policies, in the order of the keys of a call. */
  readonly scopes: readonly string[]
  readonly #link: StoreLink
  readonly #refunds: DeferredRefunds
  readonly #quota: LocalQuota
  readonly #open: (scope: string) => Ledger
  /** One ledger of the store for each scope, opened when it is first needed. All ledgers of one limiter name share their states. */
  readonly #ledgers = new Map<string, Ledger>()

  /** @param open opens the store's ledger for the policies that limit keys of one scope */
  constructor(
    scopes: readonly string[],
    { link, refunds }: { link: StoreLink; refunds: DeferredRefunds },
    quota: LocalQuota,
    open: (scope: string) => Ledger,
  ) {
    this.scopes = scopes
    this.#link = link
    this.#refunds = refunds
    this.#quota = quota
    this.#open = open
  }

  /** Tests the store by a charge of 0 units, which takes nothing. Rejects if the store does not respond. */
  async check(scope: string, key: string): Promise<void> {
    await this.#request(scope, { verb: 'charge', keys: [key], costs: 0 })
  }

  /** Resets the key in the store. */
  async reset(scope: string, key: string): Promise<void> {
    await this.#request(scope, { verb: 'reset', keys: [key] })
  }

  /**
   * Charges the units that the key owes. The units count as charged as soon as the request is sent. The units stay charged after a timeout
   * or a broken connection, because the store may have counted them. After other failures the key owes the units again, unless the key was
   * reset in this process.
   */
  async charge(scope: string, key: string): Promise<void> {
    const quota = this.#quota
    const units = quota.owed(scope, key)
    if (!hasUnits(units)) return
    const brought = quota.calendarOf(scope, key)
    const charge = quota.beginCharge(scope, key, units)
    let outcome: 'counted' | 'uncounted' | 'unknown' = 'counted'
    try {
      await this.#request(scope, { verb: 'charge', keys: [key], costs: units, ...brought }, brought)
    } catch (error) {
      const { code, uncounted } = error as Partial<HeadgateError>
      const unknown = (code === 'HEADGATE_STORE_TIMEOUT' || code === 'HEADGATE_STORE') && !uncounted
      outcome = unknown ? 'unknown' : 'uncounted'
      throw error
    } finally {
      const back = quota.endCharge(charge, outcome)
      if (hasUnits(back)) this.refundLater(scope, key, back)
    }
  }

  /**
   * Refunds units in the store, when the store responds. The store was charged for these units, and this process has refunded the units
   * itself.
   * @param units one number for each policy of the scope
   */
  refundLater(scope: string, key: string, units: readonly number[]): void {
    const own = ownText(key)
    const run = () => this.#request(scope, { verb: 'refund', keys: [own], costs: units })
    this.#refunds.add({ scope, key: own, run })
  }

  /**
   * Gives the units of a late call back to the store. If the store has certainly not executed this, gives the units of a reservation back
   * when the store responds. Units without tickets then stay used, because some of them may count no more.
   * @param late the units under the policies of the scope
   */
  giveLateBack(scope: string, key: string, late: LateUnits): void {
    const command = givingBack(late)
    if (command === undefined) return
    const keys = [key]
    const first = async () => this.#ledger(scope).run({ ...command, keys, unattended: late.tickets !== undefined })
    if (late.tickets === undefined) first().catch(ignore)
    else this.#refunds.begin({ scope, key, run: () => this.#request(scope, { ...command, keys }) }, first)
  }

  /** Gives unused units of a reservation back to the store. @param costs one number for each policy of the scope, none above 0 */
  async settle(
    scope: string,
    key: string,
    costs: readonly number[],
    tickets: Tickets | undefined,
    brought: KeyCalendar,
  ): Promise<void> {
    await runPart(this.#quota.policiesOf(scope), brought, (windows) => {
      return this.#link.request(this.#ledger(scope), { verb: 'settle', keys: [key], costs, tickets, windows })
    })
  }

  /** @param brought the windows and the calendar of the key's last call, if the command may begin a calendar window by the store's clock */
  async #request(scope: string, command: Command, brought?: KeyCalendar): Promise<void> {
    const ledger = this.#ledger(scope)
    const placing = brought && withCalendars(ledger, this.#quota.policiesOf(scope))
    await this.#link.request(placing ?? ledger, command)
  }

  #ledger(scope: string): Ledger {
    return getOrInsert(this.#ledgers, scope, this.#open)
  }
}
