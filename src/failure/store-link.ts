import type { Clock } from '../clock.ts'
import { HeadgateError } from '../errors.ts'
import { isPromise, type MaybePromise } from '../maybe-promise.ts'
import type { Sleeper } from '../sleeper.ts'
import { Deadlines, Due } from '../stores/deadlines.ts'
import type { Store } from '../stores/store.ts'
import { unanswered } from '../stores/unanswered.ts'
import { type Breaker, breakerOf } from './breaker.ts'

/** In milliseconds, for a store that declares no timeout of its own. */
const defaultTimeout = 100
/** A store that keeps its own deadline gets this much longer: it may be able to withdraw the request. */
const grace = 10

/** One request to the store. Its sender gets the result of `answered` or of `failed`. */
export abstract class StoreRequest<T> extends Due {
  /** True once the store was asked: from then on, a failure is the store's. */
  sent = true
  declare link: StoreLink
  declare resolve: (result: MaybePromise<T>) => void

  abstract send(): MaybePromise<T>
  abstract answered(answer: T): T
  abstract failed(error: unknown): MaybePromise<T>
  /** The answer came after the request had failed. */
  abstract late(answer: T): void

  /** The deadline has passed. */
  expire(): void {
    this.resolve(this.link.failed(this, this.link.timeoutError))
  }
}

/**
 * The way to a store. Each request is answered or fails within a deadline, and the breaker counts the outcome.
 *
 * One place keeps the deadline of a request: the store itself if it declares a `timeout`, else the link. The limiter's
 * option `storeTimeout` makes it the link; Infinity leaves it to the store, if that has one. An answer that is no promise needs no deadline.
 */
export class StoreLink {
  readonly store: Store
  readonly breaker: Breaker
  readonly #deadlines: Deadlines
  /** True if the store rejects each request in time by itself. */
  readonly #storeKeepsDeadlines: boolean
  /** Requests that failed or were not answered in time. */
  errors = 0

  /** @param timeout in milliseconds; undefined for the store's own, or 100; Infinity for none */
  constructor(store: Store, timeout: number | undefined, clock: Clock, sleeper: Sleeper) {
    const own = store.timeout === undefined ? defaultTimeout : store.timeout + grace
    this.store = store
    this.breaker = breakerOf(store, clock)
    this.#deadlines = new Deadlines(timeout ?? own, clock, sleeper)
    this.#storeKeepsDeadlines = timeout === Infinity || (timeout === undefined && store.timeout !== undefined)
  }

  /** Sends the request. */
  send<T>(request: StoreRequest<T>): MaybePromise<T> {
    let answer: MaybePromise<T>
    try {
      answer = request.send()
    } catch (error) {
      answer = Promise.reject(error)
    }
    if (!isPromise(answer)) return this.#answered(request, answer)
    if (!this.#storeKeepsDeadlines) return this.#bounded(request, answer)
    return (answer instanceof Promise ? answer : Promise.resolve(answer)).then(
      (value) => this.#answered(request, value),
      (error) => this.failed(request, error),
    )
  }

  /** Sends the request after something else, both within one deadline. If that fails, it was counted already. */
  sendAfter<T>(before: Promise<unknown>, request: StoreRequest<T>): Promise<T> {
    request.sent = false
    const send = () => {
      if (!request.waits) throw new Error('the deadline has passed')
      request.sent = true
      return request.send()
    }
    return this.#bounded(request, before.then(send))
  }

  /** Sends a request whose failure rejects. */
  ask<T>(send: () => MaybePromise<T>): Promise<T> {
    return Promise.resolve(this.send(new PlainRequest(send)))
  }

  /** Sends a probe if one is due. Nobody waits for its answer. */
  probe(send: () => MaybePromise<unknown>): void {
    if (this.breaker.startProbe()) void this.send(new Probe(send, this.breaker))
  }

  #bounded<T>(request: StoreRequest<T>, answer: Promise<T>): Promise<T> {
    const deadlines = this.#deadlines
    return new Promise((resolve) => {
      request.link = this
      request.resolve = resolve
      deadlines.add(request)
      answer.then(
        (value) => (deadlines.remove(request) ? resolve(this.#answered(request, value)) : request.late(value)),
        (error) => deadlines.remove(request) && resolve(this.failed(request, error)),
      )
    })
  }

  #answered<T>(request: StoreRequest<T>, answer: T): T {
    this.breaker.succeeded()
    return request.answered(answer)
  }

  failed<T>(request: StoreRequest<T>, error: unknown): MaybePromise<T> {
    if (request.sent && !isMisuse(error)) {
      this.errors++
      this.breaker.failed(error)
    }
    return request.failed(error)
  }

  /** The error of a request that was not answered in time. */
  get timeoutError(): HeadgateError {
    return unanswered('The store', this.#deadlines.timeout, 'See the option storeTimeout.')
  }
}

class PlainRequest<T> extends StoreRequest<T> {
  readonly #send: () => MaybePromise<T>

  constructor(send: () => MaybePromise<T>) {
    super()
    this.#send = send
  }

  send(): MaybePromise<T> {
    return this.#send()
  }

  answered(answer: T): T {
    return answer
  }

  failed(error: unknown): MaybePromise<T> {
    return Promise.reject(error)
  }

  late(): void {}
}

class Probe extends PlainRequest<unknown> {
  readonly #breaker: Breaker

  constructor(send: () => MaybePromise<unknown>, breaker: Breaker) {
    super(send)
    this.#breaker = breaker
  }

  override answered(): void {
    this.#breaker.endProbe(true)
  }

  override failed(error: unknown): void {
    this.#breaker.endProbe(isMisuse(error), error)
  }
}

/** True for a mistake of the caller that the store found. It is no failure of the store. */
export function isMisuse(error: unknown): boolean {
  return error instanceof HeadgateError && !error.code.startsWith('HEADGATE_STORE')
}
