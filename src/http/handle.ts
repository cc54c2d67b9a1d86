import { HeadgateError } from '../errors.ts'
import type { MaybePromise } from '../maybe-promise.ts'

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
    next(error ?? undefinedThrown())
    return
  }
  if (admitted === true) next()
  else if (admitted !== false) handleLater(admitted, next)
}

function handleLater(admitted: Promise<boolean>, next: Next): void {
  admitted.then(
    (goesOn) => goesOn && next(),
    (error) => next(error ?? undefinedThrown()),
  )
}

/** A framework takes `next(undefined)` as permission to go on, so an undefined error needs a replacement. */
function undefinedThrown(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_KEY',
    'A key extractor threw undefined. Throw an Error, or return undefined for no key.',
  )
}
