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

/** What a route's own limit inherits from the limit around it: who is limited and how requests are answered. */
const inherited = [
  'keys',
  'headers',
  'problem',
  'refuse',
  'skip',
  'allow',
  'deny',
  'shadow',
  'enforce',
  'onDecision',
  'onRefused',
  'onStoreError',
] as const
const guardOptions: readonly string[] = [...inherited, 'cost', 'settle', 'count', 'delay']

const limiterParts = ['store', 'penalty', 'onChange', 'instances', 'storeTimeout']
/** Without `shadow`, which is the middleware's when it stands beside these. */
const policyOptions = ['limit', 'window', 'name', 'scope', 'countRefused', 'label']

/** The options that a limit within this one's reach inherits. */
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
  knownOptions('rateLimit', defaults, guardOptions)
  if (argument instanceof RateLimiter) return { limiter: argument, options: defaults }
  if (typeof argument === 'string') return { limiter: new RateLimiter({ policies: argument }), options: defaults }
  if (typeof argument !== 'object' || argument === null) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `rateLimit takes a policy, options or a RateLimiter, got ${shown(argument)}. Write rateLimit('100/15m').`,
    )
  }
  return { limiter: limiterOf(argument), options: { ...defaults, ...argument } }
}

function limiterOf<Request, Response>(options: RateLimitOptions<Request, Response>): RateLimiter {
  if ('limiter' in options) {
    knownOptions('rateLimit', options, ['limiter', ...guardOptions])
    if (options.limiter instanceof RateLimiter) return options.limiter
    throw new HeadgateError('HEADGATE_OPTION', 'limiter must be a RateLimiter. Write new RateLimiter({ policies }).')
  }
  const parts = partsOf(options)
  if ('policies' in options) {
    knownOptions('rateLimit', options, ['policies', 'name', ...limiterParts, ...guardOptions])
    return new RateLimiter({ policies: options.policies as PolicyLikes, ...parts, ...nameOf(options) })
  }
  knownOptions('rateLimit', options, [...policyOptions, 'policies', 'limiter', ...limiterParts, ...guardOptions])
  return new RateLimiter({ policies: pick(options, policyOptions) as PolicyOptions, ...parts })
}

/** True if the policies are a function of the request. */
export function isPlanOptions<Request, Response>(
  argument: RateLimitArgument<Request, Response>,
): argument is PlanOptions<Request, Response> {
  if (typeof argument !== 'object' || argument === null || argument instanceof RateLimiter) return false
  return 'policies' in argument && typeof argument.policies === 'function'
}

/** Reads what `PlanOptions` say: the parts of the limiter, and the options of the guard of each plan. */
export function readPlanOptions<Request, Response>(
  plans: PlanOptions<Request, Response>,
): { parts: LimiterParts; options: GuardOptions<Request, Response> } {
  knownOptions('rateLimit', plans, ['policies', 'name', ...limiterParts, ...guardOptions])
  return { parts: { ...partsOf(plans), ...nameOf(plans) }, options: pick(plans, guardOptions) }
}

function partsOf(options: LimiterParts): Omit<LimiterParts, 'name'> {
  return pick(options, limiterParts)
}

function nameOf({ name }: LimiterParts): Pick<LimiterParts, 'name'> {
  return name === undefined ? {} : { name }
}

/** The options of these names, unless they are undefined. */
function pick(options: object, names: readonly string[]): object {
  return Object.fromEntries(
    Object.entries(options).filter(([option, value]) => names.includes(option) && value !== undefined),
  )
}
