import type { Duration, MaybePromise } from '../common/index.ts'
import type { Decision } from '../policy/index.ts'
import type { CalendarOf, Cost } from './call-arguments.ts'
import type { Count } from './count-rule.ts'
import type { RequestDecision } from './framework.ts'
import type { HeadersOption } from './headers/index.ts'
import type { FindKey, KeyExtractor } from './keys/index.ts'
import type { Hooks } from './request-events.ts'

/** The options of `delay`. */
export interface DelayOptions {
  /**
   * How long a request may wait: milliseconds or a text, at most 1 hour. Required. A request that would wait longer is refused. Example:
   * `'2s'`.
   */
  max: Duration
  /**
   * How many requests may wait at the same time, in total for all keys. The requests of one key can fill at most a quarter (rounded
   * up) of the places that the requests of other keys leave free. Default 100. Example: `50`.
   */
  queue?: number | undefined
}

/**
 * The options of a middleware, besides its policies. The options that most applications need come first. With Koa, the context is both
 * the request and the response.
 */
export interface GuardOptions<Request, Response> extends Hooks<Request, Response> {
  /**
   * Who is limited: a key extractor, or a record with a key extractor for each scope. If an extractor returns false, the request
   * is not limited. Default `byIp()`. Example: `byHeader('x-api-key')`, or `{ default: byIp(), user: byHeader('x-user') }`.
   */
  keys?: KeyExtractor<Request, Response> | Readonly<Record<string, KeyExtractor<Request, Response>>> | undefined
  /**
   * The cost of a request in units: a number for every policy, a record with a number for each policy, or a list of records. A list takes
   * the first record that is admitted. A function may return such a cost, or a promise of such a cost. A record must name every enforced
   * policy. A policy whose number is 0 takes no units. Default 1. Example: `({ query }) => Number(query.pages ?? 1)`, or `{ requests: 1,
   * tokens: 2000 }`.
   */
  cost?: Cost<Request, Response> | undefined
  /**
   * Returns true for a request that is not limited. May return a promise. The third argument is a function that finds the key of
   * the request. Default: every request is limited. Example: `(request) => request.url === '/health'`, or `async (request,
   * response, key) => staff.has(await key())`.
   */
  skip?: ((request: Request, response: Response, key: FindKey) => MaybePromise<boolean>) | undefined

  // The options below are needed rarely.

  /**
   * Returns the calendar of the request's customer: one value, or a record with a value for each scope, or a promise of one. Required
   * if a policy has `anchor: 'caller'` or `timeZone: 'caller'`. Not called for a plan without such a policy. Default: none. Example:
   * `(request) => ({ anchor: request.customer.since, timeZone: request.customer.timeZone })`.
   */
  calendar?: CalendarOf<Request, Response> | undefined
  /**
   * How long a request waits for a promise from `skip`, `deny`, a key extractor, `policies`, `cost` or `calendar`: milliseconds or a
   * text, for each promise. After this time, the framework's error handler gets `HEADGATE_FUNCTION_TIMEOUT`. Infinity for no
   * deadline. Default `'5s'`. Example: `'500ms'`.
   */
  functionTimeout?: Duration | undefined
  /** IP addresses and CIDR ranges that are not limited. Default: none. Example: `['10.0.0.0/8', '2001:db8::/32']`. */
  allow?: readonly string[] | undefined
  /**
   * IP addresses and CIDR ranges that are refused with status 403, even if they are also in `allow`. `deny` may also be a function that
   * returns true, or a promise of true, for a request to refuse. Default: none. Example: `['192.0.2.1']`, or `(request) =>
   * banned.has(request.get('x-api-key'))`.
   */
  deny?: readonly string[] | ((request: Request, response: Response, key: FindKey) => MaybePromise<boolean>) | undefined
  /**
   * The share of the keys for which refusals are enforced, from 0 to 1. The share always has the same keys. With 0, every request
   * is decided and reported, and none is refused. Default 1. Example: `0.1` for a tenth of the keys.
   */
  enforce?: number | undefined
  /**
   * Which rate limit fields a response gets: one dialect (set of field names) or several, an object `{ dialects, near, legacy, pk }`, or a
   * function that sets your own fields. `'near'` sets the legacy fields only on a refusal, or when 80 % of a burst are used. False sets no
   * fields. Default `'legacy'`, or false if `enforce` is 0. Example: `['legacy', 'draft-11']`, or
   * `(decision, set) => set('X-Quota-Left', String(decision.remaining))`.
   */
  headers?: HeadersOption | undefined
  /**
   * Stores the decision where your application reads it. Default: the framework's adapter stores the decision, for example as
   * `request.rateLimit`. Must not be async. Example: `(decision, request) => { request.quota = decision }`.
   */
  attach?: ((decision: RequestDecision, request: Request, response: Response) => void) | undefined
  /** True to send refusals as `application/problem+json`, with the problem type and the members of draft-11. Default false. */
  problem?: boolean | undefined
  /**
   * True to add a function `settle(actual)` to the decision, with which the application corrects the cost later. Default false.
   * Example: `await request.rateLimit.settle({ tokens: 742 })`.
   */
  settle?: boolean | undefined
  /**
   * Which requests use up units. The middleware decides this after the response has ended: until then, every request counts. Default
   * `'all'`. Example: `'failures'`, to count only failed logins.
   */
  count?: Count<Request, Response> | undefined
  /** Lets a request wait until it is admitted, instead of refusing it. Default: no request is delayed. Example: `{ max: '2s' }`. */
  delay?: DelayOptions | undefined
  /**
   * Sends the response to a refused request. The status (429, or 403 for a ban with `status: 403`) and the rate limit fields are already
   * set, and the function may change them. If the function returns true, the request is admitted after all, without this status and without
   * `Retry-After`. If the function returns false, or with Fastify also undefined, the built-in response is sent. May return a promise.
   * Default: the built-in response. Example: `(decision, request, response) => response.send('Slow.')`.
   */
  refuse?: ((decision: Decision, request: Request, response: Response) => MaybePromise<unknown>) | undefined
}
