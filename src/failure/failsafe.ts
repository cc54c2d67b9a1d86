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
import { type Clock, monotonicClock } from '../clock.ts'
import type { Decision } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import type { Booking, CallExtras, DecideExtras, DecideVerb, Ledger, LedgerTerms, Store } from '../stores/store.ts'
import { Accounts } from './accounts.ts'
import { Books } from './books.ts'
import { chosen, type OnStoreError } from './choice.ts'
import { type Sleeper, timer } from './deadlines.ts'
import { Counters, type Health } from './health.ts'
import { isMisuse, Line } from './line.ts'
import { letThrough } from './open-door.ts'
import { Postponed } from './postponed.ts'
import { shareOf } from './share.ts'

export interface FailsafeOptions {
  readonly onStoreError: OnStoreError | undefined
  readonly instances: number
  /** In milliseconds. */
  readonly storeTimeout: number | undefined
  readonly clock?: Clock
  readonly sleeper?: Sleeper
}

/** The most keys of each scope that are decided here: some 400 bytes each, in two books and the accounts. */
const maxKeys = 100_000

/** What takes the place of a store's answer. */
interface Instead<T> {
  readonly local: () => T
  readonly open: () => T
}

class Failsafe implements Ledger {
  readonly #terms: LedgerTerms
  readonly #options: FailsafeOptions
  readonly #ledger: Ledger
  readonly #line: Line
  readonly #books: Books
  readonly #accounts: Accounts
  readonly #postponed: Postponed
  readonly #counters = new Counters()
  /** Who granted a reservation, where it was not the store. */
  readonly #granted = new WeakMap<Tickets, 'local' | 'open'>()

  /** @param first of the same name, under other policies */
  constructor(store: Store, terms: LedgerTerms, options: FailsafeOptions, first?: Failsafe) {
    const { instances, storeTimeout, clock = monotonicClock, sleeper = timer } = options
    this.#terms = terms
    this.#options = options
    this.#ledger = store.open(terms)
    this.#line = new Line(store, storeTimeout, clock, sleeper)
    const shares = { ...terms, policies: terms.policies.map((policy) => shareOf(policy, instances)) }
    this.#books = first === undefined ? Books.of(shares, maxKeys, clock) : first.#books.vary(shares)
    this.#accounts = new Accounts(this.#line, terms, this.#books, maxKeys)
    this.#postponed = new Postponed(this.#line.breaker)
  }

  /** Asks the store by a ledger of its own; what is decided here is one, whoever decides it. */
  vary(terms: LedgerTerms): Ledger {
    return new Failsafe(this.#line.store, terms, this.#options, this)
  }

  decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Promise<Decision> {
    const granted = extras?.tickets && this.#granted.get(extras.tickets)
    if (granted === 'open') return Promise.resolve(this.#letThrough(extras))
    if (granted === 'local') return Promise.resolve(this.#refundHere(keys, cost, extras))
    const late = ({ allowed }: Decision) => {
      if (verb === 'consume' && allowed) void this.#giveBack(keys, cost)
    }
    // Of a reservation that the store granted: one that may have been given back is not given back twice.
    const tickets = verb === 'refund' && !this.#line.breaker.closed ? extras?.tickets : undefined
    const giveBackLater = () => tickets && this.#postponed.add(() => this.#giveBack(keys, cost, tickets))
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
        this.#accounts.note(keys)
        return this.#granting('local', this.#books.reserve(keys, cost, maxWait, details))
      },
      open: () => this.#granting('open', { decision: this.#letThrough(details), wait: 0, tickets: [] }),
    })
  }

  reset(keys: readonly string[]): Promise<void> {
    this.#accounts.forget(keys)
    this.#books.reset(keys)
    const reset = () => this.#ledger.reset(keys)
    const later = () => this.#accounts.reset(keys)
    return this.#call(keys, undefined, reset, () => undefined, { local: later, open: later })
  }

  health(): Health {
    const { state, since, lastError } = this.#line.breaker
    const { sources, denied } = this.#counters
    return {
      state,
      since: Math.floor(since / 1000),
      sources: { ...sources },
      denied,
      errors: this.#line.errors,
      lastError,
      owing: this.#accounts.size,
    }
  }

  /** @param late what to do with an answer that came when the call had been answered otherwise */
  #call<T>(
    keys: readonly string[],
    extras: CallExtras | undefined,
    question: () => T | Promise<T>,
    late: (answer: T) => void,
    instead: Instead<T>,
  ): Promise<T> {
    const { breaker } = this.#line
    if (!breaker.closed) {
      // A charge of nothing goes all the way, writes, and changes no number.
      this.#line.probe(() => this.#ledger.decide('charge', keys, 0))
      return this.#instead(breaker.lastError, keys, extras, instead)
    }
    return new Promise((resolve, reject) => {
      const outcome = {
        answered: (answer: T) => {
          this.#counters.sources.store++
          resolve(answer)
        },
        failed: (error: unknown) => {
          if (isMisuse(error)) reject(error)
          else resolve(this.#instead(error, keys, extras, instead))
        },
        late,
      }
      this.#line.put(question, outcome, this.#accounts.settle(keys))
    })
  }

  /** Answers in place of the store. */
  async #instead<T>(
    error: unknown,
    keys: readonly string[],
    extras: CallExtras | undefined,
    by: Instead<T>,
  ): Promise<T> {
    const choice = extras?.onFailure?.(error) ?? chosen(this.#options.onStoreError, error, keys, this.#terms, extras)
    if (choice === 'deny') {
      this.#counters.denied++
      throw unavailable(error, this.#line.breaker.retryAfter)
    }
    this.#counters.sources[choice === 'allow' ? 'open' : 'fallback']++
    return choice === 'allow' ? by.open() : by.local()
  }

  #decideHere(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    const granted = verb === 'refund' && extras?.tickets !== undefined // by the store: here there is nothing of it
    if (verb === 'peek' || granted) return this.#books.decide('peek', keys, cost, extras)
    if (verb === 'refund') return this.#refundHere(keys, cost, extras)
    this.#accounts.note(keys)
    return this.#books.decide(verb, keys, cost, extras)
  }

  /** Gives back what was taken here, and at the store what that has been told of. */
  #refundHere(keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    const { decision, overpaid } = this.#books.refund(keys, cost, extras)
    for (const [policy, units] of overpaid.entries()) {
      const scope = this.#terms.scopes.indexOf(this.#terms.policies[policy]?.scope as string)
      if (units > 0) this.#postponed.add(() => this.#accounts.refund(policy, keys[scope] as string, units))
    }
    return decision
  }

  /** Gives units back that the store took; one that fails keeps them, which errs to the strict side. */
  async #giveBack(keys: readonly string[], cost: number, tickets?: Tickets): Promise<void> {
    const refund = () => this.#ledger.decide('refund', keys, cost, tickets && { tickets })
    await this.#line.ask(refund).catch(() => undefined)
  }

  #letThrough(extras: CallExtras | undefined): Decision {
    return letThrough(this.#terms.policies, extras)
  }

  #granting(by: 'local' | 'open', booking: Booking): Booking {
    if (booking.tickets !== undefined) this.#granted.set(booking.tickets, by)
    return booking
  }
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
  return store.synchronous ? store.open(terms) : new Failsafe(store, terms, options)
}

const startedAt = Math.floor(monotonicClock() / 1000)

export function healthOf(ledger: Ledger): Health {
  if (ledger instanceof Failsafe) return ledger.health()
  const sources = { store: 0, fallback: 0, open: 0 }
  return { state: 'closed', since: startedAt, sources, denied: 0, errors: 0, lastError: undefined, owing: 0 }
}
