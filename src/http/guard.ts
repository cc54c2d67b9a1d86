import type { Decision } from '../decision.ts'
import type { Key, RateLimiter } from '../limiter.ts'
import type { Reservation } from '../reservation.ts'
import type { MaybePromise } from '../stores/store.ts'
import { callback, flag } from './check.ts'
import { type Cost, checkedCost, costOf } from './cost.ts'
import type { Framework, RequestDecision } from './framework.ts'
import { Headers } from './headers/headers.ts'
import { Holding } from './holding.ts'
import { extractKey, isPromise, type KeyExtractor } from './keys.ts'
import { extractorsOf, type GuardOptions, inherited, type RateLimitArgument, readOptions } from './options.ts'
import { quotaProblem, refusal, retryAfterSeconds } from './refusal.ts'
import { reason, warnOnce } from './warn.ts'

/**
 * The HTTP part that no framework owns: from a request to keys, a decision, the response fields, and maybe a refusal.
 * It stays synchronous from end to end when the key extractors and the store do.
 */
export class Guard<Request, Response> {
  readonly limiter: RateLimiter
  /** What it was told that a limit within its reach inherits. */
  readonly options: GuardOptions<Request, Response>
  readonly #framework: Framework<Request, Response>
  readonly #extractors: readonly KeyExtractor<Request>[]
  readonly #headers: Headers
  readonly #problem: boolean
  readonly #cost: Cost<Request>
  readonly #holding: Holding<Request, Response> | undefined
  readonly #refuse: GuardOptions<Request, Response>['refuse']

  /** @throws HeadgateError for any option that cannot be what it is */
  constructor(
    framework: Framework<Request, Response>,
    what: RateLimitArgument<Request, Response>,
    more: GuardOptions<Request, Response> = {},
  ) {
    const { limiter, options } = readOptions(what, more)
    this.limiter = limiter
    this.options = Object.fromEntries(inherited.map((option) => [option, options[option]]))
    this.#framework = framework
    this.#extractors = extractorsOf(options.keys, limiter.scopes, options.keys !== more.keys)
    this.#headers = new Headers(options.headers ?? 'legacy', limiter.policies)
    this.#problem = flag(options.problem, 'problem')
    this.#cost = costOf(options.cost)
    const holding = new Holding(limiter, framework, options, (error) => this.#failed(error))
    this.#holding = holding.needed ? holding : undefined
    this.#refuse = callback(options.refuse, 'refuse', '(decision, request, response) => ...')
  }

  /**
   * Whether the request may go on; if not, it has been answered, or its client is gone. Throws or rejects with what a key
   * extractor, `cost`, the store or `refuse` threw: the adapter hands that to its framework's error path.
   */
  check(request: Request, response: Response): MaybePromise<boolean> {
    const key = this.#key(request)
    if (isPromise(key)) return key.then((resolved) => this.#price(resolved, request, response))
    return this.#price(key, request, response)
  }

  /** `check` for frameworks that are told to go on by a callback: called if admitted, or with the error. */
  run(request: Request, response: Response, next: (error?: unknown) => void): void {
    let admitted: MaybePromise<boolean>
    try {
      admitted = this.check(request, response)
    } catch (error) {
      next(error)
      return
    }
    if (admitted === true) next()
    else if (admitted !== false) admitted.then((go) => go && next(), next)
  }

  #key(request: Request): MaybePromise<Key> {
    if (this.#extractors.length === 1) {
      return extractKey(this.#extractors[0] as KeyExtractor<Request>, request, this.#framework)
    }
    const keys = this.#extractors.map((extractor) => extractKey(extractor, request, this.#framework))
    return keys.some(isPromise) ? Promise.all(keys).then((all) => this.#record(all)) : this.#record(keys as string[])
  }

  #record(keys: readonly string[]): Record<string, string> {
    return Object.fromEntries(this.limiter.scopes.map((scope, n) => [scope, keys[n] as string]))
  }

  #price(key: Key, request: Request, response: Response): MaybePromise<boolean> {
    const cost = this.#cost
    if (typeof cost === 'number') return this.#take(key, cost, request, response)
    const take = (units: unknown) => this.#take(key, checkedCost(units, 'What cost returns'), request, response)
    const units = cost(request, this.#framework)
    return isPromise(units) ? units.then(take) : take(units)
  }

  #take(key: Key, cost: number, request: Request, response: Response): MaybePromise<boolean> {
    if (this.#holding !== undefined) return this.#hold(this.#holding, key, cost, request, response)
    const decision = this.limiter.decide(key, cost, this.#headers.details)
    if (isPromise(decision)) return decision.then((resolved) => this.#answer(resolved, key, request, response))
    return this.#answer(decision, key, request, response)
  }

  #hold(
    holding: Holding<Request, Response>,
    key: Key,
    cost: number,
    request: Request,
    response: Response,
  ): MaybePromise<boolean> {
    const answer = (reservation: Reservation) => {
      const held = { reservation, key, request, response }
      const goesOn = this.#answer(holding.decision(held), key, request, response)
      return reservation.allowed ? holding.keep(held) : goesOn
    }
    const reservation = holding.book(key, cost, this.#headers.details, true)
    return isPromise(reservation) ? reservation.then(answer) : answer(reservation)
  }

  #answer(decision: RequestDecision, key: Key, request: Request, response: Response): MaybePromise<boolean> {
    const framework = this.#framework
    framework.attach(request, response, decision)
    const open = !framework.headersSent(response)
    if (open) this.#headers.write(decision, framework, response, key)
    if (decision.allowed) return true
    if (!open) return false
    framework.setStatus(response, 429)
    framework.setHeader(response, 'Cache-Control', 'no-store')
    const seconds = retryAfterSeconds(decision.retryAfter)
    if (seconds !== undefined) framework.setHeader(response, 'Retry-After', String(seconds))
    return this.#refused(decision, request, response)
  }

  #refused(decision: Decision, request: Request, response: Response): MaybePromise<boolean> {
    if (this.#refuse === undefined) {
      const accept = this.#framework.header(request, 'accept')
      const { type, body } = this.#problem ? quotaProblem(decision) : refusal(decision, accept)
      this.#framework.send(response, type, body)
      return false
    }
    const answered = this.#refuse(decision, request, response)
    return isPromise(answered) ? answered.then(() => false) : false
  }

  #failed(error: unknown): void {
    warnOnce('HEADGATE_SETTLE', `The store failed to settle a request, which stays as it was. ${reason(error)}`)
  }
}
