/*
 * Reconciliation: the store is charged for units that keys spent in this process while the store failed. Each policy is charged
 * separately. A key that was reset while the store failed is first reset in the store. Reset and charge happen before the store decides
 * a call with the key again.
 *
 * The limiters with the same name share their debts (units that are not charged yet), as they share their states. The debts of a key are
 * settled for all these limiters together. The debts of a call's key are settled first. The debts of other keys follow in the background, a
 * few at a time, when the store (or the shard that decides on the key) responds again.
 *
 * Cloudflare Workers stop all work for an HTTP request when that request ends, and limit how many requests it sends. There, no request waits
 * for the work of another request, and a response to a call settles the next few debts. While another request settles the debt of a key, the
 * store decides calls with the key.
 */

import { LRUCache } from 'lru-cache'
import { isolatesRequests } from '#platform'
import { allOf, getOrInsert, isBrokenRecord, ownText } from '../common/index.ts'
import type { OwedCharges } from './owed-charges.ts'
import { nameOf } from './pending-charges.ts'
import { few, RequestWork } from './request-work.ts'
import type { StoreLink } from './store-link.ts'
import { MovedKeys } from './store-parts.ts'

/** A key of one scope (kind of key) that may owe units to the store. */
interface Debt {
  readonly name: string
  readonly scope: string
  readonly key: string
  settling: Promise<void> | undefined
  /** The settlement of this debt in a request of Cloudflare Workers. */
  readonly work: RequestWork
  /** The policies under which the key has spent units in this process since its debts were last settled. */
  charges: OwedCharges[]
  /** True if the key has to be reset in the store before the store is charged. */
  reset: boolean
}

/** For how many keys the store is charged at the same time in the background. */
const batch = 32

export class Reconciler {
  readonly #link: StoreLink
  readonly #maxKeys: number
  /** The debts. Undefined until the store fails for the first time, because most stores never fail. */
  #debts: LRUCache<string, Debt> | undefined
  #running = false
  #again = false
  /** The last few settlements that a request of Cloudflare Workers has begun in the background. */
  readonly #work = new RequestWork()
  readonly #moves: MovedKeys

  /** @param maxKeys the most keys that owe units. To make space, the debts of the key that spent units least recently are dropped */
  constructor(link: StoreLink, maxKeys: number) {
    this.#link = link
    this.#maxKeys = maxKeys
    this.#moves = new MovedKeys(link.parts, () => this.size > 0, this.#responded)
  }

  get size(): number {
    return this.#debts?.size ?? 0
  }

  /** True if the key may owe units to the store. */
  owes(scope: string, key: string): boolean {
    return this.#debts?.peek(nameOf(scope, key)) !== undefined
  }

  /** Records that these keys spend units in this process. */
  note(charges: OwedCharges, keys: readonly string[]): void {
    for (const [n, scope] of charges.scopes.entries()) {
      const debt = this.#debt(scope, keys[n] as string)
      if (!debt.charges.includes(charges)) debt.charges.push(charges)
      this.#settleLater(debt)
    }
  }

  /**
   * Records that these keys were reset in this process. Later the keys are reset in the store too, and then the store is charged for the
   * units that the keys have spent after this reset.
   * @param done the scopes (kinds of key) that were reset in the store already
   */
  reset(charges: OwedCharges, keys: readonly string[], done: readonly string[]): void {
    this.forget(charges, keys)
    for (const [n, scope] of charges.scopes.entries()) {
      if (done.includes(scope)) continue
      this.#settleLater(Object.assign(this.#debt(scope, keys[n] as string), { charges: [charges], reset: true }))
    }
  }

