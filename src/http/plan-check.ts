import type { Decision } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import { type CallExtras, calls, decide, type Key, type RateLimiter, type Units } from '../limiter.ts'
import { isPromise, type MaybePromise } from '../maybe-promise.ts'
import type { Reservation } from '../reservation.ts'
import { reason, warnOnce } from '../warn.ts'
import type { Attachment } from './attachment.ts'
import { type Cost, checkedCost, readCost } from './cost.ts'
import type { Enforcement } from './enforcement.ts'
import type { Events } from './events.ts'
import type { Framework, RequestDecision } from './framework.ts'
import type { FunctionDeadline } from './function-deadline.ts'
import type { GuardOptions } from './guard-options.ts'
import { Headers } from './headers/headers.ts'
import { HeldUnits } from './held-units.ts'
import { mayLackAddress } from './keys/extract-key.ts'
import { findKey } from './keys/find-key.ts'
import type { KeyExtractor } from './keys/key-extractor.ts'
import { warnOfNoAddress } from './keys/no-address.ts'
import { Refusal } from './refusal.ts'

/** What all plans of a guard share. */
export interface GuardParts<Request, Response> {
  readonly framework: Framework<Request, Response>
  readonly options: GuardOptions<Request, Response>
  readonly attachment: Attachment<Request, Response>
  readonly deadline: FunctionDeadline
  readonly enforcement: Enforcement
  readonly events: Events<Request, Response>
}

/**
 * The check of requests under one plan:
 *
 *     key -> cost -> decide -> respond: attach, notify, headers, refuse
 */
export class PlanCheck<Request, Response> {
  readonly #limiter: RateLimiter
  readonly #framework: Framework<Request, Response>
  readonly #extractors: readonly KeyExtractor<Request, Response>[]
  readonly #cost: Cost<Request, Response>
  readonly #attachment: Attachment<Request, Response>
  readonly #deadline: FunctionDeadline
  readonly #heldUnits: HeldUnits<Request, Response> | undefined
  readonly #headers: Headers
  /** Of a call whose store error nobody listens to: the same for every request. */
  readonly #extras: CallExtras
  readonly #enforcement: Enforcement
  readonly #events: Events<Request, Response>
  readonly #refusal: Refusal<Request, Response>

