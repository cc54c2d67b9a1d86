import { flag, HeadgateError, hook, isPromise, type MaybePromise } from '../../common/index.ts'
import type { RateLimiter } from '../../limiter/index.ts'
import type { Decision } from '../../policy/index.ts'
import type { Framework } from '../framework.ts'
import type { GuardOptions } from '../guard-options.ts'
import { retryAfterSeconds } from '../retry-after.ts'
import { clientRefusal } from './client-refusal.ts'
import {
  type Body,
  contentTypes,
  denialBody,
  type Form,
  prefersJson,
  refusalBody,
  unavailableBody,
} from './refusal-body.ts'

/** What a refusal changes on a response: the status, and the fields by name. A value is undefined if the application has set none. */
interface Before {
  readonly status: number | undefined
  readonly fields: readonly (readonly [name: string, value: string | undefined])[]
}

/** Sends the responses to refused requests. */
export class Refusal<Request, Response> {
  readonly #framework: Framework<Request, Response>
  readonly #problem: boolean
  readonly #refuse: GuardOptions<Request, Response>['refuse']

  constructor(framework: Framework<Request, Response>, options: GuardOptions<Request, Response>) {
    this.#framework = framework
    this.#problem = flag()(options.problem, 'problem')
    this.#refuse = hook('(decision, request, response) => ...')(options.refuse, 'refuse')
  }

  /**
   * Sends the response to a refused request, with status 429, or the status that the option `penalty` sets for a ban of the key. A cache
   * must not store the response (RFC 6585, 4). Returns true if the option `refuse` admits the request after all.
   */
  refuse(decision: Decision, limiter: RateLimiter, request: Request, response: Response): MaybePromise<boolean> {
    const status = limiter.penalty?.status === 403 && isBan(decision, limiter) ? 403 : 429
    const { policies } = limiter
    const told = clientRefusal(decision, policies)
    const before = this.#refuse && this.#beforeRefusal(response)
    this.#begin(response, status, retryAfterSeconds(told.retryAfter))
    const bodyOf = (form: Form) => refusalBody(form, decision, told, status, policies)
    if (this.#refuse === undefined) return this.#send(request, response, bodyOf)
    const answer = (value: unknown) =>
      value === true ? this.#admit(response, before) : this.#sendReturned(value, request, response, bodyOf)
    const returned = this.#refuse(decision, request, response)
    // The reply of Fastify has a method `then`, but is no promise.
    return isPromise(returned) && returned !== response ? returned.then(answer) : answer(returned)
  }

  #beforeRefusal(response: Response): Before {
    const framework = this.#framework
    const fields = ['Cache-Control', 'Retry-After'].map(
      (name) => [name, framework.responseHeader?.(response, name)] as const,
    )
    return { status: framework.ownStatus?.(response), fields }
  }

  /** Admits a request after all, whose response gets back what the application has set before. */
  #admit(response: Response, { status, fields = [] }: Partial<Before> = {}): true {
    const framework = this.#framework
    if (framework.clearRefusal === undefined) framework.setStatus(response, 200)
    else framework.clearRefusal(response)
    if (status !== undefined) framework.setStatus(response, status)
    for (const [name, value] of fields) {
      if (value === undefined) continue
      if (framework.restoreHeader === undefined) framework.setHeader(response, name, value)
      else framework.restoreHeader(response, name, value)
    }
    return true
  }

  /**
   * Handles the value that the option `refuse` returned. False sends the built-in response. For any other value, the framework's adapter
   * decides what to send (`Framework.returned`).
   */
  #sendReturned(value: unknown, request: Request, response: Response, bodyOf: (form: Form) => Body): boolean {
    const framework = this.#framework
    const none = value === false ? !framework.headersSent(response) : framework.returned?.(response, value) === false
    return none && this.#send(request, response, bodyOf)
  }

  /**
   * Handles a refused request whose response has already begun. Throws, so that no handler runs, unless the response is already complete.
   */
  tooLate(response: Response): false {
    if (this.#framework.complete(response)) return false
    throw new HeadgateError(
      'HEADGATE_HEADERS_SENT',
      'A request was refused after its response had begun. Put the limiter before the middleware that responds.',
    )
  }

  /** Responds with status 403, because the option `deny` excludes the client, or because the request has no address. */
  deny(request: Request, response: Response): false {
    if (this.#framework.headersSent(response)) return this.tooLate(response)
    this.#begin(response, 403)
    return this.#send(request, response, denialBody)
  }

  /** Responds with status 503, because the store cannot decide the request and the request must not be admitted. */
  unavailable(retryAfter: number | undefined, request: Request, response: Response): false {
    if (this.#framework.headersSent(response)) return this.tooLate(response)
    const seconds = retryAfterSeconds(retryAfter ?? 1000) as number
    this.#begin(response, 503, seconds)
    return this.#send(request, response, (form) => unavailableBody(form, seconds))
  }

  #begin(response: Response, status: number, seconds?: number): void {
    const framework = this.#framework
    framework.setStatus(response, status)
    framework.setHeader(response, 'Cache-Control', 'no-store')
    if (seconds !== undefined) framework.setHeader(response, 'Retry-After', String(seconds))
  }

  #send(request: Request, response: Response, bodyOf: (form: Form) => Body): false {
    const framework = this.#framework
    const asJson = framework.jsonOnly || prefersJson(framework.header(request, 'accept'))
    const form = this.#problem ? 'problem' : asJson ? 'json' : 'text'
    const body = bodyOf(form)
    if (typeof body === 'string') framework.send(response, contentTypes[form], `${body}\n`)
    else framework.send(response, contentTypes[form], JSON.stringify(body), body)
    return false
  }
}

/** True if the key is banned with `ban` or by the option `penalty`, even if another policy makes the key wait longer. */
function isBan({ policies, ban }: Decision, { penalty }: RateLimiter): boolean {
  const penaltyName = penalty?.name ?? 'penalty'
  return ban !== undefined || policies.some(({ name, allowed }) => name === penaltyName && !allowed)
}