  #debt(scope: string, key: string): Debt {
    // `maxSize` is used and not `max`, because lru-cache allocates memory for `max` entries when it is made.
    this.#debts ??= new LRUCache({ maxSize: this.#maxKeys, sizeCalculation: () => 1 })
    return getOrInsert(this.#debts, nameOf(scope, key), (name) => {
      return { name, scope, key: ownText(key), settling: undefined, work: new RequestWork(), charges: [], reset: false }
    })
  }

  /** Drops what these keys owe. Returns the dropped debts. */
  forget({ scopes }: OwedCharges, keys: readonly string[]): readonly Debt[] {
    return scopes.flatMap((scope, n) => {
      const name = nameOf(scope, keys[n] as string)
      const debt = this.#debts?.peek(name)
      this.#debts?.delete(name)
      return debt ?? []
    })
  }

  /** Puts dropped debts back, unless the key owes again already. */
  restore(debts: readonly Debt[]): void {
    for (const debt of debts) {
      const owed = this.#debt(debt.scope, debt.key)
      owed.charges = [...new Set([...owed.charges, ...debt.charges])]
      owed.reset ||= debt.reset
      this.#settleLater(owed)
    }
  }

  forgetAll(): void {
    this.#debts?.clear()
  }

  /** Charges the store for the units that these keys owe. Returns undefined if the keys owe nothing. Rejects if the store fails. */
  settle({ scopes }: OwedCharges, keys: readonly string[]): Promise<unknown> | undefined {
    if (this.#debts === undefined || this.#debts.size === 0) return undefined
    const debts = scopes
      .map((scope, n) => this.#debts?.peek(nameOf(scope, keys[n] as string)))
      .filter((debt) => debt !== undefined)
    return debts.length === 0 ? undefined : Promise.all(debts.map((debt) => this.#settle(debt)))
  }

  #settle(debt: Debt): Promise<void> {
    if (isolatesRequests) return this.#settleAlone(debt)
    debt.settling ??= this.#charge(debt).finally(() => {
      debt.settling = undefined
    })
    return debt.settling
  }

  /** Settles a debt, unless another request settles it. That request may have been stopped, so nothing waits for it. */
  async #settleAlone(debt: Debt): Promise<void> {
    if (!debt.work.isUnderWay) await debt.work.run(() => this.#charge(debt))
  }

  async #charge(debt: Debt): Promise<void> {
    const { name, scope, key } = debt
    const forgotten = () => this.#debts?.peek(name) !== debt
    // A charge that times out is treated as made, and is not repeated. So if the last request has failed, a charge of 0 units
    // first tests whether the store responds.
    if (this.#link.parts.of([key]).some(({ doubtful }) => doubtful)) await debt.charges[0]?.check(scope, key)
    if (forgotten()) return
    if (debt.reset) await allOf(debt.charges.map((each) => each.reset(scope, key)))
    debt.reset = false
    const { charges } = debt
    debt.charges = []
    try {
      await allOf(charges.map((each) => each.charge(scope, key)))
    } catch (error) {
      // This version cannot read what the store has saved for the key (a broken record), so the key cannot be charged. The key is removed
      // from the debts until the next decision on the key in this process.
      if (isBrokenRecord(error) && !forgotten()) this.#debts?.delete(name)
      debt.charges = [...new Set([...charges, ...debt.charges])]
      throw error
    }
    if (debt.charges.length === 0 && !forgotten()) this.#debts?.delete(name)
  }

  #settleLater({ key }: Debt): void {
    this.#again = true
    if (this.#running) return
    for (const breaker of this.#link.parts.of([key])) breaker.onNextResponse(this.#responded)
    this.#moves.lookLater()
  }

  readonly #responded = (): void => {
    this.#again = true
    if (isolatesRequests) this.#settleSome()
    else if (!this.#running) void this.#settleAll()
  }

  /** Settles a few debts, and then waits for the next response to a call: the responses to these settlements do not count. */
  #settleSome(): void {
    const some: Debt[] = []
    for (const debt of this.#debts?.rvalues() ?? []) {
      if (debt === undefined) continue
      this.#settleLater(debt)
      if (this.#work.isUnderWay) return
      if (this.#canSettle(debt) && !debt.work.isUnderWay) some.push(debt)
      if (some.length === few) break
    }
    if (some.length > 0) void this.#work.run(() => Promise.allSettled(some.map((debt) => this.#settleAlone(debt))))
  }

  get #all(): readonly Debt[] {
    return [...(this.#debts?.rvalues() ?? [])].filter((debt) => debt !== undefined)
  }

  /**
   * Settles each debt (charges the store for units that a key owes) once, unless the breaker of the key is open. A debt that cannot be
   * settled is tried again at the next call with its key, or when the store responds the next time.
   */
  async #settleAll(): Promise<void> {
    this.#running = true
    while (this.#again) {
      this.#again = false
      const debts = this.#all.filter((debt) => this.#canSettle(debt))
      for (let from = 0; from < debts.length; from += batch) {
        const some = debts.slice(from, from + batch).filter((debt) => this.#canSettle(debt))
        await Promise.allSettled(some.map((debt) => this.#settle(debt)))
      }
    }
    this.#running = false
    if (this.size === 0)
      this.#debts = undefined // frees the memory of the debts
    else for (const debt of this.#all) this.#settleLater(debt)
  }

  #canSettle({ key }: Debt): boolean {
    return this.#link.parts.of([key]).every(({ closed }) => closed)
  }
}
