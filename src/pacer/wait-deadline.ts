import { timedOut } from './errors.ts'
import { Task } from './task-queue.ts'

/** The wait that a deadline ends. */
interface Wait {
  /** When it began, in microseconds. */
  readonly since: number
  leave(error: unknown): void
}

/** Ends a wait at its timeout, or when its signal is aborted. A slot at the time of the timeout still counts. */
export class WaitDeadline extends Task {
  readonly #wait: Wait
  /** Milliseconds, or Infinity. */
  readonly timeout: number
  readonly #signal: AbortSignal | undefined

  constructor(wait: Wait, timeout: number, signal: AbortSignal | undefined) {
    super()
    this.#wait = wait
    this.timeout = timeout
    this.at = wait.since + timeout * 1000
    this.#signal = signal
    signal?.addEventListener('abort', this, { once: true })
  }

  /** Runs after all slots of the same time. */
  override get rank(): number {
    return 1
  }

  /** The time is up. */
  run(): void {
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
