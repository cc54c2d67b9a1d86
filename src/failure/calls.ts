import { type Costs, type Tickets, unitsBack } from '../algorithms/evaluation.ts'
import type { Decision } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { Booking, CallOptions, DecideOptions, DecideVerb, ReserveOptions } from '../stores/store.ts'
import { warnIfOpened } from './breaker-warning.ts'
import type { Fallback } from './fallback.ts'
import { choiceFor } from './on-store-error.ts'
import { isMisuse, StoreRequest } from './store-link.ts'

/** One call of a limiter: the request to the store, and the result if the store fails. */
export abstract class Call<T> extends StoreRequest<T> {
  readonly fallback: Fallback
  readonly keys: readonly string[]
  readonly extras: CallOptions | undefined

  constructor(fallback: Fallback, keys: readonly string[], extras: CallOptions | undefined) {
    super()
    this.fallback = fallback
    this.keys = keys
    this.extras = extras
  }

  /** The decision by the local quota. */
  protected abstract decideLocally(): T
  /** The result of a call that is let through uncounted. */
  protected abstract letThrough(): T

  succeeded(response: T): T {
    this.fallback.shared.counters.sources.store++
    return response
  }

  failed(error: unknown): MaybePromise<T> {
    try {
      return isMisuse(error) ? Promise.reject(error) : this.#chooseFor(error)
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }

  #chooseFor(error: unknown): T {
    const { terms, shared } = this.fallback
    const { onStoreError, counters, link } = shared
    const option = this.extras?.onFailure?.(error)
    const choice = option ?? choiceFor(onStoreError, error, this.keys, terms, this.extras)
    warnIfOpened(link.breaker, terms.name, option ?? onStoreError, choice)
    if (choice === 'deny') {
      counters.denied++
      throw unavailable(error, link.breaker.retryAfter)
    }
    if (choice === 'throw') {
      counters.denied++
      throw error
    }
    counters.sources[choice === 'allow' ? 'open' : 'fallback']++
    return choice === 'allow' ? this.letThrough() : this.decideLocally()
  }
}

export class DecideCall extends Call<Decision> {
  readonly #verb: DecideVerb
  readonly #costs: Costs
  declare readonly extras: DecideOptions | undefined
  /** A settlement that is not sent now. One that was sent may have counted, so it is not sent again. */
  readonly #unsent: Tickets | undefined

  constructor(
    fallback: Fallback,
    verb: DecideVerb,
    keys: readonly string[],
    costs: Costs,
    extras: DecideOptions | undefined,
  ) {
    super(fallback, keys, extras)
    this.#verb = verb
    this.#costs = costs
    this.#unsent = verb === 'settle' && !fallback.shared.link.breaker.closed ? extras?.tickets : undefined
  }

  send(): MaybePromise<Decision> {
    return this.fallback.ledger.decide(this.#verb, this.keys, this.#costs, this.extras)
  }

  late({ allowed }: Decision): void {
    if (this.#verb === 'consume' && allowed) void this.fallback.giveBack(this.keys, this.#costs)
  }

  protected decideLocally(): Decision {
    this.#giveBackLater()
    return this.fallback.decideLocally(this.#verb, this.keys, this.#costs, this.extras)
  }

  protected letThrough(): Decision {
    this.#giveBackLater()
    return this.fallback.letThrough(this.extras)
  }

  #giveBackLater(): void {
    if (this.#unsent !== undefined) this.fallback.giveBackLater(this.keys, this.#costs, this.#unsent)
  }
}

export class ReserveCall extends Call<Booking> {
  readonly #costs: Costs
  readonly #maxWait: number
  declare readonly extras: ReserveOptions | undefined

  constructor(
    fallback: Fallback,
    keys: readonly string[],
    costs: Costs,
    maxWait: number,
    extras: ReserveOptions | undefined,
  ) {
    super(fallback, keys, extras)
    this.#costs = costs
    this.#maxWait = maxWait
  }

  send(): MaybePromise<Booking> {
    return this.fallback.ledger.reserve(this.keys, this.#costs, this.#maxWait, this.extras)
  }

  late({ decision, tickets }: Booking): void {
    if (!decision.allowed || tickets === undefined) return
    const renews = this.extras?.renews
    if (renews === undefined) void this.fallback.giveBack(this.keys, unitsBack(tickets), tickets)
    else Object.assign(renews, tickets) // the reservation goes on with its tickets, which the store no longer knows
  }

  protected decideLocally(): Booking {
    return this.fallback.reserveLocally(this.keys, this.#costs, this.#maxWait, this.extras)
  }

  protected letThrough(): Booking {
    return this.fallback.reserveNothing(this.extras)
  }
}

export class ResetCall extends Call<void> {
  constructor(fallback: Fallback, keys: readonly string[]) {
    super(fallback, keys, undefined)
  }

  send(): MaybePromise<void> {
    return this.fallback.ledger.reset(this.keys)
  }

  late(): void {}

  protected decideLocally(): void {
    this.fallback.resetLater(this.keys)
  }

  protected letThrough(): void {
    this.fallback.resetLater(this.keys)
  }
}

/** The error of a call with `onStoreError: 'deny'`. */
export function unavailable(cause: unknown, retryAfter: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_UNAVAILABLE',
    `The store cannot decide, and onStoreError is 'deny'. Try again in ${retryAfter} ms; the cause is the store's error.`,
    { cause, retryAfter },
  )
}
