import { HeadgateError, type MaybePromise } from '../common/index.ts'
import { type Command, choiceFor, type OnFailure, type OutcomeOf } from '../stores/contract/index.ts'
import type { Breaker } from './breaker.ts'
import type { CallVerb, Fallback, SetAside } from './fallback.ts'
import { isMisuse, scopesOf } from './store-link.ts'
import { StoreRequest } from './store-request.ts'

/** One call of a limiter to the store, and the result that the caller gets if the store fails. */
export class WaitingCall<V extends CallVerb> extends StoreRequest<V> {
  readonly #fallback: Fallback
  readonly #onFailure: OnFailure | undefined
  readonly #restore: SetAside['restore'] | undefined
  #sentAt = 0

  /** @param restore puts back what a reset has set aside, if the reset fails */
  constructor(
    fallback: Fallback,
    command: Command<V>,
    breakers: readonly Breaker[],
    onFailure: OnFailure | undefined,
    restore?: SetAside['restore'],
  ) {
    super(fallback.ledger, command, breakers)
    this.#fallback = fallback
    this.#onFailure = onFailure
    this.#restore = restore
  }

  override send(): MaybePromise<OutcomeOf<V>> {
    this.#sentAt = this.#fallback.quota.clock()
    return super.send()
  }

  override succeeded(outcome: OutcomeOf<V>): OutcomeOf<V> {
    this.#fallback.shared.counters.sources.store++
    if (this.command.verb === 'reset') this.#fallback.quota.reset(this.command.keys)
    return outcome
  }

  /** Called if the store answers after the deadline, when the caller already has a result. */
  override late(outcome: OutcomeOf<V>): void {
    const elapsed = (this.#fallback.quota.clock() - this.#sentAt) / 1000
    this.#fallback.late(this.command, outcome, elapsed)
  }

  override failed(error: unknown): OutcomeOf<V> {
    if (isMisuse(error)) {
      this.#restore?.([])
      throw error
    }
    const { terms, shared } = this.#fallback
    const { onStoreError, counters } = shared
    const { command, breakers } = this
    const option = this.#onFailure?.(error)
    const choice = option ?? choiceFor(onStoreError, error, command.keys, terms, this.#onFailure !== undefined)
    for (const breaker of breakers) breaker.warnIfOpened(terms.name, option ?? onStoreError, choice)
    // If the call was not sent, the error is of an earlier call.
    const { counted, uncounted } = this.sent ? scopesOf(error, terms.scopes) : { counted: [], uncounted: terms.scopes }
    // A refund admits no call, so with every choice, the units that a settlement gives back are refunded when the store responds again. A
    // settlement that the store may have executed is not sent again.
    if (command.verb === 'settle') this.#fallback.giveBackLater(command, uncounted)
    if (choice === 'closed' || choice === 'throw') {
      counters.failedClosed++
      this.#restore?.(counted)
      throw choice === 'closed' ? unavailable(error, breakers) : error
    }
    // The store may have executed a refund that it has not answered. This process must not give its units back once more.
    const done = command.verb === 'refund' ? terms.scopes.filter((scope) => !uncounted.includes(scope)) : counted
    if (choice === 'local') return this.decideLocally(done)
    counters.sources.open++
    if (command.verb === 'reset') return this.#fallback.resetLater(command.keys, counted) as OutcomeOf<V>
    return this.#fallback.letThrough(command) as OutcomeOf<V>
  }

  /**
   * @param counted the scopes (kinds of key) in which the store has already counted a call or executed a reset, or may have refunded units
   */
  decideLocally(counted: readonly string[] = []): OutcomeOf<V> {
    const { shared, terms } = this.#fallback
    const { verb, keys, costs = 1 } = this.command
    shared.counters.sources.fallback++
    if (verb === 'reset') return this.#fallback.resetLater(keys, counted) as OutcomeOf<V>
    if (counted.length === 0) return this.#fallback.run(this.command) as OutcomeOf<V>
    const rest = terms.policies.map(({ scope }, n) => {
      if (counted.includes(scope)) return 0
      return typeof costs === 'number' ? costs : (costs[n] as number)
    })
    return this.#fallback.run({ ...this.command, costs: rest }) as OutcomeOf<V>
  }
}

/** The error of a call if the store failed and `onStoreError` is `'closed'`. */
export function unavailable(cause: unknown, breakers: readonly Breaker[]): HeadgateError {
  const open = breakers.filter(({ closed }) => !closed)
  const retryAfter = Math.max(1, ...(open.length === 0 ? breakers : open).map((breaker) => breaker.retryAfter))
  return new HeadgateError(
    'HEADGATE_STORE_UNAVAILABLE',
    `The store cannot decide, and onStoreError is 'closed'. Try again in ${retryAfter} ms; the cause is the store's error.`,
    { cause, retryAfter },
  )
}
