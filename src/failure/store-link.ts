import type { Clock } from '../clock.ts'
import { HeadgateError } from '../errors.ts'
import { Deadlines, Due, type Sleeper } from '../stores/deadlines.ts'
import type { Store } from '../stores/store.ts'
import { unanswered } from '../stores/unanswered.ts'
import { type Breaker, breakerOf } from './breaker.ts'

const defaultTimeout = 100
/** A store that keeps a timeout of its own is left to: it may be able to take its call back. */
const grace = 10

/** Something to ask of a store, and who wants to know: one of the other three is called, once. */
export interface Question<T> {
  ask(): T | Promise<T>
  answered(answer: T): void
  failed(error: unknown): void
  /** Answered when it had failed already. */
  late(answer: T): void
}

/** The line to a store: what is asked over it is answered or fails within the deadline, and the breaker is told. */
export class StoreLink {
  readonly store: Store
  readonly breaker: Breaker
  readonly #deadlines: Deadlines
  /** Questions that failed or were not answered in time. */
  errors = 0

  /** @param timeout in milliseconds; undefined for the store's own, or 100 */
  constructor(store: Store, timeout: number | undefined, clock: Clock, sleeper: Sleeper) {
    const own = store.timeout === undefined ? defaultTimeout : store.timeout + grace
    this.store = store
    this.breaker = breakerOf(store, clock)
    this.#deadlines = new Deadlines(timeout ?? own, clock, sleeper)
  }

  ask<T>(ask: () => T | Promise<T>): Promise<T> {
    return new Promise((answered, failed) => this.put({ ask, answered, failed, late: () => undefined }))
  }

  /**
   * `ask` without a promise of its own: most calls go this way.
   * @param before what has to be done first, within the same deadline; if it fails, that has been counted where it was asked
   */
  put<T>(question: Question<T>, before?: Promise<unknown>): void {
    const call = new Asked(this, question, before === undefined)
    this.#watch(before === undefined ? attempt(question) : before.then(() => call.ask()), call)
  }

  #watch<T>(answer: Promise<T>, call: Pending<T>): void {
    const deadlines = this.#deadlines
    deadlines.add(call)
    answer.then(
      (value) => (deadlines.remove(call) ? call.answered(value) : call.late(value)),
      (error) => deadlines.remove(call) && call.failed(error),
    )
  }

  /** What a question is told that has had no answer in time. */
  get unanswered(): HeadgateError {
    return unanswered('The store', this.#deadlines.timeout, 'See the option storeTimeout.')
  }

  failed(error: unknown): void {
    this.errors++
    this.breaker.failed(error)
  }

  /** Asks for the sake of the answer alone, if it is time to: nobody waits for it. */
  probe(ask: () => unknown): void {
    if (this.breaker.probes()) this.#watch(attempt({ ask }), new Probe(this))
  }
}

/** What waits for an answer: one of the three is called, once. */
abstract class Pending<T> extends Due {
  protected readonly line: StoreLink

  constructor(line: StoreLink) {
    super()
    this.line = line
  }

  abstract answered(answer: T): void
  abstract failed(error: unknown): void
  /** The answer came when the time was up. */
  abstract late(answer: T): void

  expire(): void {
    this.failed(this.line.unanswered)
  }
}

/** A question on its way. */
class Asked<T> extends Pending<T> {
  readonly #question: Question<T>
  /** Whether the store has been asked, so that a failure is its own. */
  #asked: boolean

  constructor(line: StoreLink, question: Question<T>, asked: boolean) {
    super(line)
    this.#question = question
    this.#asked = asked
  }

  ask(): T | Promise<T> {
    if (!this.waits) throw new Error('answered already')
    this.#asked = true
    return this.#question.ask()
  }

  answered(answer: T): void {
    this.line.breaker.succeeded()
    this.#question.answered(answer)
  }

  failed(error: unknown): void {
    if (this.#asked && !isMisuse(error)) this.line.failed(error)
    this.#question.failed(error)
  }

  late(answer: T): void {
    this.#question.late(answer)
  }
}

class Probe extends Pending<unknown> {
  answered(): void {
    this.line.breaker.probed(true)
  }

  failed(error: unknown): void {
    if (!isMisuse(error)) this.line.errors++
    this.line.breaker.probed(isMisuse(error), error)
  }

  late(): void {}
}

function attempt<T>(question: Pick<Question<T>, 'ask'>): Promise<T> {
  try {
    const answer = question.ask()
    return answer instanceof Promise ? answer : Promise.resolve(answer)
  } catch (error) {
    return Promise.reject(error)
  }
}

/** Misuse that the store found is no failure of the store. */
export function isMisuse(error: unknown): boolean {
  return error instanceof HeadgateError && !error.code.startsWith('HEADGATE_STORE')
}
