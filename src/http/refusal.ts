import type { Decision } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import type { RateLimiter } from '../limiter.ts'
import { isPromise, type MaybePromise } from '../maybe-promise.ts'
import { flag, hook } from '../option-readers.ts'
import type { Framework } from './framework.ts'
import type { GuardOptions } from './guard-options.ts'
import {
  type Body,
  denialBody,
  type Labels,
  labelsOf,
  refusalBody,
  refusalProblem,
  unavailableBody,
} from './refusal-body.ts'
import { retryAfterSeconds } from './retry-after.ts'

/** Sends the responses of requests that may not go on. */
export class Refusal<Request, Response> {
  readonly #framework: Framework<Request, Response>
  readonly #penaltyName: string | undefined
  /** The status during a block of the penalty. */
  readonly #blockStatus: 403 | 429
  readonly #problem: boolean
  readonly #labels: Labels
  readonly #refuse: GuardOptions<Request, Response>['refuse']

  /** @param limiter needed to refuse; without it, requests are denied */
  constructor(
    framework: Framework<Request, Response>,
    options: GuardOptions<Request, Response>,
    limiter?: RateLimiter,
  ) {
    const penalty = limiter?.penalty
    this.#framework = framework
    this.#penaltyName = penalty === undefined ? undefined : (penalty.name ?? 'penalty')
    this.#blockStatus = penalty?.status ?? 429
    this.#problem = flag()(options.problem, 'problem')
    this.#labels = labelsOf(limiter?.policies ?? [])
    this.#refuse = hook('(decision, request, response) => ...')(options.refuse, 'refuse')
  }

  /**
   * Responds with 429, or the status of a block. A cache must not store the response (RFC 6585, 4). True if `refuse` lets the
   * request go on.
   */
  refuse(decision: Decision, request: Request, response: Response): MaybePromise<boolean> {
    const framework = this.#framework
    const status = this.#isBlock(decision) ? this.#blockStatus : 429
    this.#setStatus(response, status)
    const seconds = retryAfterSeconds(decision.retryAfter)
    if (seconds !== undefined) framework.setHeader(response, 'Retry-After', String(seconds))
    if (this.#refuse !== undefined) {
      const returned = this.#refuse(decision, request, response)
      return isPromise(returned)
        ? returned.then((value) => this.#sendReturned(response, value))
        : this.#sendReturned(response, returned)
    }
    if (this.#problem) return this.#send(response, refusalProblem(decision, status, this.#labels))
    return this.#send(response, refusalBody(decision, status, framework.header(request, 'accept'), this.#labels))
  }

  /** True during a block, by hand or by the penalty, also if another policy makes the key wait longer. */
  #isBlock({ policies, blocked }: Decision): boolean {
    return blocked !== undefined || policies.some(({ name, allowed }) => name === this.#penaltyName && !allowed)
  }

  /** True from `refuse` lets the request go on. */
  #sendReturned(response: Response, value: unknown): boolean {
    const framework = this.#framework
    if (value !== true) framework.returned?.(response, value)
    else if (framework.clearRefusal === undefined) framework.setStatus(response, 200)
    else framework.clearRefusal(response)
    return value === true
  }

  /** Ends a request whose response has already begun: no refusal can be sent, and no handler may run. */
  tooLate(response: Response): false {
    if (this.#framework.complete(response)) return false
    throw new HeadgateError(
      'HEADGATE_HEADERS_SENT',
      'A request was refused after its response had begun. Put the limiter before the middleware that responds.',
    )
  }

  /** Responds with 403, for an address on the deny list. */
  deny(request: Request, response: Response): false {
    if (this.#framework.headersSent(response)) return this.tooLate(response)
    this.#setStatus(response, 403)
    return this.#send(response, denialBody(this.#framework.header(request, 'accept'), this.#problem))
  }

  /** Responds with 503, for a request that the store cannot decide and that must not be admitted. */
  unavailable(retryAfter: number | undefined, request: Request, response: Response): false {
    if (this.#framework.headersSent(response)) return this.tooLate(response)
    this.#setStatus(response, 503)
    const seconds = retryAfterSeconds(retryAfter ?? 1000) as number
    this.#framework.setHeader(response, 'Retry-After', String(seconds))
    return this.#send(response, unavailableBody(seconds, this.#framework.header(request, 'accept'), this.#problem))
  }

  #setStatus(response: Response, status: number): void {
    this.#framework.setStatus(response, status)
    this.#framework.setHeader(response, 'Cache-Control', 'no-store')
  }

  #send(response: Response, { type, body }: Body): false {
    this.#framework.send(response, type, body)
    return false
  }
}
