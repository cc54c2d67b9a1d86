/*
 * A store's ledger that always answers: by the store, or by what was chosen for when the store fails.
 *
 *     call -> breaker closed? -> settle what the key owes -> store, within the deadline -> decision
 *                  |                        |                        |
 *                  no                     fails                    fails
 *                  +------------------------+------------------------+--> the choice -> deny: an error
 *                                                                                       allow: let through, uncounted
 *                                                                                       local: decided by the books here
 */
import type { Tickets } from '../algorithms/step.ts'
import { monotonicClock } from '../clock.ts'
import type { Decision } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import type { Booking, CallExtras, DecideExtras, DecideVerb, Ledger, LedgerTerms, Store } from '../stores/store.ts'
import { Books } from './books.ts'
import { chosen } from './choice.ts'
import { Debtor } from './debtor.ts'
import type { Health } from './health.ts'
import { isMisuse } from './line.ts'
import { letThrough } from './open-door.ts'
import { shareOf } from './share.ts'
import { type FailsafeOptions, maxKeys, Shared } from './shared.ts'

/** What takes the place of a store's answer. */
interface Instead<T> {
  readonly local: () => T
  readonly open: () => T
}

class Failsafe implements Ledger {
  readonly #terms: LedgerTerms
  readonly #ledger: Ledger
  readonly #shared: Shared
  readonly #books: Books
  readonly #debtor: Debtor
  /** Who granted a reservation, where it was not the store. */
  readonly #granted = new WeakMap<Tickets, 'local' | 'open'>()

  private constructor(terms: LedgerTerms, shared: Shared, books: Books) {
    this.#terms = terms
    this.#ledger = shared.line.store.open(terms)
    this.#shared = shared
    this.#books = books
    this.#debtor = new Debtor(shared.line, terms, books)
  }

  static of(store: Store, terms: LedgerTerms, options: FailsafeOptions): Failsafe {
    const { clock = monotonicClock, instances } = options
    return new Failsafe(terms, new Shared(store, options, clock), Books.of(sharesOf(terms, instances), maxKeys, clock))
  }

