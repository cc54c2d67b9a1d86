import type { PacerContext } from '../context.ts'
import { ranTooLong } from '../pacer-errors.ts'

/**
 * A function that runs `run` and rejects if that takes longer than `runTimeout` milliseconds; then its signal is aborted.
 * Late results and errors of `run` are dropped.
 * @param given aborts the signal of the function, too
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
        // First the promise of the call: what the function does about its signal must not settle it.
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
