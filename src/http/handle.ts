import type { MaybePromise } from '../maybe-promise.ts'
import { asError } from './as-error.ts'

interface Checking<Request, Response> {
  check(request: Request, response: Response): MaybePromise<boolean>
}

/** Whatever it returns is ignored. */
type Next = (error?: unknown) => void

/**
 * Checks a request, then calls `next` if it may go on, or with the error. The response of a refused request is already
 * sent. Returns a promise if the check does.
 */
export function handle<Request, Response>(
  guard: Checking<Request, Response>,
  request: Request,
  response: Response,
  next: Next,
): MaybePromise<void> {
  let admitted: MaybePromise<boolean>
  try {
    admitted = guard.check(request, response)
  } catch (error) {
    return next(asError(error))
  }
  if (admitted === true) return next()
  return admitted === false ? undefined : handleLater(admitted, next)
}

function handleLater(admitted: Promise<boolean>, next: Next): Promise<void> {
  return admitted.then(
    (goesOn) => (goesOn ? next() : undefined),
    (error) => next(asError(error)),
  )
}
