import type { MaybePromise } from '../common/index.ts'
import type { PlanLike, PlanLimiter, PolicyLikes, RateLimiter, RateLimiterOptions } from '../limiter/index.ts'
import type { PolicyOptions } from '../policy/index.ts'
import type { GuardOptions } from './guard-options.ts'
import type { FindKey } from './keys/index.ts'

/** The options of a middleware that belong to its limiter, beside the policies. */
export type LimiterParts = Omit<RateLimiterOptions, 'policies' | 'onStoreError'>

/**
 * Policies as a function of the request, such as the plan of a tenant. May return a promise. Policies of the same name
 * share their states, whatever their numbers. A plan `{ policies, penalty }` has a penalty of its own. `key()` runs the
 * key extractors. Example: `(request) => plans[request.tenant.plan]`, or `async (request, response, key) =>
 * planOf(await key())`.
 */
export type PoliciesOf<Request, Response = unknown> = (
  request: Request,
  response: Response,
  key: FindKey,
) => MaybePromise<PlanLike>

/** What `policies` of a middleware may be: the same for every request, or a function of the request. */
export type Policies<Request, Response> = PolicyLikes | PoliciesOf<Request, Response>

/** The type of a middleware's limiter: a `PlanLimiter` if `policies` is a function, else a `RateLimiter`. */
export type LimiterOf<Given> = undefined extends Given
  ? RateLimiter
  : Given extends (...request: never[]) => unknown
    ? PlanLimiter
    : RateLimiter

/** All options in one object, with policies or a function that returns policies. */
type PoliciesOptions<Request, Response, Given = Policies<Request, Response>> = GuardOptions<Request, Response> &
  LimiterParts & { policies: NonNullable<Given>; limit?: undefined; limiter?: undefined }

/** All options in one object, with the limit and window of a sliding window. */
type WindowOptions<Request, Response> = GuardOptions<Request, Response> &
  LimiterParts &
  Omit<PolicyOptions, 'shadow'> & { policies?: undefined; limiter?: undefined }

/** All options in one object, with a limiter. */
type LimiterOptions<Request, Response> = GuardOptions<Request, Response> & {
  limiter: RateLimiter
  limit?: undefined
  policies?: undefined
}

/** All options in one object: a limiter, or policies, or the limit and window of a sliding window. */
export type RateLimitOptions<Request, Response, Given = Policies<Request, Response>> =
  | PoliciesOptions<Request, Response, Given>
  | WindowOptions<Request, Response>
  | LimiterOptions<Request, Response>

/**
 * The first argument of `rateLimit`: `'100/15m'`, `{ limit, window }`, `{ policies, keys, store }`, or a `RateLimiter`.
 * @template Given the type of its `policies`, which tells the middleware's limiter
 * @template Own options that only one adapter has
 */
export type RateLimitArgument<Request, Response, Given = Policies<Request, Response>, Own = unknown> =
  | string
  | RateLimiter
  | (RateLimitOptions<Request, Response, Given> & Own)
