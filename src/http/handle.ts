import type { MaybePromise } from '../maybe-promise.ts'
import { asError } from './as-error.ts'

interface Checking<Request, Response> {
  check(request: Request, response: Response): MaybePromise<boolean>
}

type Next = (error?: unknown) => void

/**
 * Checks a request, then calls `next` if it may go on, or with the error. The response of a refused request is already
 * sent.
 */
export function handle<Request, Response>(
  guard: Checking<Request, Response>,
  request: Request,
  response: Response,
  next: Next,
): void {
  let admitted: MaybePromise<boolean>
  try {
    admitted = guard.check(request, response)
  } catch (error) {
    next(asError(error))
    return
  }
  if (admitted === true) next()
  else if (admitted !== false) handleLater(admitted, next)
}

function handleLater(admitted: Promise<boolean>, next: Next): void {
  admitted.then(
    (goesOn) => goesOn && next(),
    (error) => next(asError(error)),
  )
}
