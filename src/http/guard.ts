import { asError, isPromise, type MaybePromise } from '../common/index.ts'
import { type PlanLike, type PlanLimiter, RateLimiter } from '../limiter/index.ts'
import { checkAsked } from './call-arguments.ts'
import { Enforcement } from './enforced-share.ts'
import type { Framework } from './framework.ts'
import { FunctionDeadline } from './function-deadline.ts'
import type { GuardOptions } from './guard-options.ts'
import { checkPenalty } from './held/index.ts'
import {
  checkAddressNeeds,
  type FindKey,
  findKey,
  type KeyExtractor,
  scopeExtractors,
  withAddressOf,
} from './keys/index.ts'
import { type GuardParts, PlanCheck } from './plan-check.ts'
import type { LimiterOf, Policies, PoliciesOf, RateLimitArgument } from './rate-limit-options.ts'
import { inheritedOf, readArgument } from './read-argument.ts'
import { type Exemption, Exemptions, Refusal } from './refusal/index.ts'
import { RequestEvents } from './request-events.ts'

/**
 * Where the default options of a guard (the part of a middleware that checks requests) come from: from the middleware itself (`'own'`), or
 * from an outer limit (`'inherited'`), such as the limit of the application for the limit of a route.
 */
export type DefaultsOrigin = 'own' | 'inherited'

/**
 * Makes the guard of a middleware (the part that checks requests) from the arguments of `rateLimit`. An adapter calls `check` or `handle`
 * of the guard for every request.
 *
 *     const guard = createGuard(myFramework, '100/15m')
 *     server.on('request', (request, response) => guard.handle(request, response, (error) => ...))
 *
 * @param defaults options that the argument may override
 * @param origin `'inherited'` if the defaults are the property `inherited` of another guard. Default `'own'`: every default must
 *   be valid for this guard
 * @throws HeadgateError if a policy or an option is invalid
 */
export function createGuard<
  Request,
  Response,
  Given extends Policies<Request, Response> | undefined = Policies<Request, Response> | undefined,
>(
  framework: Framework<Request, Response>,
  argument: RateLimitArgument<Request, Response, Given>,
  defaults?: GuardOptions<Request, Response>,
  origin?: DefaultsOrigin,
): Guard<Request, Response, LimiterOf<Given>> {
  return new Guard(framework, argument as RateLimitArgument<Request, Response>, defaults, origin)
}

/**
 * The part of an HTTP limit that is the same for all frameworks. A request passes these steps:
 *
 *     check -> exempt? -> the limiter of the request -> PlanCheck: key -> cost -> calendar -> decide -> respond
 *
 * All steps are synchronous if the functions in the options and the store are synchronous. A step that has to wait is a separate
 * function, named `...Later`, because a function with a closure in it allocates memory at every call, even if the call does not
 * use the closure.
 */
export class Guard<Request, Response, Limiter = RateLimiter | PlanLimiter> {
  readonly limiter: Limiter
  /** The options that inner limits inherit, such as the limits of routes from the limit of the application. */
  readonly inherited: GuardOptions<Request, Response>
  readonly #parts: GuardParts<Request, Response>
  readonly #scopes: readonly string[]
  readonly #extractors: readonly KeyExtractor<Request, Response>[]
  /** The rules of `deny`, `allow` and `skip`. Undefined if none of these options is set. */
  readonly #exemptions: Exemptions<Request, Response> | undefined
  /** The check of all requests, if the policies are the same for every request. Undefined if the policies are a function. */
  readonly #only: PlanCheck<Request, Response> | undefined
  readonly #checks = new WeakMap<RateLimiter, PlanCheck<Request, Response>>()
  readonly #policies: PoliciesOf<Request, Response> | undefined

