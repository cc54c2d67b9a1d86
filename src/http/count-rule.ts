import { invalidOption, type MaybePromise } from '../common/index.ts'

/**
 * Which requests use up units. `'all'`: every request. `'failures'`: requests whose response has a status of at least 400. `'successes'`:
 * requests with a status below 400. A function: requests for which the function returns true.
 */
export type Count<Request, Response> =
  | 'all'
  | 'failures'
  | 'successes'
  | ((request: Request, response: Response) => MaybePromise<boolean>)

/** Called after a response has ended. Returns true if the request uses up units. */
export type CountRule<Request, Response> = (
  status: number,
  request: Request,
  response: Response,
) => MaybePromise<boolean>

/** The rule for the option `count`. Undefined if every request counts. @throws HeadgateError `HEADGATE_OPTION` for an unknown word */
export function countRule<Request, Response>(
  count: Count<Request, Response> | undefined,
): CountRule<Request, Response> | undefined {
  if (count === undefined || count === 'all') return undefined
  if (count === 'failures') return (status) => status >= 400
  if (count === 'successes') return (status) => status < 400
  if (typeof count === 'function') return (_status, request, response) => count(request, response)
  const fix = "Write count: 'failures'."
  throw invalidOption('count', "'all', 'failures', 'successes' or a function", count, fix)
}
