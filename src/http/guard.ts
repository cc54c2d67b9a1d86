import { asError, isPromise, type MaybePromise } from '../common/index.ts'
import { type PlanLike, type PlanLimiter, RateLimiter } from '../limiter/index.ts'
import { underPlan } from '../policy/index.ts'
import { type Cost, checkAsked, checkedCost } from './call-arguments.ts'
import { Enforcement } from './enforced-share.ts'
import type { Framework } from './framework.ts'
import { FunctionDeadline } from './function-deadline.ts'
import type { GuardOptions } from './guard-options.ts'
import type { GuardParts } from './guard-parts.ts'
import { checkShown } from './headers/index.ts'
import { Attachment, CountedRequests, checkPenalty, type Delay } from './held/index.ts'
import {
  checkAddressNeeds,
  type FindKey,
  findKey,
  type KeyExtractor,
  scopeExtractors,
  withAddressOf,
} from './keys/index.ts'
import type { LimiterOf, Policies, PoliciesOf, RateLimitArgument } from './rate-limit-options.ts'
import { changed, inheritedOf, type Read, readArgument } from './read-argument.ts'
import { type Exemption, Exemptions, Refusal } from './refusal/index.ts'
import { RequestCheck } from './request-check.ts'
import { RequestEvents } from './request-events.ts'

/**
 * Where the default options of a guard (the part of a middleware that checks requests) come from. `'own'`: from the middleware itself.
 * `'inherited'`: from an outer limit. For the limit of a route, this is the limit of the application.
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
  defaults: GuardOptions<Request, Response> = {},
  origin: DefaultsOrigin = 'own',
): Guard<Request, Response, LimiterOf<Given>> {
  const read = readArgument(argument as RateLimitArgument<Request, Response>, defaults)
  return new Guard(framework, read, origin === 'inherited' ? defaults : {})
}

/**
 * The part of an HTTP limit that is the same for all frameworks. A request passes these steps:
 *
 *     check -> exempt? -> the limiter of the request -> RequestCheck: key -> cost -> calendar -> decide -> respond
 *
 * All steps are synchronous if the functions in the options and the store are synchronous. A step that has to wait is a separate
 * function, named `...Later`. Reason: a function that contains a closure allocates memory at every call, even if the call does not
 * use the closure.
 */
export class Guard<Request, Response, Limiter = RateLimiter | PlanLimiter> {
  readonly limiter: Limiter
  readonly options: GuardOptions<Request, Response>
  readonly #framework: Framework<Request, Response>
  readonly #parts: GuardParts<Request, Response>
  readonly #scopes: readonly string[]
  readonly #extractors: readonly KeyExtractor<Request, Response>[]
  /** The rules of `deny`, `allow` and `skip`. Undefined if none of these options is set. */
  readonly #exemptions: Exemptions<Request, Response> | undefined
  /** The check of all requests, if the policies are the same for every request. Undefined if the policies are a function. */
  readonly #only: RequestCheck<Request, Response> | undefined
  readonly #checks = new WeakMap<RateLimiter, RequestCheck<Request, Response>>()
  readonly #policies: PoliciesOf<Request, Response> | undefined