  constructor(
    framework: Framework<Request, Response>,
    argument: RateLimitArgument<Request, Response>,
    defaults: GuardOptions<Request, Response> = {},
    origin: DefaultsOrigin = 'own',
  ) {
    const { limiter, policies, options } = readArgument(argument, defaults)
    const isOnly = policies === undefined
    checkPenalty(options.count, limiter.penalty)
    this.limiter = limiter as Limiter
    this.inherited = inheritedOf(options)
    this.#policies = policies
    this.#scopes = limiter.scopes
    // An option that was inherited may be for the policies of another limit.
    const isOwn = (option: 'keys' | 'calendar') => isOnly && (origin === 'own' || options[option] !== defaults[option])
    this.#extractors = scopeExtractors(options.keys, limiter.scopes, isOwn('keys'))
    const parts = {
      framework: withAddressOf(options.keys, framework),
      options,
      deadline: new FunctionDeadline(options.functionTimeout),
      enforcement: new Enforcement(options.enforce),
      events: new RequestEvents(limiter.name, options),
      refusal: new Refusal(framework, options),
    }
    this.#parts = parts
    const exemptions = new Exemptions(parts.framework, options)
    this.#exemptions = exemptions.needed ? exemptions : undefined
    // If the policies are a function of the request, they are not known yet. The options are then checked together with an
    // example policy, so that an invalid option throws now, and not at the first request.
    const known =
      limiter instanceof RateLimiter ? limiter : new RateLimiter({ name: 'no plan', policies: '1/1s token-bucket' })
    const check = new PlanCheck(parts, known, this.#extractors, isOnly)
    this.#only = isOnly ? check : undefined
    if (options.calendar !== undefined && isOwn('calendar')) checkAsked(known.policies)
    checkAddressNeeds(framework, options, limiter.scopes)
  }

  /**
   * True if the request is admitted. False if the middleware has sent a response, or if the client has disconnected. Throws or rejects with
   * an Error for the framework's error handler, if a function in the options or the store fails.
   */
  check(request: Request, response: Response): MaybePromise<boolean> {
    try {
      const admitted = this.#check(request, response)
      return typeof admitted === 'boolean' ? admitted : admitted.catch(rethrow)
    } catch (error) {
      return rethrow(error)
    }
  }

  /**
   * Does the same as `check`, for frameworks with a callback: calls `next()` if the request is admitted, and `next(error)` after
   * an error. Returns a promise if a step had to wait. The promise resolves after `next` was called or a response was sent.
   */
  handle(request: Request, response: Response, next: (error?: unknown) => void): MaybePromise<void> {
    let admitted: MaybePromise<boolean>
    try {
      admitted = this.#check(request, response)
    } catch (error) {
      return next(asError(error))
    }
    if (admitted === true) return next()
    return admitted === false ? undefined : nextLater(admitted, next)
  }

  #check(request: Request, response: Response): MaybePromise<boolean> {
    if (this.#exemptions === undefined) return this.#checkPlan(request, response)
    return this.#findExemption(this.#exemptions, request, response)
  }

  #findExemption(rules: Exemptions<Request, Response>, request: Request, response: Response): MaybePromise<boolean> {
    const exemption = rules.of(request, response, this.#findKey(request, response))
    return isPromise(exemption)
      ? this.#exemptLater(exemption, request, response)
      : this.#exempt(exemption, request, response)
  }

  #exempt(exemption: Exemption, request: Request, response: Response): MaybePromise<boolean> {
    if (exemption === 'limited') return this.#checkPlan(request, response)
    if (exemption === 'exempt') return true
    const { events, framework, refusal } = this.#parts
    events.denied(framework, request, response)
    return refusal.deny(request, response)
  }

  #checkPlan(request: Request, response: Response): MaybePromise<boolean> {
    return this.#only === undefined ? this.#findPlan(request, response) : this.#only.check(request, response)
  }

  #findPlan(request: Request, response: Response): MaybePromise<boolean> {
    const policies = this.#policies as PoliciesOf<Request, Response>
    const plan = policies(request, response, this.#findKey(request, response))
    if (isPromise(plan)) return this.#findPlanLater(plan, request, response)
    return this.#checkUnder(plan).check(request, response)
  }

  #checkUnder(plan: PlanLike): PlanCheck<Request, Response> {
    const limiter = (this.limiter as PlanLimiter).withPlan(plan)
    let check = this.#checks.get(limiter)
    if (check === undefined) {
      const extractors = scopeExtractors(this.#parts.options.keys, limiter.scopes, false)
      check = new PlanCheck(this.#parts, limiter, extractors, false)
      this.#checks.set(limiter, check)
    }
    return check
  }

  #findKey(request: Request, response: Response): FindKey {
    return () => findKey(this.#extractors, this.#scopes, request, this.#parts.framework, response)
  }

  async #exemptLater(exemption: Promise<Exemption>, request: Request, response: Response): Promise<boolean> {
    return this.#exempt(await this.#parts.deadline.bound(exemption, 'skip'), request, response)
  }

  async #findPlanLater(plan: Promise<PlanLike>, request: Request, response: Response): Promise<boolean> {
    return this.#checkUnder(await this.#parts.deadline.bound(plan, 'policies')).check(request, response)
  }
}

function rethrow(error: unknown): never {
  throw asError(error)
}

function nextLater(admitted: Promise<boolean>, next: (error?: unknown) => void): Promise<void> {
  return admitted.then(
    (goesOn) => (goesOn ? next() : undefined),
    (error) => next(asError(error)),
  )
}
