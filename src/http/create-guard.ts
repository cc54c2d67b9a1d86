import { RateLimiter } from '../limiter.ts'
import type { Framework } from './framework.ts'
import { type DefaultsOrigin, Guard } from './guard.ts'
import type { GuardOptions } from './guard-options.ts'
import { checkAddressNeeds } from './keys/needs-address.ts'
import { PlanGuard } from './plan-guard.ts'
import type { PlanOptions, PolicyArgument, RateLimitArgument } from './rate-limit-options.ts'
import { isPlanOptions } from './read-options.ts'

/** The guard of a middleware, for policies of either form. */
export type AnyGuard<Request, Response> = Guard<Request, Response> | PlanGuard<Request, Response>

/**
 * Makes the guard of a middleware from the arguments of `rateLimit`. An adapter calls its `check` or `handle` for every
 * request.
 *
 *     const guard = createGuard(myFramework, '100/15m')
 *     server.on('request', (request, response) => guard.handle(request, response, (error) => ...))
 *
 * @param defaults options that the argument may override
 * @param origin `'inherited'` if the defaults are `inherited` of another guard. Default `'own'`: all of them must fit here.
 * @throws HeadgateError if a policy or an option is invalid
 */
export function createGuard<Request, Response>(
  framework: Framework<Request, Response>,
  argument: PolicyArgument<Request, Response>,
  defaults?: GuardOptions<Request, Response>,
  origin?: DefaultsOrigin,
): Guard<Request, Response>
/** The policies are a function of the request. */
export function createGuard<Request, Response>(
  framework: Framework<Request, Response>,
  argument: PlanOptions<Request, Response>,
  defaults?: GuardOptions<Request, Response>,
  origin?: DefaultsOrigin,
): PlanGuard<Request, Response>
export function createGuard<Request, Response>(
  framework: Framework<Request, Response>,
  argument: RateLimitArgument<Request, Response>,
  defaults?: GuardOptions<Request, Response>,
  origin?: DefaultsOrigin,
): AnyGuard<Request, Response>
export function createGuard<Request, Response>(
  framework: Framework<Request, Response>,
  argument: RateLimitArgument<Request, Response>,
  defaults?: GuardOptions<Request, Response>,
  origin?: DefaultsOrigin,
): AnyGuard<Request, Response> {
  if (isPlanOptions(argument)) {
    const guard = new PlanGuard(framework, argument, defaults)
    checkAddressNeeds(framework, { ...defaults, ...argument }, [])
    return guard
  }
  const guard = new Guard(framework, argument, defaults, origin)
  const options =
    typeof argument === 'string' || argument instanceof RateLimiter ? defaults : { ...defaults, ...argument }
  checkAddressNeeds(framework, options ?? {}, guard.limiter.scopes)
  return guard
}
