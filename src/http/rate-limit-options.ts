import type { RateLimiter } from '../limiter.ts'
import type { PlanLike, PolicyLikes, RateLimiterOptions } from '../limiter-options.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { PolicyOptions } from '../policy.ts'
import type { GuardOptions } from './guard-options.ts'
import type { FindKey } from './keys/key-extractor.ts'

/** The options of a middleware that belong to its limiter, beside the policies. */
export type LimiterParts = Omit<RateLimiterOptions, 'policies' | 'onStoreError'>

/**
 * Policies as a function of the request, such as the plan of a tenant. May return a promise. Policies of the same name
 * share their states, whatever the numbers. `{ policies, penalty }` has a penalty of its own. `key()` runs the key extractors. Example:
 * `(request) => plans[request.tenant.plan]`, or `async (request, response, key) => planOf(await key())`.
 */
export type PoliciesOf<Request, Response = unknown> = (
  request: Request,
  response: Response,
  key: FindKey,
) => MaybePromise<PlanLike>

/** All in one object, with a function that chooses the policies of each request. */
export type PlanOptions<Request, Response> = GuardOptions<Request, Response> & {
  policies: PoliciesOf<Request, Response>
} & LimiterParts

/** All in one object: a limiter, or policies, or the limit and window of a sliding window. */
export type RateLimitOptions<Request, Response> = GuardOptions<Request, Response> &
  ((PolicyOptions & LimiterParts) | ({ policies: PolicyLikes } & LimiterParts) | { limiter: RateLimiter })

/** An argument of `rateLimit` whose policies are the same for every request. */
export type PolicyArgument<Request, Response> = string | RateLimiter | RateLimitOptions<Request, Response>

/**
 * The first argument of `rateLimit`: `'100/15m'`, `{ limit, window }`, `{ policies, keys, store }`, or a `RateLimiter`.
 */
export type RateLimitArgument<Request, Response> = PolicyArgument<Request, Response> | PlanOptions<Request, Response>
