/*
 * Settling accounts: what keys spent in this process while the store was away is charged to the store, each policy by
 * itself, after the reset of a key that was reset meanwhile, and before the store decides on the key again. (Charged to all policies at once it would be wrong: 600 calls in ten
 * minutes are no debt of 600 units on ten a second.)
 *
 * A ledger of the same name with one policy reaches the same state. A key that is asked about is settled first; the rest
 * follows in the background, a few at a time, once the store answers.
 */
import type { Ledger, LedgerTerms } from '../stores/store.ts'
import type { Books } from './books.ts'
import type { Line } from './line.ts'

/** A key of one scope that may owe. */
interface Account {
  readonly scope: number
  readonly key: string
  settling: Promise<void> | undefined
  /** Whether it has spent more since it was last asked what it owes. */
  noted: boolean
  /** Whether the store has to forget it before it is charged what was spent here since. */
  reset: boolean
}

/** Keys settled at once in the background. */
const batch = 32

export class Accounts {
  readonly #line: Line
  readonly #terms: LedgerTerms
  readonly #books: Books
  readonly #maxKeys: number
  readonly #owing = new Map<string, Account>()
  /** A ledger of each policy alone, once needed. */
  readonly #ledgers: (Ledger | undefined)[] = []
  #running = false
  #again = false
  #waiting = false

  /** @param maxKeys the most keys remembered; then the oldest is forgotten, and what it spent is not charged */
  constructor(line: Line, terms: LedgerTerms, books: Books, maxKeys: number) {
    this.#line = line
    this.#terms = terms
    this.#books = books
    this.#maxKeys = maxKeys
  }

  get size(): number {
    return this.#owing.size
  }

  /** These keys have spent something here. */
  note(keys: readonly string[]): void {
    for (const [scope, key] of keys.entries()) {
      const account = this.#owing.get(`${scope}:${key}`)
      if (account === undefined) this.#add(scope, key, false)
      else account.noted = true
    }
    this.#settleLater()
  }

  /** These keys were reset here: the store is to forget them, and then to be told of what they spend from now on. */
  reset(keys: readonly string[]): void {
    this.forget(keys)
    for (const [scope, key] of keys.entries()) this.#add(scope, key, true)
    this.#settleLater()
  }

  #add(scope: number, key: string, reset: boolean): void {
    if (this.#owing.size >= this.#maxKeys) this.#owing.delete(this.#owing.keys().next().value as string)
    this.#owing.set(`${scope}:${key}`, { scope, key, settling: undefined, noted: true, reset })
  }

  forget(keys: readonly string[]): void {
    for (const [scope, key] of keys.entries()) this.#owing.delete(`${scope}:${key}`)
  }

  /** Settles what these keys owe; undefined if that is nothing. Rejects if the store fails: then it is owed still. */
  settle(keys: readonly string[]): Promise<unknown> | undefined {
    if (this.#owing.size === 0) return undefined
    const accounts = keys
      .map((key, scope) => this.#owing.get(`${scope}:${key}`))
      .filter((account) => account !== undefined)
    return accounts.length === 0 ? undefined : Promise.all(accounts.map((account) => this.#settle(account)))
  }

  #settle(account: Account): Promise<void> {
    account.settling ??= this.#charge(account).finally(() => {
      account.settling = undefined
    })
    return account.settling
  }

  /** Paid when it is asked for: what was not answered in time is taken as made, what failed is owed again. */
  async #charge(account: Account): Promise<void> {
    const books = this.#books
    const { scope, key } = account
    if (this.#line.breaker.doubtful) await this.#check(scope, key)
    if (account.reset) await this.#forgetThere(scope, key)
    account.reset = false
    account.noted = false
    const charges = books.owed(scope, key).map(async (units, policy) => {
      if (units === 0) return
      books.pay(policy, key, units)
      try {
        await this.#line.ask(() => this.#ledger(policy).decide('charge', [key], units))
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'HEADGATE_STORE_TIMEOUT') books.unpay(policy, key, units)
        throw error
      }
    })
    await everyOne(charges)
    const name = `${scope}:${key}`
    if (!account.noted && this.#owing.get(name) === account) this.#owing.delete(name)
  }

  /** Nothing is paid into the hands of a store that may be away: what is lost there would have been spent for nothing. */
  async #check(scope: number, key: string): Promise<void> {
    const policy = this.#terms.policies.findIndex((each) => each.scope === this.#terms.scopes[scope])
    await this.#line.ask(() => this.#ledger(policy).decide('charge', [key], 0))
  }

  async #forgetThere(scope: number, key: string): Promise<void> {
    const resets = this.#terms.policies.map(async (policy, n) => {
      if (policy.scope === this.#terms.scopes[scope]) await this.#line.ask(() => this.#ledger(n).reset([key]))
    })
    await everyOne(resets)
  }

  #ledger(policy: number): Ledger {
    const policies = this.#terms.policies.slice(policy, policy + 1)
    const scopes = policies.map(({ scope }) => scope)
    const ledger = this.#ledgers[policy] ?? this.#line.store.open({ ...this.#terms, policies, scopes })
    this.#ledgers[policy] = ledger
    return ledger
  }

  /** Gives units back that the store was told of. */
  async refund(policy: number, key: string, units: number): Promise<void> {
    await this.#line.ask(() => this.#ledger(policy).decide('refund', [key], units))
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

/** Waits for all of them; rejects with what the first that failed said. */
async function everyOne(promises: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(promises)) if (result.status === 'rejected') throw result.reason
}