  /**
   * @param extractors one for each scope of the limiter
   * @param one false if the limiter is one of several plans: then a cost may be above the limit of one of them
   * @throws HeadgateError if an option is invalid
   */
  constructor(
    { framework, options, attachment, deadline, enforcement, events }: GuardParts<Request, Response>,
    limiter: RateLimiter,
    extractors: readonly KeyExtractor<Request, Response>[],
    one: boolean,
  ) {
    this.#limiter = limiter
    this.#framework = framework
    this.#extractors = extractors
    this.#cost = readCost(options.cost, one ? limiter.policies : [])
    this.#attachment = attachment
    this.#deadline = deadline
    const heldUnits = new HeldUnits(limiter, framework, options, (...failure) => this.#settleFailed(...failure))
    this.#heldUnits = heldUnits.needed ? heldUnits : undefined
    const { headers = options.shadow ? false : 'legacy' } = options
    this.#headers = new Headers(headers, limiter.policies)
    const { details } = this.#headers
    this.#extras = limiter.store.synchronous ? { details } : { details, ...events.choice }
    this.#enforcement = enforcement
    this.#events = events
    this.#refusal = new Refusal(framework, options, limiter)
  }

  /** As `Guard.check`. */
  check(request: Request, response: Response): MaybePromise<boolean> {
    const key = findKey(this.#extractors, this.#limiter.scopes, request, this.#framework, response)
    return isPromise(key) ? this.#findCostLater(key, request, response) : this.#findCost(key, request, response)
  }

  #findCost(key: Key | false, request: Request, response: Response): MaybePromise<boolean> {
    if (key === false) return true // an extractor has exempted the request
    if (mayLackAddress(key) && this.#hasLeft(key, request, response)) return this.#refusal.deny(request, response)
    const cost = this.#cost
    if (typeof cost !== 'function') return this.#decide(key, cost, request, response)
    const units = cost(request, this.#framework, response)
    if (isPromise(units)) return this.#decideLater(key, units, request, response)
    return this.#decide(key, checkedCost(units, 'What cost returns'), request, response)
  }

  #decide(key: Key, cost: Units, request: Request, response: Response): MaybePromise<boolean> {
    if (this.#heldUnits !== undefined) return this.#reserve(this.#heldUnits, key, cost, request, response)
    let decision: MaybePromise<Decision>
    try {
      decision = decide(this.#limiter, key, cost, this.#extrasFor(key, request, response))
    } catch (error) {
      return this.#failed(error, key, request, response)
    }
    if (isPromise(decision)) return this.#respondLater(decision, key, request, response)
    return this.#respond(decision, key, request, response)
  }

  #respond(decision: RequestDecision, key: Key, request: Request, response: Response): MaybePromise<boolean> {
    const framework = this.#framework
    const { allowed } = decision
    this.#attachment.put(decision, request, response)
    if (this.#events.listens(allowed)) {
      this.#events.decided(decision, key, this.#enforcement.appliesTo(key), request, response)
    }
    const open = !framework.headersSent(response)
    if (open) this.#headers.write(decision, framework, response, key)
    if (allowed || !this.#enforcement.appliesTo(key)) return true
    return open ? this.#refusal.refuse(decision, request, response) : this.#refusal.tooLate(response)
  }

  /**
   * True for a request without an address, which must not be admitted: its client reset the connection, and all such
   * clients would share one quota. A request over a unix socket has no address by design.
   */
  #hasLeft(key: Key, request: Request, response: Response): boolean {
    const framework = this.#framework
    if (framework.address(request) !== undefined) return false
    warnOfNoAddress(framework, request)
    const shared = framework.unaddressed?.(request) === true
    const enforced = !shared && this.#enforcement.appliesTo(key)
    this.#events.noAddress(shared, enforced, request, response)
    return enforced
  }

  async #findCostLater(key: Promise<Key | false>, request: Request, response: Response): Promise<boolean> {
    return this.#findCost(await this.#deadline.bound(key, 'keys'), request, response)
  }

  async #decideLater(key: Key, units: Promise<Units>, request: Request, response: Response): Promise<boolean> {
    const cost = checkedCost(await this.#deadline.bound(units, 'cost'), 'What cost returns')
    return this.#decide(key, cost, request, response)
  }

  #respondLater(later: Promise<Decision>, key: Key, request: Request, response: Response): Promise<boolean> {
    return later.then(
      (decision) => this.#respond(decision, key, request, response),
      (error) => this.#failed(error, key, request, response),
    )
  }

  /** `#decide` with a reservation, for `settle`, `count`, `delay` and units in flight. */
  #reserve(
    heldUnits: HeldUnits<Request, Response>,
    key: Key,
    cost: Units,
    request: Request,
    response: Response,
  ): MaybePromise<boolean> {
    const reserved = (reservation: Reservation) => {
      const held = { reservation, key, cost, request, response }
      const admitted = reservation.allowed && heldUnits.hold(held)
      const goesOn = this.#respond(heldUnits.decision(held), key, request, response)
      return reservation.allowed ? admitted : goesOn
    }
    let reservation: MaybePromise<Reservation>
    try {
      reservation = heldUnits.reserve(
        key,
        cost,
        this.#extrasFor(key, request, response),
        this.#enforcement.appliesTo(key),
      )
    } catch (error) {
      return this.#failed(error, key, request, response)
    }
    if (!isPromise(reservation)) return reserved(reservation)
    return reservation.then(reserved, (error) => this.#failed(error, key, request, response))
  }

  #extrasFor(key: Key, request: Request, response: Response): CallExtras {
    const { synchronous } = this.#limiter.store
    const extras = synchronous ? this.#extras : this.#events.extras(this.#extras, key, request, response)
    return calls.hasSubscribers && !this.#enforcement.appliesTo(key) ? { ...extras, enforced: false } : extras
  }

  /**
   * Responds with 503 if the action on a store error is `'deny'`. Any other error is thrown again: with `'throw'` the
   * store's, unless refusals of this key are not enforced.
   */
  #failed(error: unknown, key: Key, request: Request, response: Response): boolean {
    const code = error instanceof HeadgateError ? error.code : 'HEADGATE_STORE'
    if (code !== 'HEADGATE_STORE_UNAVAILABLE') {
      if (!code.startsWith('HEADGATE_STORE')) throw error
      // An error of a store that answers later was reported when the choice was made.
      if (!this.#limiter.store.synchronous && !this.#enforcement.appliesTo(key)) return true
      if (this.#limiter.store.synchronous) this.#events.storeFailed(error, key, request, response)
      throw error
    }
    if (!this.#enforcement.appliesTo(key)) return true
    return this.#refusal.unavailable((error as HeadgateError).retryAfter, request, response)
  }

  #settleFailed(error: unknown, key: Key, request: Request, response: Response): void {
    warnOnce('HEADGATE_SETTLE', `The store failed to settle or free units, so they stay as they were. ${reason(error)}`)
    if (this.#limiter.store.synchronous) this.#events.storeFailed(error, key, request, response)
  }
}
