import { HeadgateError, shown } from './errors.ts'

/**
 * What a request threw, as an Error for the framework's error handler. Frameworks do not treat any other value as
 * an error: Express goes on after `next(false)`, leaves the route after `next('route')`, and Koa never answers after a
 * rejection with undefined.
 */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]') return thrown as Error
  return new HeadgateError(
    'HEADGATE_THROWN',
    `A function in the options of a rate limiter threw ${shown(thrown)}. Throw an Error: only that stops a request.`,
    { cause: thrown },
  )
}
