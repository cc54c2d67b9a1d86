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
import { monotonicClock } from '../clock.ts'
import type { Decision } from '../decision.ts'
import type { Booking, CallExtras, DecideExtras, DecideVerb, Ledger, LedgerTerms, Store } from '../stores/store.ts'
import { type Call, Decide, Reserve, Reset } from './calls.ts'
import type { Health } from './health.ts'
import { LocalQuota } from './local-quota.ts'
import { Means } from './means.ts'
import { shareOf } from './share.ts'
import { type FailoverOptions, maxKeys, Shared } from './shared.ts'

class FailoverLedger implements Ledger {
  readonly #means: Means

  private constructor(terms: LedgerTerms, shared: Shared, books: LocalQuota) {
    this.#means = new Means(terms, shared, books)
  }

  static of(store: Store, terms: LedgerTerms, options: FailoverOptions): FailoverLedger {
    const { clock = monotonicClock, instances } = options
    return new FailoverLedger(
      terms,
      new Shared(store, options, clock),
      LocalQuota.of(sharesOf(terms, instances), maxKeys, clock),
    )
  }

  /** Asks the store by a ledger of its own; what is decided here, counted and owed is one, whoever decides it. */
  vary(terms: LedgerTerms): Ledger {
    const { shared, books } = this.#means
    return new FailoverLedger(terms, shared, books.vary(sharesOf(terms, shared.instances)))
  }

  decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Promise<Decision> {
    const means = this.#means
    const granted = extras?.tickets && means.granted.get(extras.tickets)
    if (granted === 'open') return Promise.resolve(means.letThrough(extras))
    if (granted === 'local') return Promise.resolve(means.refundHere(keys, cost, extras))
    return this.#put(new Decide(means, verb, keys, cost, extras))
  }

  reserve(keys: readonly string[], cost: number, maxWait: number, details?: CallExtras): Promise<Booking> {
    return this.#put(new Reserve(this.#means, keys, cost, maxWait, details))
  }

  /** The key is forgotten under the policies of all limiters of the name. */
  reset(keys: readonly string[]): Promise<void> {
    const { terms, shared, books, debtor } = this.#means
    shared.accounts.forget(debtor, keys)
    shared.postponed.forget(terms.scopes, keys)
    books.reset(keys)
    return this.#put(new Reset(this.#means, keys))
  }

  health(): Health {
    return this.#means.shared.health()
  }

  #put<T>(call: Call<T>): Promise<T> {
    const { ledger, shared, debtor } = this.#means
    const { line, accounts } = shared
    return new Promise((resolve, reject) => {
      call.resolve = resolve
      call.reject = reject
      if (line.breaker.closed) line.put(call, accounts.settle(debtor, call.keys))
      else {
        // A charge of nothing goes all the way, writes, and changes no number.
        line.probe(() => ledger.decide('charge', call.keys, 0))
        call.failed(line.breaker.lastError)
      }
    })
  }
}

/** What one process decides by. */
function sharesOf(terms: LedgerTerms, instances: number): LedgerTerms {
  return { ...terms, policies: terms.policies.map((policy) => shareOf(policy, instances)) }
}

/** A limiter's ledger in a store: one that answers at once is asked directly, and costs nothing more. */
export function openLedger(store: Store, terms: LedgerTerms, options: FailoverOptions): Ledger {
  return store.synchronous ? store.open(terms) : FailoverLedger.of(store, terms, options)
}

const startedAt = Math.floor(monotonicClock() / 1000)

export function healthOf(ledger: Ledger): Health {
  if (ledger instanceof FailoverLedger) return ledger.health()
  const sources = { store: 0, fallback: 0, open: 0 }
  return { state: 'closed', since: startedAt, sources, denied: 0, errors: 0, lastError: undefined, owing: 0 }
}
