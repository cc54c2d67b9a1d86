import type { Clock } from '../clock.ts'
import { HeadgateError } from '../errors.ts'

/** Wakes once after so many milliseconds; returns what calls it off. */
export type Sleeper = (milliseconds: number, wake: () => void) => () => void

export const timer: Sleeper = (milliseconds, wake) => {
  const timeout = setTimeout(wake, milliseconds)
  return () => clearTimeout(timeout)
}

/** What becomes of a question: one of these is called, once. */
export interface Outcome<T> {
  readonly answered: (answer: T) => void
  readonly failed: (error: unknown) => void
  /** The answer came when the time was up. */
  readonly late: (answer: T) => void
}

interface Pending {
  readonly due: number
  readonly failed: (error: unknown) => void
}

/**
 * Bounds how long answers may take, all by one timer: every call has as long, so they are due in the order they came.
 * No timer is left where nothing is pending.
 */
export class Deadlines {
  /** In milliseconds. */
  readonly timeout: number
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  readonly #pending = new Set<Pending>()
  #callOff: (() => void) | undefined

  constructor(timeout: number, clock: Clock, sleeper: Sleeper) {
    this.timeout = timeout
    this.#clock = clock
    this.#sleeper = sleeper
  }

  /** Fails with `HEADGATE_STORE_TIMEOUT` when the time is up. */
  watch<T>(answer: PromiseLike<T>, { answered, failed, late }: Outcome<T>): void {
    const call = { due: this.#clock() + this.timeout * 1000, failed }
    this.#add(call)
    answer.then(
      (value) => (this.#remove(call) ? answered(value) : late(value)),
      (error) => this.#remove(call) && failed(error),
    )
  }

  #add(call: Pending): void {
    this.#pending.add(call)
    if (this.#callOff === undefined) this.#arm(this.timeout)
  }

  #remove(call: Pending): boolean {
    const pending = this.#pending.delete(call)
    if (this.#pending.size === 0) this.#disarm()
    return pending
  }

  #arm(milliseconds: number): void {
    // An answer that has come while this process was busy still counts: it is read before the next turn.
    this.#callOff = this.#sleeper(milliseconds, () => void setImmediate(() => this.#expire()))
  }

  #disarm(): void {
    this.#callOff?.()
    this.#callOff = undefined
  }

  #expire(): void {
    const now = this.#clock()
    for (const call of this.#pending) {
      if (call.due > now) {
        this.#disarm()
        this.#arm(Math.ceil((call.due - now) / 1000))
        return
      }
      this.#pending.delete(call)
      call.failed(unanswered(this.timeout))
    }
    this.#disarm()
  }
}

function unanswered(timeout: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_TIMEOUT',
    `The store did not answer within ${timeout} ms; whether the call counted is not known. See the option storeTimeout.`,
  )
}
