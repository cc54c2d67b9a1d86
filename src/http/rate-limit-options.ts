import type { MaybePromise } from '../common/index.ts'
import type { PlanLike, PlanLimiter, PolicyLikes, RateLimiter, RateLimiterOptions } from '../limiter/index.ts'
import type { PolicyOptions } from '../policy/index.ts'
import type { GuardOptions } from './guard-options.ts'
import type { FindKey } from './keys/index.ts'

/** The options of a middleware that configure its limiter, besides the policies. */
export type LimiterParts = Omit<RateLimiterOptions, 'policies' | 'onStoreError'>

/**
 * Returns the policies for a request, such as the plan of a tenant. May return a promise. Policies of two plans share their states if they
 * have the same name, even with different limits. To set a penalty (automatic bans) for a plan, return `{ policies, penalty }`. The last
 * argument is a function that finds the key of the request. Example: `(request) => plans[request.tenant.plan]`, or `async (request,
 * response, key) => planOf(await key())`.
 */
export type PoliciesOf<Request, Response = unknown> = (
  request: Request,
  response: Response,
  key: FindKey,
) => MaybePromise<PlanLike>

/** The option `policies` of a middleware: policies for every request, or a function that returns the policies for a request. */
export type Policies<Request, Response> = PolicyLikes | PoliciesOf<Request, Response>

/** The type of a middleware's limiter: a `PlanLimiter` if `policies` is a function, or else a `RateLimiter`. */
export type LimiterOf<Given> = undefined extends Given
  ? RateLimiter
  : Given extends (...request: never[]) => unknown
    ? PlanLimiter
    : RateLimiter

/** The options of a middleware with policies, or with a function that returns policies. */
type PoliciesOptions<Request, Response, Given = Policies<Request, Response>> = GuardOptions<Request, Response> &
  LimiterParts & { policies: NonNullable<Given>; limit?: undefined; limiter?: undefined }

/** The options of a middleware whose policy is a sliding window with this limit and this window. */
type WindowOptions<Request, Response> = GuardOptions<Request, Response> &
  LimiterParts &
  Omit<PolicyOptions, 'shadow'> & { policies?: undefined; limiter?: undefined }

/** The options of a middleware with a limiter that the application has made. */
type LimiterOptions<Request, Response> = GuardOptions<Request, Response> & {
  limiter: RateLimiter
  limit?: undefined
  policies?: undefined
}

/** The options of a middleware as one object, with a limiter, or policies, or the limit and the window of a sliding window. */
export type RateLimitOptions<Request, Response, Given = Policies<Request, Response>> =
  | PoliciesOptions<Request, Response, Given>
  | WindowOptions<Request, Response>
  | LimiterOptions<Request, Response>

/**
 * The first argument of `rateLimit`: `'100/15m'`, `{ limit, window }`, `{ name, policies, keys, store }`, or a `RateLimiter`.
 * @template Given the type of `policies`, which determines the type of the middleware's limiter
 * @template Own the options that only one framework's adapter has
 */
export type RateLimitArgument<Request, Response, Given = Policies<Request, Response>, Own = unknown> =
  | string
  | RateLimiter
  | (RateLimitOptions<Request, Response, Given> & Own)