  /**
   * @param inherited options from an outer limit, which may not fit the policies of this limit
   * @param shared the objects that all guards of the same limit share, such as the guards of routes that change an option
   */
  constructor(
    framework: Framework<Request, Response>,
    { limiter, policies, options }: Read<Request, Response>,
    inherited: GuardOptions<Request, Response>,
    shared: Shared<Request, Response> = sharedBy(framework),
  ) {
    const isOnly = policies === undefined
    if (framework.countsItself !== true) checkPenalty(options, limiter.penalty)
    this.limiter = limiter as Limiter
    this.options = options
    this.#framework = framework
    this.#policies = policies
    this.#scopes = limiter.scopes
    const isOwn = (option: 'keys' | 'calendar' | 'headers') => isOnly && options[option] !== inherited[option]
    this.#extractors = scopeExtractors(options.keys, limiter.scopes, isOwn('keys'))
    const parts = {
      framework: withAddressOf(options.keys, framework),
      options,
      deadline: new FunctionDeadline(options.functionTimeout),
      enforcement: new Enforcement(options.enforce),
      events: new RequestEvents(limiter.name, options),
      refusal: new Refusal(framework, options),
      attachment: new Attachment(framework, options.attach, shared.counted),
      ...shared,
    }
    this.#parts = parts
    const exemptions = new Exemptions(parts.framework, options)
    this.#exemptions = exemptions.needed ? exemptions : undefined
    // If the policies are a function of the request, they are not known yet. The options are then checked together with an
    // example policy, so that an invalid option throws now, and not at the first request.
    const known =
      limiter instanceof RateLimiter ? limiter : new RateLimiter({ name: 'no plan', policies: '1/1s token-bucket' })
    const check = new RequestCheck(parts, known, this.#extractors, isOnly)
    this.#only = isOnly ? check : undefined
    if (options.calendar !== undefined && isOwn('calendar')) checkAsked(known.policies)
    if (isOwn('headers')) checkShown(options.headers, known.policies)
    checkAddressNeeds(framework, options, limiter.scopes)
  }

  /** The options that inner limits inherit, such as the limits of routes from the limit of the application. */
  get inherited(): GuardOptions<Request, Response> {
    return inheritedOf(this.options)
  }

  /**
   * The guard of a route that changes options of this limit, for a framework's adapter that knows the route before this guard decides.
   * @param limiter another limiter with the same states, such as a limiter with fewer policies
   * @throws HeadgateError if an option is invalid
   */
  changed(
    changes: GuardOptions<Request, Response>,
    limiter: RateLimiter | PlanLimiter = this.limiter as RateLimiter | PlanLimiter,
  ): Guard<Request, Response> {
    return this.#derived(changes, limiter, false)
  }

  /**
   * The guard of a route that has a cost of its own. If this guard has already counted the request, the guard of the route gives the taken
   * units back, and decides once more. After the guard of the route, this guard does nothing, unless the request was refused.
   * @throws HeadgateError `HEADGATE_COST` if the cost is invalid
   */
  withCost(cost: Cost<Request, Response>): Guard<Request, Response> {
    if (typeof cost !== 'function') checkedCost(cost, 'cost')
    this.#parts.counted.start()
    return this.#derived({ cost }, this.limiter as RateLimiter | PlanLimiter, true)
  }

  #derived(
    changes: GuardOptions<Request, Response>,
    limiter: RateLimiter | PlanLimiter,
    byRoute: boolean,
  ): Guard<Request, Response> {
    const { options } = this
    const { counted, delays } = this.#parts
    const read = { limiter, ...(this.#policies && { policies: this.#policies }), options: changed(options, changes) }
    const ownDelays = changes.delay === undefined ? delays : new WeakMap<RateLimiter, Delay>()
    return new Guard(this.#framework, read, options, { counted, delays: ownDelays, byRoute })
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
    const { counted, byRoute } = this.#parts
    const before = counted.started ? counted.of(request) : undefined
    if (before === undefined) return this.#checkFirst(request, response)
    if (before === 'exempt') return this.#parts.attachment.exempt(request, response)
    if (!byRoute && !before.byRoute && !before.held.refused) return this.#checkFirst(request, response)
    return this.#checkOf(before.limiter).checkAgain(before, request, response)
  }

  #checkFirst(request: Request, response: Response): MaybePromise<boolean> {
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
    const { attachment, events, framework, refusal } = this.#parts
    if (exemption === 'exempt') return attachment.exempt(request, response)
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
    return this.#checkUnder(plan, request, response)
  }

  #checkUnder(plan: PlanLike, request: Request, response: Response): MaybePromise<boolean> {
    const limiter = this.limiter as PlanLimiter
    return underPlan(plan, (each) => this.#checkOf(limiter.withPlan(each)).check(request, response))
  }

  /** The check of the requests under one plan, by the limiter of the plan. */
  #checkOf(limiter: RateLimiter): RequestCheck<Request, Response> {
    if (this.#only !== undefined) return this.#only
    let check = this.#checks.get(limiter)
    if (check === undefined) {
      const extractors = scopeExtractors(this.#parts.options.keys, limiter.scopes, false)
      check = new RequestCheck(this.#parts, limiter, extractors, false)
      this.#checks.set(limiter, check)
    }
    return check
  }

  #findKey(request: Request, response: Response): FindKey {
    return () => findKey(this.#extractors, this.#scopes, request, this.#parts.framework, response)
  }

  async #exemptLater(exemption: Promise<Exemption>, request: Request, response: Response): Promise<boolean> {
    const { functions = '' } = this.#exemptions ?? {}
    return this.#exempt(await this.#parts.deadline.bound(exemption, functions), request, response)
  }

  async #findPlanLater(plan: Promise<PlanLike>, request: Request, response: Response): Promise<boolean> {
    return this.#checkUnder(await this.#parts.deadline.bound(plan, 'policies'), request, response)
  }
}

/** The objects that all guards of the same limit share, such as the guards of routes that change an option. */
type Shared<Request, Response> = Pick<GuardParts<Request, Response>, 'counted' | 'delays' | 'byRoute'>

function sharedBy<Request, Response>(framework: Framework<Request, Response>): Shared<Request, Response> {
  return { counted: new CountedRequests(framework), delays: new WeakMap(), byRoute: false }
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
