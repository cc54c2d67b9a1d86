import type { Clock } from '../clock.ts'
import { HeadgateError } from '../errors.ts'
import type { Store } from '../stores/store.ts'
import { type Breaker, breakerOf } from './breaker.ts'
import { Deadlines, type Outcome, type Sleeper } from './deadlines.ts'

const defaultTimeout = 100
/** A store that keeps a timeout of its own is left to: it may be able to take its call back. */
const grace = 10

/** The line to a store: what is asked over it is answered or fails within the deadline, and the breaker is told. */
export class Line {
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

  ask<T>(question: () => T | Promise<T>): Promise<T> {
    return new Promise((answered, failed) => this.put(question, { answered, failed, late: () => undefined }))
  }

  /**
   * `ask` without a promise of its own: most calls go this way.
   * @param before what has to be done first, within the same deadline; if it fails, that has been counted where it was asked
   */
  put<T>(question: () => T | Promise<T>, { answered, failed, late }: Outcome<T>, before?: Promise<unknown>): void {
    let asked = before === undefined
    let over = false
    const answer = before?.then(() => {
      if (over) throw new Error('answered already')
      asked = true
      return question()
    })
    this.#deadlines.watch(answer ?? attempt(question), {
      answered: (answer) => {
        this.breaker.succeeded()
        answered(answer)
      },
      failed: (error) => {
        over = true
        if (asked && !isMisuse(error)) this.#failed(error)
        failed(error)
      },
      late,
    })
  }

  #failed(error: unknown): void {
    this.errors++
    this.breaker.failed(error)
  }

  /** Asks for the sake of the answer alone, if it is time to: nobody waits for it. */
  probe(question: () => unknown): void {
    if (!this.breaker.probes()) return
    this.#deadlines.watch(attempt(question), {
      answered: () => this.breaker.probed(true),
      failed: (error) => {
        if (!isMisuse(error)) this.errors++
        this.breaker.probed(isMisuse(error), error)
      },
      late: () => undefined,
    })
  }
}

function attempt<T>(question: () => T | Promise<T>): Promise<T> {
  try {
    const answer = question()
    return answer instanceof Promise ? answer : Promise.resolve(answer)
  } catch (error) {
    return Promise.reject(error)
  }
}

/** Misuse that the store found is no failure of the store. */
export function isMisuse(error: unknown): boolean {
  return error instanceof HeadgateError && !error.code.startsWith('HEADGATE_STORE')
}
