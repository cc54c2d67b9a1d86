import { Entry } from './entries.ts'
import { timedOut } from './errors.ts'
import type { Waiter } from './waiter.ts'

/** What may end a wait before its turn: a deadline, a signal. On the agenda it is the deadline, after all turns of that time. */
export class Limit extends Entry {
  readonly #waiter: Waiter
  /** Milliseconds, or Infinity. */
  readonly timeout: number
  /** Microseconds. */
  readonly deadline: number
  readonly #signal: AbortSignal | undefined

  constructor(waiter: Waiter, timeout: number, signal: AbortSignal | undefined) {
    super()
    this.#waiter = waiter
    this.timeout = timeout
    this.deadline = waiter.since + timeout * 1000
    this.#signal = signal
    signal?.addEventListener('abort', this, { once: true })
  }

  override get rank(): number {
    return 1
  }

  due(): void {
    this.#waiter.lane.leave(this.#waiter, timedOut(this.timeout))
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.#waiter.lane.leave(this.#waiter, this.#signal?.reason)
  }

  /** Stops listening to the signal. */
  release(): void {
    this.#signal?.removeEventListener('abort', this)
  }
}