  /** Asks the store by a ledger of its own; what is decided here, counted and owed is one, whoever decides it. */
  vary(terms: LedgerTerms): Ledger {
    const shared = this.#shared
    return new Failsafe(terms, shared, this.#books.vary(sharesOf(terms, shared.instances)))
  }

  decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Promise<Decision> {
    const granted = extras?.tickets && this.#granted.get(extras.tickets)
    if (granted === 'open') return Promise.resolve(this.#letThrough(extras))
    if (granted === 'local') return Promise.resolve(this.#refundHere(keys, cost, extras))
    const late = ({ allowed }: Decision) => {
      if (verb === 'consume' && allowed) void this.#giveBack(keys, cost)
    }
    // Of a reservation that the store granted: one that may have been given back is not given back twice.
    const tickets = verb === 'refund' && !this.#shared.line.breaker.closed ? extras?.tickets : undefined
    const giveBackLater = () => tickets && this.#postpone(keys, () => this.#giveBack(keys, cost, tickets))
    return this.#call(keys, extras, () => this.#ledger.decide(verb, keys, cost, extras), late, {
      local: () => {
        giveBackLater()
        return this.#decideHere(verb, keys, cost, extras)
      },
      open: () => {
        giveBackLater()
        return this.#letThrough(extras)
      },
    })
  }

  reserve(keys: readonly string[], cost: number, maxWait: number, details?: CallExtras): Promise<Booking> {
    const late = ({ decision, tickets }: Booking) => {
      if (decision.allowed) void this.#giveBack(keys, cost, tickets)
    }
    return this.#call(keys, details, () => this.#ledger.reserve(keys, cost, maxWait, details), late, {
      local: () => {
        this.#shared.accounts.note(this.#debtor, keys)
        return this.#granting('local', this.#books.reserve(keys, cost, maxWait, details))
      },
      open: () => this.#granting('open', { decision: this.#letThrough(details), wait: 0, tickets: [] }),
    })
  }

  /** The key is forgotten under the policies of all limiters of the name. */
  reset(keys: readonly string[]): Promise<void> {
    const { accounts, postponed } = this.#shared
    accounts.forget(this.#debtor, keys)
    postponed.forget(this.#terms.scopes, keys)
    this.#books.reset(keys)
    const reset = () => this.#ledger.reset(keys)
    const later = () => accounts.reset(this.#debtor, keys)
    return this.#call(keys, undefined, reset, () => undefined, { local: later, open: later })
  }

  health(): Health {
    return this.#shared.health()
  }

  /** @param late what to do with an answer that came when the call had been answered otherwise */
  #call<T>(
    keys: readonly string[],
    extras: CallExtras | undefined,
    question: () => T | Promise<T>,
    late: (answer: T) => void,
    instead: Instead<T>,
  ): Promise<T> {
    const { line, accounts, counters } = this.#shared
    if (!line.breaker.closed) {
      // A charge of nothing goes all the way, writes, and changes no number.
      line.probe(() => this.#ledger.decide('charge', keys, 0))
      return this.#instead(line.breaker.lastError, keys, extras, instead)
    }
    return new Promise((resolve, reject) => {
      const outcome = {
        answered: (answer: T) => {
          counters.sources.store++
          resolve(answer)
        },
        failed: (error: unknown) => {
          if (isMisuse(error)) reject(error)
          else resolve(this.#instead(error, keys, extras, instead))
        },
        late,
      }
      line.put(question, outcome, accounts.settle(this.#debtor, keys))
    })
  }

  /** Answers in place of the store. */
  async #instead<T>(
    error: unknown,
    keys: readonly string[],
    extras: CallExtras | undefined,
    by: Instead<T>,
  ): Promise<T> {
    const { onStoreError, counters, line } = this.#shared
    const choice = extras?.onFailure?.(error) ?? chosen(onStoreError, error, keys, this.#terms, extras)
    if (choice === 'deny') {
      counters.denied++
      throw unavailable(error, line.breaker.retryAfter)
    }
    counters.sources[choice === 'allow' ? 'open' : 'fallback']++
    return choice === 'allow' ? by.open() : by.local()
  }

  #decideHere(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    const granted = verb === 'refund' && extras?.tickets !== undefined // by the store: here there is nothing of it
    if (verb === 'peek' || granted) return this.#books.decide('peek', keys, cost, extras)
    if (verb === 'refund') return this.#refundHere(keys, cost, extras)
    this.#shared.accounts.note(this.#debtor, keys)
    return this.#books.decide(verb, keys, cost, extras)
  }

  /** Gives back what was taken here, and at the store what that has been told of. */
  #refundHere(keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    const { decision, overpaid } = this.#books.refund(keys, cost, extras)
    for (const [policy, units] of overpaid.entries()) {
      const key = keys[this.#terms.scopes.indexOf(this.#terms.policies[policy]?.scope as string)] as string
      if (units > 0) this.#postpone(keys, () => this.#debtor.refund(policy, key, units))
    }
    return decision
  }

  #postpone(keys: readonly string[], run: () => Promise<unknown>): void {
    this.#shared.postponed.add({ scopes: this.#terms.scopes, keys, run })
  }

  /** Gives units back that the store took; one that fails keeps them, which errs to the strict side. */
  async #giveBack(keys: readonly string[], cost: number, tickets?: Tickets): Promise<void> {
    const refund = () => this.#ledger.decide('refund', keys, cost, tickets && { tickets })
    await this.#shared.line.ask(refund).catch(() => undefined)
  }

  #letThrough(extras: CallExtras | undefined): Decision {
    return letThrough(this.#terms.policies, extras)
  }

  #granting(by: 'local' | 'open', booking: Booking): Booking {
    if (booking.tickets !== undefined) this.#granted.set(booking.tickets, by)
    return booking
  }
}

/** What one process decides by. */
function sharesOf(terms: LedgerTerms, instances: number): LedgerTerms {
  return { ...terms, policies: terms.policies.map((policy) => shareOf(policy, instances)) }
}

function unavailable(cause: unknown, retryAfter: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_UNAVAILABLE',
    `The store cannot decide, and onStoreError is 'deny'. Try again in ${retryAfter} ms; see cause for what it said.`,
    { cause, retryAfter },
  )
}

/** A limiter's ledger in a store: one that answers at once is asked directly, and costs nothing more. */
export function openLedger(store: Store, terms: LedgerTerms, options: FailsafeOptions): Ledger {
  return store.synchronous ? store.open(terms) : Failsafe.of(store, terms, options)
}

const startedAt = Math.floor(monotonicClock() / 1000)

export function healthOf(ledger: Ledger): Health {
  if (ledger instanceof Failsafe) return ledger.health()
  const sources = { store: 0, fallback: 0, open: 0 }
  return { state: 'closed', since: startedAt, sources, denied: 0, errors: 0, lastError: undefined, owing: 0 }
}
