import { HeadgateError, shown } from '../errors.ts'
import type { MaybePromise } from '../maybe-promise.ts'

/**
 * Which requests count once they are answered: all, those with a status of at least 400, those below, or what a function
 * of the framework's request and response says.
 */
export type Count<Request, Response> =
  | 'all'
  | 'failures'
  | 'successes'
  | ((request: Request, response: Response) => MaybePromise<boolean>)

export type Counts<Request, Response> = (status: number, request: Request, response: Response) => MaybePromise<boolean>

/** @throws HeadgateError `HEADGATE_OPTION` for another word */
export function countsOf<Request, Response>(
  count: Count<Request, Response> | undefined,
): Counts<Request, Response> | undefined {
  if (count === undefined || count === 'all') return undefined
  if (count === 'failures') return (status) => status >= 400
  if (count === 'successes') return (status) => status < 400
  if (typeof count === 'function') return (_status, request, response) => count(request, response)
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `count must be 'all', 'failures', 'successes' or a function, got ${shown(count)}. ` +
      `Write count: (request, response) => response.statusCode === 401.`,
  )
}
