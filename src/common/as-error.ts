import { HeadgateError, shown } from './errors.ts'

/**
 * Converts a value that a request threw into an Error for the framework's error handler. Frameworks do not treat other values as errors.
 * Express calls the next handler after `next(false)`, and leaves the route after `next('route')`. Koa never sends a response if a
 * middleware rejects with undefined.
 */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]') return thrown as Error
  return new HeadgateError(
    'HEADGATE_THROWN',
    `A function in the options of a rate limiter threw ${shown(thrown)}. Throw an Error: only that stops a request.`,
    { cause: thrown },
  )
}
