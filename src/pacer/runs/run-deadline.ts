import type { PacerContext } from '../context.ts'
import { ranTooLong } from '../pacer-errors.ts'

/**
 * Returns a function that calls `run`, and rejects if `run` takes longer than `runTimeout` milliseconds. Then the
 * signal that `run` got is aborted. Late results and errors of `run` are dropped.
 * @param given a signal of the caller; if it is aborted, the signal that `run` got is aborted too
 */
export function withRunTimeout(
  run: (signal: AbortSignal) => unknown,
  runTimeout: number,
  given: AbortSignal | undefined,
  { scheduler, clock }: PacerContext,
): () => Promise<unknown> {
  return () => {
    const controller = new AbortController()
    const { signal } = controller
    return new Promise((resolve, reject) => {
      const deadline = scheduler.at(clock() + runTimeout * 1000, () => {
        const error = ranTooLong(runTimeout)
        // Reject first, so that the function cannot settle the promise of the call when its signal is aborted.
        reject(error)
        controller.abort(error)
      })
      const running = async () => run(given === undefined ? signal : AbortSignal.any([signal, given]))
      running()
        .finally(() => scheduler.remove(deadline))
        .then(resolve, reject)
    })
  }
}
