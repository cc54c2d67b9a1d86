import { isConstructor, policy } from '../algorithms/index.ts'
import { HeadgateError, knownOptions, shown } from '../common/index.ts'
import { PlanLimiter, type PolicyLikes, RateLimiter } from '../limiter/index.ts'
import { defaultScope, type PolicyOptions } from '../policy/index.ts'
import type { GuardOptions } from './guard-options.ts'
import type { LimiterParts, PoliciesOf, RateLimitArgument } from './rate-limit-options.ts'

const exemptions = ['skip', 'allow', 'deny'] as const
const hooks = ['onDecision', 'onRefused', 'onDenied', 'onStoreError'] as const
/** The options that a nested limit inherits from the outer limit: who the client is, and the format of responses. */
export const inheritedOptions: readonly (keyof GuardOptions<unknown, unknown>)[] = [
  ...(['keys', 'calendar', 'functionTimeout', 'headers', 'attach', 'problem', 'refuse', 'enforce'] as const),
  ...exemptions,
  ...hooks,
]
const guardOptions: readonly string[] = [...inheritedOptions, 'cost', 'settle', 'count', 'delay']

const limiterParts = ['store', 'penalty', 'candidate', 'onChange', 'instances', 'storeTimeout', 'top', 'onThreshold']
/** The options that most applications need. An error about an unknown option lists these options first. */
const usual = ['policies', 'keys', 'cost', 'skip', 'name', 'store']
const policiesOptions = [...new Set([...usual, ...limiterParts, ...guardOptions])]
/** The options of a middleware's single policy. `shadow` (never refuse) is left out, because it looks like an option of the middleware. */
const policyOptions = ['limit', 'window', 'name', 'scope', 'countRefused', 'label', 'listed']
const windowOptions = new Set(['limit', 'window', ...usual, ...policyOptions, 'limiter', ...policiesOptions])

export function inheritedOf<Request, Response>(
  options: GuardOptions<Request, Response>,
): GuardOptions<Request, Response> {
  return Object.fromEntries(inheritedOptions.map((option) => [option, options[option]]))
}

/** The limiter of a middleware, and the middleware's options. */
export interface Read<Request, Response> {
  readonly limiter: RateLimiter | PlanLimiter
  /** The function that returns the policies for a request. Undefined if the policies are the same for every request. */
  readonly policies?: PoliciesOf<Request, Response>
  readonly options: GuardOptions<Request, Response>
}

/** Reads the argument of `rateLimit`: the limiter, and the middleware's options. @param defaults options that the argument may override */
export function readArgument<Request, Response>(
  argument: RateLimitArgument<Request, Response>,
  defaults: GuardOptions<Request, Response>,
): Read<Request, Response> {
  checkCalled(argument)
  knownOptions('rateLimit', defaults, guardOptions)
  if (argument instanceof RateLimiter) return { limiter: argument, options: defaults }
  if (typeof argument === 'string') {
    return { limiter: new RateLimiter({ policies: argument, ...storeErrorOf(defaults) }), options: defaults }
  }
  if (typeof argument !== 'object' || argument === null) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `rateLimit takes a policy, options or a RateLimiter, got ${shown(argument)}. Write rateLimit('100/15m').`,
    )
  }
  const options = guardOptionsOf(argument, defaults)
  if ('limiter' in argument) {
    if (!(argument.limiter instanceof RateLimiter)) {
      throw new HeadgateError('HEADGATE_OPTION', 'limiter must be a RateLimiter. Write new RateLimiter({ policies }).')
    }
    knownOptions('rateLimit', argument, ['limiter', ...guardOptions])
    return { limiter: argument.limiter, options }
  }
  if (!('policies' in argument)) {
    knownOptions('rateLimit', argument, [...windowOptions])
    const policies = pick(argument, policyOptions) as PolicyOptions
    // The option `name` is the name of the limiter, and also of its only policy.
    return {
      limiter: new RateLimiter({ policies, ...pick(argument, ['name', ...limiterParts]), ...storeErrorOf(options) }),
      options,
    }
  }
  knownOptions('rateLimit', argument, policiesOptions)
  const { policies } = argument
  const parts = { ...pick(argument, ['name', ...limiterParts]), ...storeErrorOf(options) }
  // A function as `policies` returns the policies for a request, unless it is a function such as `tokenBucket` that the user forgot to
  // call.
  if (typeof policies === 'function' && policies !== policy && !isConstructor(policies)) {
    return { limiter: new PlanLimiter(parts, scopesOf(options.keys)), policies, options }
  }
  return { limiter: new RateLimiter({ policies: policies as PolicyLikes, ...parts }), options }
}

