/*
 * Settling accounts: what keys spent in this process while the store was away is charged to the store, each policy by
 * itself, after the reset of a key that was reset meanwhile, and before the store decides on the key again.
 *
 * The limiters of one name have their accounts in common, as they have their states: a key is settled with all of them
 * at once, whichever of them is asked about it. A key that is asked about is settled first; the rest follows in the
 * background, a few at a time, once the store answers.
 */
import { type Debtor, everyOne } from './debtor.ts'
import type { StoreLink } from './store-link.ts'

/** A key of one scope that may owe. */
interface Account {
  readonly name: string
  readonly scope: string
  readonly key: string
  settling: Promise<void> | undefined
  /** Under whose policies it has spent since it was last asked what it owes. */
  debtors: Debtor[]
  /** Whether the store has to forget it before it is charged what was spent here since. */
  reset: boolean
}

/** Keys settled at once in the background. */
const batch = 32

export class Reconciler {
  readonly #line: StoreLink
  readonly #maxKeys: number
  readonly #owing = new Map<string, Account>()
  #running = false
  #again = false
  #waiting = false

  /** @param maxKeys the most keys remembered; then the oldest is forgotten, and what it spent is not charged */
  constructor(line: StoreLink, maxKeys: number) {
    this.#line = line
    this.#maxKeys = maxKeys
  }

  get size(): number {
    return this.#owing.size
  }

  /** These keys have spent something here. */
  note(debtor: Debtor, keys: readonly string[]): void {
    for (const [n, scope] of debtor.scopes.entries()) {
      const { debtors } = this.#account(scope, keys[n] as string)
      if (!debtors.includes(debtor)) debtors.push(debtor)
    }
    this.#settleLater()
  }

  /** These keys were reset here: the store is to forget them, and then to be told of what they spend from now on. */
  reset(debtor: Debtor, keys: readonly string[]): void {
    this.forget(debtor, keys)
    for (const [n, scope] of debtor.scopes.entries()) {
      Object.assign(this.#account(scope, keys[n] as string), { debtors: [debtor], reset: true })
    }
    this.#settleLater()
  }

  #account(scope: string, key: string): Account {
    const name = nameOf(scope, key)
    let account = this.#owing.get(name)
    if (account !== undefined) return account
    account = { name, scope, key, settling: undefined, debtors: [], reset: false }
    if (this.#owing.size >= this.#maxKeys) this.#owing.delete(this.#owing.keys().next().value as string)
    this.#owing.set(name, account)
    return account
  }

  forget({ scopes }: Debtor, keys: readonly string[]): void {
    for (const [n, scope] of scopes.entries()) this.#owing.delete(nameOf(scope, keys[n] as string))
  }

  /** Settles what these keys owe; undefined if that is nothing. Rejects if the store fails: then it is owed still. */
  settle({ scopes }: Debtor, keys: readonly string[]): Promise<unknown> | undefined {
    if (this.#owing.size === 0) return undefined
    const accounts = scopes
      .map((scope, n) => this.#owing.get(nameOf(scope, keys[n] as string)))
      .filter((account) => account !== undefined)
    return accounts.length === 0 ? undefined : Promise.all(accounts.map((account) => this.#settle(account)))
  }

  #settle(account: Account): Promise<void> {
    account.settling ??= this.#charge(account).finally(() => {
      account.settling = undefined
    })
    return account.settling
  }

  async #charge(account: Account): Promise<void> {
    const { name, scope, key } = account
    const forgotten = () => this.#owing.get(name) !== account
    // Nothing is paid into the hands of a store that may be away: what is lost there would have been spent for nothing.
    if (this.#line.breaker.doubtful) await account.debtors[0]?.check(scope, key)
    if (account.reset) await everyOne(account.debtors.map((debtor) => debtor.forget(scope, key)))
    account.reset = false
    const { debtors } = account
    account.debtors = []
    try {
      await everyOne(debtors.map((debtor) => debtor.pay(scope, key, forgotten)))
    } catch (error) {
      account.debtors = [...new Set([...debtors, ...account.debtors])]
      throw error
    }
    if (account.debtors.length === 0 && !forgotten()) this.#owing.delete(name)
  }

  #settleLater(): void {
    this.#again = true
    if (this.#running || this.#waiting) return
    this.#waiting = true
    this.#line.breaker.whenAnswering(() => {
      this.#waiting = false
      void this.#settleAll()
    })
  }

  /** Each account once, as long as the store answers. Those that fail stay, and are tried when they are asked about. */
  async #settleAll(): Promise<void> {
    const { breaker } = this.#line
    this.#running = true
    while (this.#again && breaker.closed) {
      this.#again = false
      const accounts = [...this.#owing.values()]
      for (let from = 0; from < accounts.length && breaker.closed; from += batch) {
        const some = accounts.slice(from, from + batch)
        await Promise.allSettled(some.map((account) => this.#settle(account)))
      }
    }
    this.#running = false
    if (this.#owing.size > 0) this.#settleLater()
  }
}

/** A scope is printable: two pairs never have one name. */
function nameOf(scope: string, key: string): string {
  return `${scope}\n${key}`
}
