import type { Tickets } from '../algorithms/evaluation.ts'
import type { Decision } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { Booking, CallExtras, DecideExtras, DecideVerb } from '../stores/store.ts'
import type { Means } from './means.ts'
import { chosen } from './on-store-error.ts'
import { isMisuse, type Question } from './store-link.ts'

/** One call: what it asks of the store, and what takes the place of the store's answer. */
export abstract class Call<T> implements Question<T> {
  readonly means: Means
  readonly keys: readonly string[]
  readonly extras: CallExtras | undefined
  declare resolve: (answer: T) => void
  declare reject: (error: unknown) => void

  constructor(means: Means, keys: readonly string[], extras: CallExtras | undefined) {
    this.means = means
    this.keys = keys
    this.extras = extras
  }

  abstract ask(): MaybePromise<T>
  abstract late(answer: T): void
  /** Decided by the books. */
  abstract here(): T
  /** Let through, uncounted. */
  abstract through(): T

  answered(answer: T): void {
    this.means.shared.counters.sources.store++
    this.resolve(answer)
  }

  failed(error: unknown): void {
    try {
      if (isMisuse(error)) throw error
      this.resolve(this.#instead(error))
    } catch (thrown) {
      this.reject(thrown)
    }
  }

  /** Answers in place of the store. */
  #instead(error: unknown): T {
    const { terms, shared } = this.means
    const { onStoreError, counters, line } = shared
    const choice = this.extras?.onFailure?.(error) ?? chosen(onStoreError, error, this.keys, terms, this.extras)
    if (choice === 'deny') {
      counters.denied++
      throw unavailable(error, line.breaker.retryAfter)
    }
    counters.sources[choice === 'allow' ? 'open' : 'fallback']++
    return choice === 'allow' ? this.through() : this.here()
  }
}

export class Decide extends Call<Decision> {
  readonly #verb: DecideVerb
  readonly #cost: number
  declare readonly extras: DecideExtras | undefined
  /** Of a reservation that the store granted: one that may have been given back is not given back twice. */
  readonly #unsettled: Tickets | undefined

  constructor(means: Means, verb: DecideVerb, keys: readonly string[], cost: number, extras: DecideExtras | undefined) {
    super(means, keys, extras)
    this.#verb = verb
    this.#cost = cost
    this.#unsettled = verb === 'refund' && !means.shared.line.breaker.closed ? extras?.tickets : undefined
  }

  ask(): MaybePromise<Decision> {
    return this.means.ledger.decide(this.#verb, this.keys, this.#cost, this.extras)
  }

  late({ allowed }: Decision): void {
    if (this.#verb === 'consume' && allowed) void this.means.giveBack(this.keys, this.#cost)
  }

  here(): Decision {
    this.#giveBackLater()
    return this.means.decideHere(this.#verb, this.keys, this.#cost, this.extras)
  }

  through(): Decision {
    this.#giveBackLater()
    return this.means.letThrough(this.extras)
  }

  #giveBackLater(): void {
    if (this.#unsettled !== undefined) this.means.giveBackLater(this.keys, this.#cost, this.#unsettled)
  }
}

export class Reserve extends Call<Booking> {
  readonly #cost: number
  readonly #maxWait: number

  constructor(means: Means, keys: readonly string[], cost: number, maxWait: number, details: CallExtras | undefined) {
    super(means, keys, details)
    this.#cost = cost
    this.#maxWait = maxWait
  }

  ask(): MaybePromise<Booking> {
    return this.means.ledger.reserve(this.keys, this.#cost, this.#maxWait, this.extras)
  }

  late({ decision, tickets }: Booking): void {
    if (decision.allowed) void this.means.giveBack(this.keys, this.#cost, tickets)
  }

  here(): Booking {
    return this.means.reserveHere(this.keys, this.#cost, this.#maxWait, this.extras)
  }

  through(): Booking {
    return this.means.reserveNothing(this.extras)
  }
}

export class Reset extends Call<void> {
  constructor(means: Means, keys: readonly string[]) {
    super(means, keys, undefined)
  }

  ask(): MaybePromise<void> {
    return this.means.ledger.reset(this.keys)
  }

  late(): void {}

  /** Once the store answers, it is told. */
  here(): void {
    this.means.shared.accounts.reset(this.means.debtor, this.keys)
  }

  through(): void {
    this.here()
  }
}

function unavailable(cause: unknown, retryAfter: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_UNAVAILABLE',
    `The store cannot decide, and onStoreError is 'deny'. Try again in ${retryAfter} ms; see cause for what it said.`,
    { cause, retryAfter },
  )
}
