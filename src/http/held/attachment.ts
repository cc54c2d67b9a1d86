import { atOnce, hook, warnOnce } from '../../common/index.ts'
import type { Decision } from '../../policy/index.ts'
import type { Framework, RequestDecision } from '../framework.ts'
import type { GuardOptions } from '../guard-options.ts'
import type { CountedRequests } from './counted-requests.ts'
import { KeyedDecision } from './request-decision.ts'

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

/** Stores decisions where the application reads them: with the option `attach`, or else with the framework's adapter. */
export class Attachment<Request, Response> {
  readonly #framework: Framework<Request, Response>
  readonly #attach: GuardOptions<Request, Response>['attach']
  /**
   * The last decision. If a request already has this decision, the request passes this middleware a second time. The request is not
   * stored here, because a stored request would stay in memory.
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
    this.#framework.keep?.(request, decision)
    if (this.#attach !== undefined) {
      atOnce<unknown>(this.#attach(decision, request, response), 'attach')
      return
    }
    if (this.#latest !== undefined && this.#framework.attached?.(request) === this.#latest) warnOfRepeatedUse()
    this.#latest = decision
    this.#framework.attach(request, response, decision)
  }

  /** Puts another decision of the same limit on a request, without the warning of repeated use. Returns true. */
  replace(decision: RequestDecision, request: Request, response: Response): true {
    this.#latest = undefined
    this.put(decision, request, response)
    return true
  }

  /** Admits a request that is not limited. An earlier decision of another limiter stays on the request. Returns true. */
  exempt(request: Request, response: Response): true {
    this.#counted.addExempt(request)
    const decision = new KeyedDecision(exempt, undefined, undefined, undefined)
    const attaches = this.#attach !== undefined || !this.#framework.attached?.(request)
    if (attaches) this.put(decision, request, response)
    else this.#framework.keep?.(request, decision)
    return true
  }

  /** Admits a request that was not counted, because the store failed. Returns true. */
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
