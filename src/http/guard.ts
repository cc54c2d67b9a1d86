import type { Decision } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import { decide, type Key, type RateLimiter } from '../limiter.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import { isPromise } from '../maybe-promise.ts'
import type { Reservation } from '../reservation.ts'
import type { CallExtras } from '../stores/store.ts'
import { reason, warnOnce } from '../warn.ts'
import { type Cost, checkedCost, costOf } from './cost.ts'
import { Enforcement } from './enforcement.ts'
import { Events } from './events.ts'
import { Exemptions, type Way } from './exemptions.ts'
import type { Framework, RequestDecision } from './framework.ts'
import { Gate } from './gate.ts'
import { Headers } from './headers/headers.ts'
import { HeldUnits } from './held-units.ts'
import { extractKey, type KeyExtractor } from './keys/extractors.ts'
import { extractorsOf, type GuardOptions, inheritedOf, type RateLimitArgument, readOptions } from './options.ts'
import { Refusing } from './refusing.ts'

/**
 * The HTTP part that no framework owns: from a request to keys, a decision, the response fields, and maybe a refusal.
 * It stays synchronous from end to end when the key extractors and the store do. What has to wait has functions of its
 * own: a closure anywhere in a function costs every call of it an allocation, also where it is not reached.
 */
export class Guard<Request, Response> extends Gate<Request, Response> {
  readonly limiter: RateLimiter
  /** What it was told that a limit within its reach inherits. */
  readonly options: GuardOptions<Request, Response>
  readonly #framework: Framework<Request, Response>
  readonly #entry: Exemptions<Request, Response> | undefined
  readonly #extractors: readonly KeyExtractor<Request>[]
  /** The only one, if it is. */
  readonly #extractor: KeyExtractor<Request> | undefined
  readonly #cost: Cost<Request>
  readonly #holding: HeldUnits<Request, Response> | undefined
  readonly #headers: Headers
  readonly #enforcement: Enforcement
  readonly #events: Events<Request, Response>
  readonly #refusing: Refusing<Request, Response>

  /** @throws HeadgateError for any option that cannot be what it is */
  constructor(
    framework: Framework<Request, Response>,
    what: RateLimitArgument<Request, Response>,
    more: GuardOptions<Request, Response> = {},
  ) {
    super()
    const { limiter, options } = readOptions(what, more)
    this.limiter = limiter
    this.options = inheritedOf(options)
    this.#framework = framework
    const entry = new Exemptions(framework, options)
    this.#entry = entry.needed ? entry : undefined
    this.#extractors = extractorsOf(options.keys, limiter.scopes, options.keys !== more.keys)
    this.#extractor = this.#extractors.length === 1 ? this.#extractors[0] : undefined
    this.#cost = costOf(options.cost)
    const holding = new HeldUnits(limiter, framework, options, (...failure) => this.#failedToSettle(...failure))
    this.#holding = holding.needed ? holding : undefined
    this.#headers = new Headers(options.headers ?? (options.shadow ? false : 'legacy'), limiter.policies)
    this.#enforcement = new Enforcement(options.shadow, options.enforce)
    this.#events = new Events(limiter.name, options)
    this.#refusing = new Refusing(framework, options, limiter)
  }

  /**
   * Throws or rejects with what `skip`, a key extractor, `cost`, the store or `refuse` threw.
   */
  check(request: Request, response: Response): MaybePromise<boolean> {
    if (this.#entry === undefined) return this.#limit(request, response)
    const way = this.#entry.of(request)
    return isPromise(way) ? this.#enterLater(way, request, response) : this.#enter(way, request, response)
  }

  async #enterLater(way: Promise<Way>, request: Request, response: Response): Promise<boolean> {
    return this.#enter(await way, request, response)
  }

  #enter(way: Way, request: Request, response: Response): MaybePromise<boolean> {
    if (way === 'limit') return this.#limit(request, response)
    return way === 'pass' || this.#refusing.deny(request, response)
  }

