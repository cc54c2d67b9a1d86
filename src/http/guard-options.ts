import type { Duration, MaybePromise } from '../common/index.ts'
import type { Decision } from '../policy/index.ts'
import type { Count } from './count-rule.ts'
import type { DelayOptions } from './delay.ts'
import type { RequestDecision } from './framework.ts'
import type { HeadersOption } from './headers/index.ts'
import type { FindKey, KeyExtractor } from './keys/index.ts'
import type { Cost } from './request-cost.ts'
import type { Hooks } from './request-events.ts'

/** The options of a middleware beside its policies. With Koa, request and response are both the context. */
export interface GuardOptions<Request, Response> extends Hooks<Request, Response> {
  /**
   * Who is limited: a key extractor, or one for each scope. An extractor that returns false exempts the request.
   * Default `byIp()`. Example: `byHeader('x-api-key')`, or `{ default: byIp(), user: byHeader('x-user') }`.
   */
  keys?: KeyExtractor<Request, Response> | Readonly<Record<string, KeyExtractor<Request, Response>>> | undefined
  /**
   * How long a request waits for each promise that `skip`, `deny`, a key extractor, `policies` or `cost` returns. After
   * that, the framework's error handler gets `HEADGATE_FUNCTION_TIMEOUT`. Default `'5s'`. Example: `'500ms'`, or
   * `Infinity`.
   */
  functionTimeout?: Duration | undefined
  /**
   * True for a request that is not limited. May return a promise. `key()` runs the key extractors. Default: every request is
   * limited. Example: `(request) => request.url === '/health'`, or `async (request, response, key) => staff.has(await key())`.
   */
  skip?: ((request: Request, response: Response, key: FindKey) => MaybePromise<boolean>) | undefined
  /** Addresses and CIDR ranges that are not limited. Default: none. Example: `['10.0.0.0/8', '2001:db8::/32']`. */
  allow?: readonly string[] | undefined
  /**
   * Addresses and CIDR ranges that get 403, even if `allow` lists them; or a function that returns true for a request
   * to refuse, and may return a promise. Default: none. Example: `['192.0.2.1']`, or `(request) =>
   * banned.has(request.get('x-api-key'))`.
   */
  deny?: readonly string[] | ((request: Request, response: Response, key: FindKey) => MaybePromise<boolean>) | undefined
  /**
   * The share of keys that refusals are enforced for, always the same keys. Default 1. Example: `0.1` for a tenth; `0` to
   * decide and report, and to refuse no request.
   */
  enforce?: number | undefined
  /**
   * The fields of a response: dialects, `'near'`, `{ dialects, near, legacy, pk }`, a function that sets your own, or false for
   * none. Default `'legacy'`; with `enforce: 0`, none. Example: `['legacy', 'draft-11']`, or
   * `(decision, set) => set('X-Quota-Left', String(decision.remaining))`.
   */
  headers?: HeadersOption | undefined
  /**
   * Puts the decision where your application finds it, in place of the framework's usual place.
   * Example: `(decision, request) => { request.quota = decision }`.
   */
  attach?: ((decision: RequestDecision, request: Request, response: Response) => void) | undefined
  /** True to send refusals as `application/problem+json`, with the type and members of draft-11. Default false. */
  problem?: boolean | undefined
  /**
   * The cost of a request in units: a number for every policy, a record with a number for each, or a function of the
   * request that may return a promise. A record names every enforced policy; 0 leaves one alone. Default 1.
   * Example: `({ query }) => Number(query.pages ?? 1)`, or `{ requests: 1, tokens: 2000 }`.
   */
  cost?: Cost<Request, Response> | undefined
  /**
   * True to give the application `settle(actual)` on the decision, for a cost that is known later. Default false.
   * Example: `await request.rateLimit.settle({ tokens: 742 })`.
   */
  settle?: boolean | undefined
  /**
   * Which requests count. The guard decides this when the response has ended; until then every request counts. Default
   * `'all'`. Example: `'failures'`, to count failed logins only.
   */
  count?: Count<Request, Response> | undefined
  /** Makes a request wait until it is admitted, instead of refusing it. Default: none. Example: `{ max: '2s' }`. */
  delay?: DelayOptions | undefined
  /**
   * Sends the refusal instead of the built-in body. Status 429 and the fields are already set, and the function may
   * change them. The request ends here, unless the function returns true: then status and `Retry-After` are taken back,
   * and the request goes on. If it returns false, the built-in body is sent, with Fastify also after undefined. May return
   * a promise. Example: `(decision, request, response) => response.send('Slow.')`.
   */
  refuse?: ((decision: Decision, request: Request, response: Response) => MaybePromise<unknown>) | undefined
}
