import type { CarryRule } from '../algorithms/carry.ts'
import type { PenaltyOptions } from '../algorithms/penalty.ts'
import type { Decision } from '../decision.ts'
import type { Duration } from '../duration.ts'
import { HeadgateError, shown } from '../errors.ts'
import { limiters, RateLimiter } from '../limiter.ts'
import type { PolicyLikes } from '../limiter-options.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import { knownOptions } from '../options.ts'
import { defaultScope, type PolicyOptions } from '../policy.ts'
import type { Store } from '../stores/store.ts'
import type { Cost } from './cost.ts'
import type { Count } from './count.ts'
import type { DelayOptions } from './delay.ts'
import type { Hooks } from './events.ts'
import type { HeadersOption } from './headers/options.ts'
import { byIp, type KeyExtractor } from './keys/extractors.ts'

/** What a middleware may be told besides its policies. */
export interface GuardOptions<Request, Response> extends Hooks<Request, Response> {
  /** Who is limited: an extractor, or one for each scope. Default: `byIp()` for the scope `'default'`. */
  keys?: KeyExtractor<Request> | Readonly<Record<string, KeyExtractor<Request>>> | undefined
  /** Requests that are not limited at all, sync or async. */
  skip?: ((request: Request) => MaybePromise<boolean>) | undefined
  /** Addresses and CIDR ranges that are not limited. */
  allow?: readonly string[] | undefined
  /** Addresses and CIDR ranges that are answered with 403, also where `allow` has them. */
  deny?: readonly string[] | undefined
  /** Decides and tells, but refuses nobody. Default false. */
  shadow?: boolean | undefined
  /** The share of keys on whom refusals are enforced, always the same ones: 0.1 is a tenth. Default 1. */
  enforce?: number | undefined
  /** The response fields: dialects, `'near'`, `{ dialects, near, legacy, pk }`, or false for none. Default `'legacy'`. */
  headers?: HeadersOption | undefined
  /** Refusals as `application/problem+json` with the type and members of draft-11. Default false. */
  problem?: boolean | undefined
  /** What a request costs: units, or a function of the request, sync or async. Default 1. */
  cost?: Cost<Request> | undefined
  /** Gives the application a `settle(actual)` on the decision, to correct the cost once it is known. Default false. */
  settle?: boolean | undefined
  /** Which requests count, decided when they have been answered; until then they do. Default `'all'`. */
  count?: Count<Request, Response> | undefined
  /** Holds a request back until its time comes, instead of refusing it. */
  delay?: DelayOptions | undefined
  /**
   * One's own answer to a refusal. Status 429 and the fields are set already and may be changed; the request goes no
   * further. Of Koa, request and response are both the context.
   */
  refuse?: ((decision: Decision, request: Request, response: Response) => MaybePromise<unknown>) | undefined
}

interface LimiterParts {
  /** Where states are kept. Default: a memory store of its own. */
  store?: Store
  /** The limiter's name, its namespace in the store. */
  name?: string
  /** How many processes share the limits: what each decides by itself while the store fails. Default 1. */
  instances?: number
  /** Blocks a key that keeps being refused, each time for longer. Default: nobody is punished. */
  penalty?: PenaltyOptions
  /** What becomes of what a key has used when the numbers of a policy change: `'keep'` (default), `'scale'`, `'reset'`. */
  onChange?: CarryRule
  /** How long a request may wait for the store. Default: what the store itself allows, or 100 ms. */
  storeTimeout?: Duration
}

/** Policies by the request: the plan of a tenant, say. The same by their names, whatever the numbers. Sync or async. */
export type PoliciesOf<Request> = (request: Request) => MaybePromise<PolicyLikes>

/** Everything in one object: a limiter, policies, or the limit and window of a sliding window. */
export type RateLimitOptions<Request, Response> = GuardOptions<Request, Response> &
  (
    | (PolicyOptions & LimiterParts)
    | ({ policies: PolicyLikes | PoliciesOf<Request> } & LimiterParts)
    | { limiter: RateLimiter }
  )

/** What `rateLimit` takes: `'100/15m'`, `{ limit, window }`, `{ policies, keys, store }`, a `RateLimiter`. */
export type RateLimitArgument<Request, Response> = string | RateLimiter | RateLimitOptions<Request, Response>

