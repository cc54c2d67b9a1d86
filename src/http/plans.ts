import type { RateLimiter } from '../limiter.ts'
import type { PolicyLikes } from '../limiter-options.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import { isPromise } from '../maybe-promise.ts'
import { Exemptions, type Way } from './exemptions.ts'
import type { Framework } from './framework.ts'
import { Gate } from './gate.ts'
import { Guard } from './guard.ts'
import {
  type GuardOptions,
  guardOptionsOf,
  inheritedOf,
  type PoliciesOf,
  type RateLimitArgument,
  varying,
} from './options.ts'
import { Refusing } from './refusing.ts'

/** A guard for each plan: which one is known request by request. The states are those of one limiter. */
class Plans<Request, Response> extends Gate<Request, Response> {
  readonly options: GuardOptions<Request, Response>
  readonly #framework: Framework<Request, Response>
  readonly #policies: PoliciesOf<Request>
  readonly #limiters: (policies: PolicyLikes) => RateLimiter
  readonly #entry: Exemptions<Request, Response>
  readonly #refusing: Refusing<Request, Response>
  /** What every plan's guard is told: who is limited at all is decided before. */
  readonly #inner: GuardOptions<Request, Response>
  readonly #guards = new WeakMap<RateLimiter, Guard<Request, Response>>()

  constructor(
    framework: Framework<Request, Response>,
    options: GuardOptions<Request, Response>,
    { policies, limiters }: NonNullable<ReturnType<typeof varying<Request, Response>>>,
  ) {
    super()
    this.options = inheritedOf(options)
    this.#framework = framework
    this.#policies = policies
    this.#limiters = limiters
    this.#entry = new Exemptions(framework, options)
    this.#refusing = new Refusing(framework, options, { penalty: undefined })
    this.#inner = innerOf(options)
    new Guard(framework, '1/1s token-bucket', this.#inner) // what is wrong with them is told now
  }

  check(request: Request, response: Response): MaybePromise<boolean> {
    const way = this.#entry.of(request)
    if (isPromise(way)) return way.then((resolved) => this.#enter(resolved, request, response))
    return this.#enter(way, request, response)
  }

  #enter(way: Way, request: Request, response: Response): MaybePromise<boolean> {
    if (way === 'pass') return true
    if (way === 'deny') return this.#refusing.deny(request, response)
    const policies = this.#policies(request)
    if (isPromise(policies)) return policies.then((resolved) => this.#guard(resolved).check(request, response))
    return this.#guard(policies).check(request, response)
  }

  #guard(policies: PolicyLikes): Guard<Request, Response> {
    const limiter = this.#limiters(policies)
    let guard = this.#guards.get(limiter)
    if (guard === undefined) {
      guard = new Guard(this.#framework, limiter, this.#inner)
      this.#guards.set(limiter, guard)
    }
    return guard
  }
}

function innerOf<Request, Response>(options: GuardOptions<Request, Response>): GuardOptions<Request, Response> {
  const { skip, allow, deny, ...inner } = guardOptionsOf(options)
  return inner
}

/**
 * The guard of a middleware.
 * @throws HeadgateError for any option that cannot be what it is
 */
export function guardOf<Request, Response>(
  framework: Framework<Request, Response>,
  what: RateLimitArgument<Request, Response>,
  more: GuardOptions<Request, Response> = {},
): Gate<Request, Response> {
  const plans = varying(what)
  if (plans === undefined) return new Guard(framework, what, more)
  return new Plans(framework, { ...more, ...(what as GuardOptions<Request, Response>) }, plans)
}
