import type { Decision } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import type { RateLimiter } from '../limiter.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import { isPromise } from '../maybe-promise.ts'
import { callback, flag } from '../options.ts'
import type { Framework } from './framework.ts'
import type { GuardOptions } from './options.ts'
import { type Body, denial, quotaProblem, refusal, retryAfterSeconds, unavailable } from './refusal.ts'

/** Answers the requests that go no further. */
export class Refusing<Request, Response> {
  readonly #framework: Framework<Request, Response>
  /** The penalty's name, and the status during a block. */
  readonly #blocking: string | undefined
  readonly #blocked: 403 | 429
  readonly #problem: boolean
  readonly #refuse: GuardOptions<Request, Response>['refuse']

  constructor(
    framework: Framework<Request, Response>,
    options: GuardOptions<Request, Response>,
    { penalty }: Pick<RateLimiter, 'penalty'>,
  ) {
    this.#framework = framework
    this.#blocking = penalty === undefined ? undefined : (penalty.name ?? 'penalty')
    this.#blocked = penalty?.status ?? 429
    this.#problem = flag(options.problem, 'problem')
    this.#refuse = callback(options.refuse, 'refuse', '(decision, request, response) => ...')
  }

  /** 429, or what a block is told by; in the application's own words if it has any; never stored by a cache (RFC 6585, 4). */
  refuse(decision: Decision, request: Request, response: Response): MaybePromise<false> {
    const framework = this.#framework
    const status = this.#blocks(decision) ? this.#blocked : 429
    this.#status(response, status)
    const seconds = retryAfterSeconds(decision.retryAfter)
    if (seconds !== undefined) framework.setHeader(response, 'Retry-After', String(seconds))
    if (this.#refuse === undefined) {
      const accept = framework.header(request, 'accept')
      return this.#send(response, this.#problem ? quotaProblem(decision, status) : refusal(decision, status, accept))
    }
    const answer = this.#refuse(decision, request, response)
    return isPromise(answer)
      ? answer.then((value) => this.#answered(response, value))
      : this.#answered(response, answer)
  }

  /** Another policy may make the key wait for longer than the block. */
  #blocks({ policies }: Decision): boolean {
    return policies.some(({ name, allowed }) => name === this.#blocking && !allowed)
  }

  #answered(response: Response, value: unknown): false {
    this.#framework.returned?.(response, value)
    return false
  }

  /** Someone else's answer is under way: nothing can be refused any more, but the handler must not run either. */
  tooLate(response: Response): false {
    if (this.#framework.complete(response)) return false
    throw new HeadgateError(
      'HEADGATE_HEADERS_SENT',
      'A request was refused when its response was under way already. Put the limiter before what answers.',
    )
  }

  /** 403, for an address on the deny list. */
  deny(request: Request, response: Response): false {
    if (this.#framework.headersSent(response)) return this.tooLate(response)
    this.#status(response, 403)
    return this.#send(response, denial(this.#framework.header(request, 'accept'), this.#problem))
  }

  /** 503, for a request that the store cannot decide and that is not to be let in. */
  unavailable(retryAfter: number | undefined, request: Request, response: Response): false {
    if (this.#framework.headersSent(response)) return this.tooLate(response)
    this.#status(response, 503)
    const seconds = retryAfterSeconds(retryAfter ?? 1000) as number
    this.#framework.setHeader(response, 'Retry-After', String(seconds))
    return this.#send(response, unavailable(seconds, this.#framework.header(request, 'accept'), this.#problem))
  }

  #status(response: Response, status: number): void {
    this.#framework.setStatus(response, status)
    this.#framework.setHeader(response, 'Cache-Control', 'no-store')
  }

  #send(response: Response, { type, body }: Body): false {
    this.#framework.send(response, type, body)
    return false
  }
}