/** What a route's own limit has too unless it says otherwise: who is asked and how it is answered, not what it costs. */
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
/** `shadow` beside them is the middleware's. */
const policyOptions = ['limit', 'window', 'name', 'scope', 'countRefused']

/** The guard's own options out of all. */
export function guardOptionsOf<Request, Response>(
  options: GuardOptions<Request, Response>,
): GuardOptions<Request, Response> {
  return Object.fromEntries(Object.entries(options).filter(([option]) => guardOptions.includes(option)))
}

/** Those of them that a route's own limit has too. */
export function inheritedOf<Request, Response>(
  options: GuardOptions<Request, Response>,
): GuardOptions<Request, Response> {
  return Object.fromEntries(inherited.map((option) => [option, options[option]]))
}

/**
 * Sorts out what a user wrote: the limiter, and the guard's own options.
 * @param more options for what does not say them itself
 */
export function readOptions<Request, Response>(
  what: RateLimitArgument<Request, Response>,
  more: GuardOptions<Request, Response>,
): { limiter: RateLimiter; options: GuardOptions<Request, Response> } {
  knownOptions('rateLimit', more, guardOptions)
  if (what instanceof RateLimiter) return { limiter: what, options: more }
  if (typeof what === 'string') return { limiter: new RateLimiter({ policies: what }), options: more }
  if (typeof what !== 'object' || what === null) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `rateLimit takes a policy, options or a RateLimiter, got ${shown(what)}. Write rateLimit('100/15m').`,
    )
  }
  return { limiter: limiterOf(what), options: { ...more, ...what } }
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
    return new RateLimiter({ policies: options.policies as PolicyLikes, ...parts, ...named(options) })
  }
  knownOptions('rateLimit', options, [...policyOptions, 'policies', 'limiter', ...limiterParts, ...guardOptions])
  const own = Object.fromEntries(Object.entries(options).filter(([option]) => policyOptions.includes(option)))
  return new RateLimiter({ policies: own as unknown as PolicyOptions, ...parts })
}

/**
 * The limiters of a middleware whose policies are a function of the request; undefined of any other.
 * @throws HeadgateError for any of its options that cannot be what it is
 */
export function varying<Request, Response>(
  what: RateLimitArgument<Request, Response>,
): { policies: PoliciesOf<Request>; limiters: (policies: PolicyLikes) => RateLimiter } | undefined {
  if (typeof what !== 'object' || what === null || what instanceof RateLimiter || !('policies' in what))
    return undefined
  const { policies } = what
  if (typeof policies !== 'function') return undefined
  knownOptions('rateLimit', what, ['policies', 'name', ...limiterParts, ...guardOptions])
  return { policies, limiters: limiters({ ...partsOf(what), ...named(what) }) }
}

function partsOf({ store, penalty, onChange, instances, storeTimeout }: LimiterParts): Omit<LimiterParts, 'name'> {
  const given = Object.entries({ store, penalty, onChange, instances, storeTimeout })
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

function named({ name }: LimiterParts): Pick<LimiterParts, 'name'> {
  return name === undefined ? {} : { name }
}

/**
 * One extractor for each scope of the limiter, in its order.
 * @param strict whether an extractor for another scope is a mistake: it is not where the keys were meant for more than one
 */
export function extractorsOf<Request>(
  keys: GuardOptions<Request, never>['keys'],
  scopes: readonly string[],
  strict: boolean,
): readonly KeyExtractor<Request>[] {
  const byScope = typeof keys === 'function' ? { default: keys } : (keys ?? {})
  const single = typeof keys === 'function' && scopes.length === 1
  if (strict) knownOptions('keys', byScope, [...new Set([...scopes, defaultScope])])
  return scopes.map((scope) => {
    const extractor = single ? keys : Object.hasOwn(byScope, scope) ? byScope[scope] : undefined
    if (typeof extractor === 'function') return extractor
    if (extractor === undefined && scope === defaultScope) return byIp()
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `keys has no extractor for the scope ${shown(scope)}. Give one: keys: { ${JSON.stringify(scope)}: byHeader('x-api-key') }.`,
    )
  })
}