  #limit(request: Request, response: Response): MaybePromise<boolean> {
    const extractor = this.#extractor
    const key = extractor === undefined ? this.#keys(request) : extractKey(extractor, request, this.#framework)
    return isPromise(key) ? this.#priceLater(key, request, response) : this.#price(key, request, response)
  }

  async #priceLater(key: Promise<Key>, request: Request, response: Response): Promise<boolean> {
    return this.#price(await key, request, response)
  }

  #keys(request: Request): MaybePromise<Key> {
    const keys = this.#extractors.map((extractor) => extractKey(extractor, request, this.#framework))
    return keys.some(isPromise) ? Promise.all(keys).then((all) => this.#record(all)) : this.#record(keys as string[])
  }

  #record(keys: readonly string[]): Record<string, string> {
    return Object.fromEntries(this.limiter.scopes.map((scope, n) => [scope, keys[n] as string]))
  }

  #price(key: Key, request: Request, response: Response): MaybePromise<boolean> {
    const cost = this.#cost
    if (typeof cost === 'number') return this.#take(key, cost, request, response)
    const units = cost(request, this.#framework)
    if (isPromise(units)) return this.#takeLater(key, units, request, response)
    return this.#take(key, checkedCost(units, 'What cost returns'), request, response)
  }

  async #takeLater(key: Key, units: Promise<number>, request: Request, response: Response): Promise<boolean> {
    return this.#take(key, checkedCost(await units, 'What cost returns'), request, response)
  }

  #take(key: Key, cost: number, request: Request, response: Response): MaybePromise<boolean> {
    if (this.#holding !== undefined) return this.#hold(this.#holding, key, cost, request, response)
    let decision: MaybePromise<Decision>
    try {
      decision = decide(this.limiter, key, cost, this.#extras(key, request, response))
    } catch (error) {
      return this.#failed(error, key, request, response)
    }
    if (isPromise(decision)) return this.#answerLater(decision, key, request, response)
    return this.#answer(decision, key, request, response)
  }

  async #answerLater(later: Promise<Decision>, key: Key, request: Request, response: Response): Promise<boolean> {
    let decision: Decision
    try {
      decision = await later
    } catch (error) {
      return this.#failed(error, key, request, response)
    }
    return this.#answer(decision, key, request, response)
  }

  #hold(
    holding: HeldUnits<Request, Response>,
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
    let reservation: MaybePromise<Reservation>
    try {
      reservation = holding.book(key, cost, this.#extras(key, request, response), this.#enforcement.on(key))
    } catch (error) {
      return this.#failed(error, key, request, response)
    }
    if (!isPromise(reservation)) return answer(reservation)
    return reservation.then(answer, (error) => this.#failed(error, key, request, response))
  }

  #answer(decision: RequestDecision, key: Key, request: Request, response: Response): MaybePromise<boolean> {
    const framework = this.#framework
    const { allowed } = decision
    framework.attach(request, response, decision)
    if (this.#events.listens(allowed)) {
      this.#events.decided(decision, key, this.#enforcement.on(key), request, response)
    }
    const open = !framework.headersSent(response)
    if (open) this.#headers.write(decision, framework, response, key)
    if (allowed || !this.#enforcement.on(key)) return true
    return open ? this.#refusing.refuse(decision, request, response) : this.#refusing.tooLate(response)
  }

  #extras(key: Key, request: Request, response: Response): CallExtras {
    const { details } = this.#headers
    return this.limiter.store.synchronous ? details : this.#events.extras(details, key, request, response)
  }

  /**
   * 503 where that is the choice. Misuse that the limiter found is no failure of the store; what a store throws that
   * answers at once goes on its way.
   */
  #failed(error: unknown, key: Key, request: Request, response: Response): boolean {
    const code = error instanceof HeadgateError ? error.code : 'HEADGATE_STORE'
    if (code !== 'HEADGATE_STORE_UNAVAILABLE') {
      if (code.startsWith('HEADGATE_STORE')) this.#events.storeFailed(error, key, request, response)
      throw error
    }
    if (!this.#enforcement.on(key)) return true
    return this.#refusing.unavailable((error as HeadgateError).retryAfter, request, response)
  }

  #failedToSettle(error: unknown, key: Key, request: Request, response: Response): void {
    warnOnce('HEADGATE_SETTLE', `The store failed to settle a request, which stays as it was. ${reason(error)}`)
    const told = error instanceof HeadgateError && error.code === 'HEADGATE_STORE_UNAVAILABLE'
    if (!told) this.#events.storeFailed(error, key, request, response)
  }
}
