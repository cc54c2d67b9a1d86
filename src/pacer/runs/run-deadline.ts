import type { PacerContext } from '../pacer-context.ts'
import { ranTooLong } from '../pacer-errors.ts'

/**
 * Returns a function that calls `run` with a signal. If `run` takes longer than `runTimeout` milliseconds, the promise
 * rejects and the signal is aborted. A result or an error of `run` that comes later is ignored.
 * @param given the caller's signal; an abort of this signal also aborts the signal of `run`
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
        // Reject before the abort, because on an abort the function could settle the promise of the call.
        reject(error)
        given?.removeEventListener('abort', leave)
        controller.abort(error)
      })
      // Not `AbortSignal.any`: in Node 20, a signal that lives long keeps some memory for each signal that was made from it.
      const leave = () => controller.abort(given?.reason)
      if (given?.aborted) leave()
      else given?.addEventListener('abort', leave, { once: true })
      const running = async () => run(signal)
      const ended = () => {
        scheduler.remove(deadline)
        given?.removeEventListener('abort', leave)
      }
      running().finally(ended).then(resolve, reject)
    })
  }
}
