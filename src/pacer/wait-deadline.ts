import { Entry } from './entries.ts'
import { timedOut } from './errors.ts'

/** What it may end. */
interface Wait {
  /** When it began, in microseconds. */
  readonly since: number
  leave(error: unknown): void
}

/** What may end a wait before its turn: a deadline, a signal. On the agenda it is the deadline, after all turns of that time. */
export class WaitDeadline extends Entry {
  readonly #wait: Wait
  /** Milliseconds, or Infinity. */
  readonly timeout: number
  /** Microseconds. */
  readonly deadline: number
  readonly #signal: AbortSignal | undefined

  constructor(wait: Wait, timeout: number, signal: AbortSignal | undefined) {
    super()
    this.#wait = wait
    this.timeout = timeout
    this.deadline = wait.since + timeout * 1000
    this.#signal = signal
    signal?.addEventListener('abort', this, { once: true })
  }

  override get rank(): number {
    return 1
  }

  due(): void {
    this.#wait.leave(timedOut(this.timeout))
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.#wait.leave(this.#signal?.reason)
  }

  /** Stops listening to the signal. */
  release(): void {
    this.#signal?.removeEventListener('abort', this)
  }
}