/**
 * Gives the middleware's `onStoreError` to its limiter too. A function is not given, because the function gets a request, which a limiter
 * lacks.
 */
function storeErrorOf<Request, Response>({ onStoreError }: GuardOptions<Request, Response>) {
  return typeof onStoreError === 'string' ? { onStoreError } : {}
}

/**
 * Checks the argument of `rateLimit`.
 * @throws HeadgateError if a framework called `rateLimit` itself as a middleware: the argument is then a request or its context
 */
export function checkCalled(argument: unknown): void {
  if (typeof argument !== 'object' || argument === null) return
  if (!('req' in argument || ('method' in argument && 'headers' in argument))) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    "rateLimit got a request in place of a limit: the function itself was used as the middleware. Call it: rateLimit('100/15m').",
  )
}

/** The scopes (kinds of keys) that plans may have if `policies` is a function: the scopes in `keys`, or else only the default scope. */
function scopesOf(keys: unknown): readonly string[] {
  if (typeof keys !== 'object' || keys === null) return [defaultScope]
  return Object.entries(keys).flatMap(([scope, extractor]) => (extractor === undefined ? [] : [scope]))
}

/**
 * True for options without policies and without a limiter, in the config or the decorator of a route. Such options change the limit around
 * the route, and do not replace that limit.
 */
export function changesLimit<Request, Response>(
  argument: RateLimitArgument<Request, Response> | GuardOptions<Request, Response>,
): argument is GuardOptions<Request, Response> {
  if (typeof argument !== 'object' || argument === null) return false
  if (argument instanceof RateLimiter || Array.isArray(argument)) return false
  return !['policies', 'limiter', 'limit', 'window'].some((option) => option in argument)
}

/**
 * The options of a limit, with the changes of a route.
 * @throws HeadgateError `HEADGATE_OPTION` if a change is not an option of a middleware, such as a store
 */
export function changed<Request, Response>(
  options: GuardOptions<Request, Response>,
  changes: GuardOptions<Request, Response>,
): GuardOptions<Request, Response> {
  knownOptions('A route without policies', changes, guardOptions)
  return { ...options, ...pick(changes, guardOptions) }
}

/** The options of a middleware's guard. An option of the argument takes precedence over the same option in the defaults. */
function guardOptionsOf<Request, Response>(
  argument: RateLimitArgument<Request, Response>,
  defaults: GuardOptions<Request, Response> = {},
): GuardOptions<Request, Response> {
  if (typeof argument !== 'object' || argument instanceof RateLimiter) return defaults
  return { ...defaults, ...pick(argument, guardOptions) }
}

/**
 * Adds a name, a store and other parts of a limiter to an argument of `rateLimit` that lacks these parts. Needed for a limit in a
 * decorator, where these parts are not known. A `RateLimiter` is returned unchanged.
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

/** The options with these names. An undefined option is left out, except `store: undefined`, because the limiter warns about that. */
function pick(options: object, names: readonly string[]): object {
  return Object.fromEntries(
    Object.entries(options).filter(
      ([option, value]) => names.includes(option) && (value !== undefined || option === 'store'),
    ),
  )
}
