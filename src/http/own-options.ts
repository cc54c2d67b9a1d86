import { RateLimiter } from '../limiter.ts'
import { callback } from '../options.ts'
import type { GuardOptions } from './guard-options.ts'
import type { RateLimitArgument } from './rate-limit-options.ts'

/** An argument of `rateLimit` that may also have options of the adapter, if it is an object. */
export type WithOwn<Argument, Own> = Argument extends string | RateLimiter ? Argument : Argument & Own

/** The arguments of `rateLimit`, and the options among them that only the adapter has. */
export interface OwnOptions<Own, Request, Response> {
  readonly own: Own
  readonly limit: RateLimitArgument<Request, Response>
  readonly options: GuardOptions<Request, Response> | undefined
}

/**
 * Takes the options that only one adapter has out of the arguments of its `rateLimit`, before `createGuard` reads the
 * rest. Such an option is a function. If both arguments have it, the first one's counts, as for every option.
 *
 *     const { own, limit, options } = ownOptions<{ address?: FindAddress }>(['address'], first, second)
 *
 * @param names each option, with an example of it for the error message
 * @throws HeadgateError `HEADGATE_OPTION` if one of them is not a function
 */
export function ownOptions<Own extends object, Request, Response>(
  names: Readonly<Record<keyof Own & string, string>>,
  limit: WithOwn<RateLimitArgument<Request, Response>, Own>,
  options: (GuardOptions<Request, Response> & Own) | undefined,
): OwnOptions<Own, Request, Response> {
  const own: Record<string, unknown> = {}
  const rest = (argument: unknown): unknown => {
    if (typeof argument !== 'object' || argument === null || argument instanceof RateLimiter) return argument
    const others: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(argument)) {
      if (!Object.hasOwn(names, name)) others[name] = value
      else if (value !== undefined) own[name] = callback(value as never, name, names[name as keyof Own & string])
    }
    return others
  }
  const others = rest(options) as GuardOptions<Request, Response> | undefined
  return { limit: rest(limit) as RateLimitArgument<Request, Response>, options: others, own: own as Own }
}
