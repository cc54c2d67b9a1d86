import type { CarryRule } from '../algorithms/carry.ts'
import type { PenaltyOptions } from '../algorithms/penalty.ts'
import type { Duration } from '../duration.ts'
import type { RateLimiter } from '../limiter.ts'
import type { PolicyLikes } from '../limiter-options.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { PolicyOptions } from '../policy.ts'
import type { Store } from '../stores/store.ts'
import type { GuardOptions } from './guard-options.ts'

/** The options of a middleware that belong to its limiter, beside the policies. */
export interface LimiterParts {
  /** Where states are kept. Default: a memory store of its own. Example: `redisStore({ client })`. */
  store?: Store
  /** The limiter's name, its namespace in the store. Default `'default'`. Example: `'login'`. */
  name?: string
  /** How many processes share the limits: the divisor of local decisions while the store fails. Default 1. */
  instances?: number
  /**
   * Blocks a key that is refused again and again, each time for longer. Default: no penalty.
   * Example: `{ after: 5, within: '1h', block: ['1h', '1d'] }`.
   */
  penalty?: PenaltyOptions
  /**
   * What happens to used units when the numbers of a policy change: `'keep'` (default) keeps the units, `'scale'` keeps
   * the used share, `'reset'` forgets them.
   */
  onChange?: CarryRule
  /** How long a request may wait for the store. Default: the store's own limit, or 100 ms; Infinity for no other limit. Example: `'50ms'`. */
  storeTimeout?: Duration
}

/**
 * Policies as a function of the request, such as the plan of a tenant. May return a promise. Policies of the same name
 * share their states, whatever the numbers. Example: `(request) => plans[request.tenant.plan]`.
 */
export type PoliciesOf<Request> = (request: Request) => MaybePromise<PolicyLikes>

/** All in one object, with a function that chooses the policies of each request. */
export type PlanOptions<Request, Response> = GuardOptions<Request, Response> & {
  policies: PoliciesOf<Request>
} & LimiterParts

/** All in one object: a limiter, or policies, or the limit and window of a sliding window. */
export type RateLimitOptions<Request, Response> = GuardOptions<Request, Response> &
  ((PolicyOptions & LimiterParts) | ({ policies: PolicyLikes } & LimiterParts) | { limiter: RateLimiter })

/** An argument of `rateLimit` whose policies are the same for every request. */
export type PolicyArgument<Request, Response> = string | RateLimiter | RateLimitOptions<Request, Response>

/** What `rateLimit` takes first: `'100/15m'`, `{ limit, window }`, `{ policies, keys, store }`, or a `RateLimiter`. */
export type RateLimitArgument<Request, Response> = PolicyArgument<Request, Response> | PlanOptions<Request, Response>
