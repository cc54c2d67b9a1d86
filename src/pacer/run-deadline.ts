import type { Clock } from '../clock.ts'
import { ranTooLong } from './errors.ts'
import type { Scheduler } from './scheduler.ts'
import { Task } from './task-queue.ts'

/** Where the end of a run is scheduled. */
interface Timing {
  readonly scheduler: Scheduler
  readonly clock: Clock
}

/** Ends a function that runs for too long: its signal is aborted and `onEnd` is called. */
class RunDeadline extends Task {
  readonly #controller = new AbortController()
  readonly #runTimeout: number
  readonly #onEnd: (error: unknown) => void

  constructor(runTimeout: number, onEnd: (error: unknown) => void) {
    super()
    this.#runTimeout = runTimeout
    this.#onEnd = onEnd
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  run(): void {
    const error = ranTooLong(this.#runTimeout)
    // First the promise of the call: what the function does about its signal must not settle it.
    this.#onEnd(error)
    this.#controller.abort(error)
  }
}

/**
 * A function that runs `run` and rejects if that takes longer than `runTimeout` milliseconds. Late results and errors of
 * `run` are dropped.
 * @param given aborts the signal of the function, too
 */
export function withRunTimeout(
  run: (signal: AbortSignal) => unknown,
  runTimeout: number,
  given: AbortSignal | undefined,
  { scheduler, clock }: Timing,
): () => Promise<unknown> {
  return async () => {
    let deadline: RunDeadline | undefined
    try {
      return await new Promise((resolve, reject) => {
        deadline = new RunDeadline(runTimeout, reject)
        scheduler.add(deadline, clock() + runTimeout * 1000)
        const { signal } = deadline
        Promise.resolve(run(given === undefined ? signal : AbortSignal.any([signal, given]))).then(resolve, reject)
      })
    } finally {
      if (deadline !== undefined) scheduler.remove(deadline)
    }
  }
}
