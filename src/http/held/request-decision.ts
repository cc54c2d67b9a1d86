import { type Duration, HeadgateError, hook, warnOnce } from '../../common/index.ts'
import type { BanOptions, Key, RateLimiter, Units } from '../../limiter/index.ts'
import type { Decision, Source, Verdict } from '../../policy/index.ts'
import type { Framework, RequestDecision } from '../framework.ts'
import type { GuardOptions } from '../guard-options.ts'
import type { CountedRequests } from './counted-requests.ts'

/** Corrects the cost of one request. */
export interface Settles {
  settle(actual: Units): Promise<void>
}

/**
 * The decision that the application reads from a request. The fields are copied one by one, which takes a fifth of the time of
 * `Object.assign`. The methods are those of the class, so a request makes no functions.
 */
export class KeyedDecision implements RequestDecision {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly retryAfter: number
  readonly resetAfter: number
  readonly policy: string
  readonly policies: readonly Verdict[]
  readonly source: Source
  declare readonly at?: number
  declare readonly tried?: NonNullable<Decision['tried']>
  readonly key: Key | undefined
  /** The limiter of the request's plan. Undefined if the request is exempt. */
  readonly #limiter: RateLimiter | undefined
  /** Undefined if the middleware has no option `settle`. */
  readonly #units: Settles | undefined

  constructor(decision: Decision, key: Key | undefined, limiter: RateLimiter | undefined, units: Settles | undefined) {
    this.allowed = decision.allowed
    this.limit = decision.limit
    this.remaining = decision.remaining
    this.retryAfter = decision.retryAfter
    this.resetAfter = decision.resetAfter
    this.policy = decision.policy
    this.policies = decision.policies
    this.source = decision.source
    if (decision.at !== undefined) this.at = decision.at
    if (decision.tried !== undefined) this.tried = decision.tried
    this.key = key
    this.#limiter = limiter
    this.#units = units
  }

  async settle(actual: Units): Promise<void> {
    if (this.#limiter === undefined) return
    if (this.#units === undefined) throw notSettling()
    await this.#units.settle(actual)
  }

  async reset(): Promise<void> {
    if (this.#hasStates(this.#limiter)) await this.#limiter.reset(this.key as Key)
  }

  async ban(duration: Duration, options?: BanOptions): Promise<void> {
    if (this.#hasStates(this.#limiter)) await this.#limiter.ban(this.key as Key, duration, options)
  }

  /** False for an exempt request, and under the plan without limits, which has no states. */
  #hasStates(limiter: RateLimiter | undefined): limiter is RateLimiter {
    return limiter !== undefined && limiter.policies.length > 0
  }
}

const exempt: Decision = {
  allowed: true,
  limit: Infinity,
  remaining: Infinity,
  retryAfter: 0,
  resetAfter: 0,
  policy: 'exempt',
  policies: [],
  source: 'store',
}

/** Puts decisions where the application reads them: with the option `attach`, or else as the framework's adapter does. */
export class Attachment<Request, Response> {
  readonly #framework: Framework<Request, Response>
  readonly #attach: GuardOptions<Request, Response>['attach']
  /**
   * The last decision. If a request already has this decision, the request passes this middleware a second time. The request itself
   * is not stored, because it would then stay in memory.
   */
  #latest: RequestDecision | undefined
  readonly #counted: CountedRequests<Request, Response>

  constructor(
    framework: Framework<Request, Response>,
    attach: GuardOptions<Request, Response>['attach'],
    counted: CountedRequests<Request, Response>,
  ) {
    this.#framework = framework
    this.#counted = counted
    this.#attach = hook('(decision, request) => ...')(attach, 'attach')
  }

  put(decision: RequestDecision, request: Request, response: Response): void {
    if (this.#attach !== undefined) {
      this.#attach(decision, request, response)
      return
    }
    if (this.#latest !== undefined && this.#framework.attached?.(request) === this.#latest) warnOfRepeatedUse()
    this.#latest = decision
    this.#framework.attach(request, response, decision)
  }

  /** Replaces the decision on a request by one with another cost. */
  replace(decision: RequestDecision, request: Request, response: Response): void {
    this.#latest = undefined
    this.put(decision, request, response)
  }

  /** Admits a request that is not limited. An earlier decision, of another limiter, stays on the request. Returns true. */
  exempt(request: Request, response: Response): true {
    this.#counted.addExempt(request)
    if (this.#attach !== undefined || !this.#framework.attached?.(request)) {
      this.put(new KeyedDecision(exempt, undefined, undefined, undefined), request, response)
    }
    return true
  }

  /** Admits a request that nobody counted, because the store failed. Returns true. */
  uncounted(request: Request, response: Response): true {
    this.put(new KeyedDecision({ ...exempt, source: 'open' }, undefined, undefined, undefined), request, response)
    return true
  }
}

function warnOfRepeatedUse(): void {
  warnOnce(
    'HEADGATE_TWICE',
    'A request passed the same rate limiter twice, and counted twice. Use the middleware once for each route: in ' +
      'app.use(limit), or on the route. For another limit on the route, make another middleware. For another cost on the route, ' +
      'write limit.cost(5) there.',
  )
}

function notSettling(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    'settle corrects the cost of a request only if the middleware has the option settle: true. Add it: rateLimit({ ..., settle: true }).',
  )
}
