import { callback } from '../common/index.ts'
import { RateLimiter } from '../limiter/index.ts'
import type { GuardOptions } from './guard-options.ts'
import type { RateLimitArgument } from './rate-limit-options.ts'
import { checkCalled } from './read-argument.ts'

/** The arguments of `rateLimit` in two parts: the options that only the adapter of one framework has, and all other arguments. */
export interface OwnOptions<Own, Request, Response, Given> {
  readonly own: Own
  readonly limit: RateLimitArgument<Request, Response, Given>
  readonly options: GuardOptions<Request, Response> | undefined
}

/** Checks an option that only the adapter of one framework has. Returns the value, or throws. */
export type OptionCheck = (value: never, option: string) => unknown

/** Makes a check for an option that is a function. @param example a valid function as text, for the error message */
export function functionOption(example: string): OptionCheck {
  return callback(example)
}

/**
 * Separates the options that only one framework's adapter has from the arguments of its `rateLimit`, because `createGuard` would refuse
 * them. If both arguments have an option, the first argument takes precedence, as for every option.
 *
 *     const checks = { address: functionOption('(request) => ...') }
 *     const { own, limit, options } = ownOptions(checks, first, second)
 *
 * @throws HeadgateError `HEADGATE_OPTION` if an option of the adapter is invalid
 */
export function ownOptions<Own extends object, Request, Response, Given>(
  checks: Readonly<Record<keyof Own & string, OptionCheck>>,
  limit: RateLimitArgument<Request, Response, Given, Own>,
  options: (GuardOptions<Request, Response> & Own) | undefined,
): OwnOptions<Own, Request, Response, Given> {
  checkCalled(limit)
  const own: Record<string, unknown> = {}
  const rest = (argument: unknown): unknown => {
    if (typeof argument !== 'object' || argument === null) return argument
    if (Array.isArray(argument) || argument instanceof RateLimiter) return argument
    const others: Record<string, unknown> = {}
    for (const [option, value] of Object.entries(argument)) {
      if (!Object.hasOwn(checks, option)) others[option] = value
      else if (value !== undefined) own[option] = checks[option as keyof Own & string](value as never, option)
    }
    return others
  }
  const others = rest(options) as GuardOptions<Request, Response> | undefined
  return { limit: rest(limit) as RateLimitArgument<Request, Response, Given>, options: others, own: own as Own }
}
