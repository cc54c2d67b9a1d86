import { isConstructor } from '../algorithms/kinds.ts'
import { policy } from '../algorithms/shorthand.ts'
import { HeadgateError, shown } from '../errors.ts'
import { RateLimiter } from '../limiter.ts'
import type { PolicyLikes } from '../limiter-options.ts'
import { knownOptions } from '../options.ts'
import type { PolicyOptions } from '../policy.ts'
import type { GuardOptions } from './guard-options.ts'
import type {
  LimiterParts,
  PlanOptions,
  PolicyArgument,
  RateLimitArgument,
  RateLimitOptions,
} from './rate-limit-options.ts'

const exemptions = ['skip', 'allow', 'deny'] as const
const hooks = ['onDecision', 'onRefused', 'onDenied', 'onStoreError'] as const
/** The options that a nested limit inherits: the keys, and the form of responses. */
const inherited = [
  ...['keys', 'functionTimeout', 'headers', 'attach', 'problem', 'refuse', 'shadow', 'enforce'],
  ...exemptions,
  ...hooks,
] as const
const guardOptions: readonly string[] = [...inherited, 'cost', 'settle', 'count', 'delay']

const limiterParts = ['store', 'penalty', 'onChange', 'instances', 'storeTimeout', 'top']
/** Without `shadow`: beside these options, it is an option of the middleware. */
const policyOptions = ['limit', 'window', 'name', 'scope', 'countRefused', 'label']

/** Null for these options is an error of their own checks, which have codes of their own. */
const checkedLater = ['policies', 'limiter', 'limit', 'window', 'cost']

/** The options that nested limits inherit. */
export function inheritedOf<Request, Response>(
  options: GuardOptions<Request, Response>,
): GuardOptions<Request, Response> {
  return Object.fromEntries(inherited.map((option) => [option, options[option]]))
}

/**
 * Reads the argument of `rateLimit`: the limiter, and the guard's own options.
 * @param defaults options that the argument may override
 */
export function readOptions<Request, Response>(
  argument: PolicyArgument<Request, Response>,
  defaults: GuardOptions<Request, Response>,
): { limiter: RateLimiter; options: GuardOptions<Request, Response> } {
  knownOptions('rateLimit', defaults, guardOptions, checkedLater)
  if (argument instanceof RateLimiter) return { limiter: argument, options: defaults }
  if (typeof argument === 'string') return { limiter: new RateLimiter({ policies: argument }), options: defaults }
  if (typeof argument !== 'object' || argument === null) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `rateLimit takes a policy, options or a RateLimiter, got ${shown(argument)}. Write rateLimit('100/15m').`,
    )
  }
  return { limiter: limiterOf(argument), options: guardOptionsOf(argument, defaults) }
}

/** The options of a guard: those of an argument of `rateLimit`, then the defaults. */
export function guardOptionsOf<Request, Response>(
  argument: RateLimitArgument<Request, Response>,
  defaults: GuardOptions<Request, Response> = {},
): GuardOptions<Request, Response> {
  if (typeof argument !== 'object' || argument instanceof RateLimiter) return defaults
  return { ...defaults, ...pick(argument, guardOptions) }
}

function limiterOf<Request, Response>(options: RateLimitOptions<Request, Response>): RateLimiter {
  if ('limiter' in options) {
    knownOptions('rateLimit', options, ['limiter', ...guardOptions], checkedLater)
    if (options.limiter instanceof RateLimiter) return options.limiter
    throw new HeadgateError('HEADGATE_OPTION', 'limiter must be a RateLimiter. Write new RateLimiter({ policies }).')
  }
  if ('policies' in options) {
    knownOptions('rateLimit', options, ['policies', 'name', ...limiterParts, ...guardOptions], checkedLater)
    return new RateLimiter({ policies: options.policies as PolicyLikes, ...pick(options, ['name', ...limiterParts]) })
  }
  const known = [...policyOptions, 'policies', 'limiter', ...limiterParts, ...guardOptions]
  knownOptions('rateLimit', options, known, checkedLater)
  return new RateLimiter({ policies: pick(options, policyOptions) as PolicyOptions, ...pick(options, limiterParts) })
}

/**
 * An argument of `rateLimit` with a name, a store and other parts for its limiter, unless it has its own. For a limit that
 * is declared where these are not known, such as in a decorator. A `RateLimiter` stays as it is.
 */
export function withLimiterParts<Request, Response>(
  argument: RateLimitArgument<Request, Response>,
  parts: LimiterParts,
): RateLimitArgument<Request, Response> {
  if (typeof argument === 'string') return { policies: argument, ...parts }
  if (typeof argument !== 'object' || argument === null) return argument
  if (argument instanceof RateLimiter || 'limiter' in argument) return argument
  if ('policies' in argument) return { ...parts, ...argument }
  const others = Object.entries(argument).filter(([option]) => !policyOptions.includes(option))
  return { policies: pick(argument, policyOptions) as PolicyOptions, ...parts, ...Object.fromEntries(others) }
}

/** True if the policies are a function of the request. */
export function isPlanOptions<Request, Response>(
  argument: RateLimitArgument<Request, Response>,
): argument is PlanOptions<Request, Response> {
  if (typeof argument !== 'object' || argument === null || argument instanceof RateLimiter) return false
  if (!('policies' in argument) || typeof argument.policies !== 'function') return false
  return argument.policies !== policy && !isConstructor(argument.policies)
}

/**
 * Reads `PlanOptions`: the parts of the limiter, and the options of the guard of each plan.
 * @param defaults options that `plans` may override
 */
export function readPlanOptions<Request, Response>(
  plans: PlanOptions<Request, Response>,
  defaults: GuardOptions<Request, Response>,
): { parts: LimiterParts; options: GuardOptions<Request, Response> } {
  knownOptions('rateLimit', defaults, guardOptions, checkedLater)
  knownOptions('rateLimit', plans, ['policies', 'name', ...limiterParts, ...guardOptions], checkedLater)
  const options = { ...pick(defaults, guardOptions), ...pick(plans, guardOptions) }
  return { parts: pick(plans, ['name', ...limiterParts]), options }
}

/** The options of these names, unless they are undefined. */
function pick(options: object, names: readonly string[]): object {
  return Object.fromEntries(
    Object.entries(options).filter(([option, value]) => names.includes(option) && value !== undefined),
  )
}
