import type { Decision } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import { type CallExtras, calls, decide, type Key, type RateLimiter, type Units } from '../limiter.ts'
import { isPromise, type MaybePromise } from '../maybe-promise.ts'
import type { Reservation } from '../reservation.ts'
import { reason, warnOnce } from '../warn.ts'
import { Attachment } from './attachment.ts'
import { type Cost, checkedCost, readCost } from './cost.ts'
import { Enforcement } from './enforcement.ts'
import { Events } from './events.ts'
import { type Exemption, Exemptions } from './exemptions.ts'
import type { Framework, RequestDecision } from './framework.ts'
import { FunctionDeadline } from './function-deadline.ts'
import type { GuardOptions } from './guard-options.ts'
import { handle } from './handle.ts'
import { Headers } from './headers/headers.ts'
import { HeldUnits } from './held-units.ts'
import { onPlatform } from './keys/declared-platform.ts'
import { mayLackAddress } from './keys/extract-key.ts'
import { findKey } from './keys/find-key.ts'
import type { KeyExtractor } from './keys/key-extractor.ts'
import { warnOfNoAddress } from './keys/no-address.ts'
import { scopeExtractors } from './keys/scope-extractors.ts'
import type { PolicyArgument } from './rate-limit-options.ts'
import { inheritedOf, readOptions } from './read-options.ts'
import { Refusal } from './refusal.ts'

/** Whose options the defaults of a guard are: the middleware's own, those of the limit around it, or those of all plans. */
export type DefaultsOrigin = 'own' | 'inherited' | 'plans'

/**
 * The HTTP part that no framework owns. A request goes through it in these steps, each a function below:
 *
 *     check -> exempt? -> key -> cost -> decide -> respond: attach, notify, headers, refuse
 *
 * All steps are synchronous if the key extractors and the store are. A step that has to wait is a function of its own,
 * `...Later`, because a closure anywhere in a function makes every call of it allocate, even if the closure is not
 * reached.
 */
export class Guard<Request, Response> {
  readonly limiter: RateLimiter
  /** The options that nested limits inherit. */
  readonly inherited: GuardOptions<Request, Response>
  readonly #framework: Framework<Request, Response>
  readonly #exemptions: Exemptions<Request, Response> | undefined
  readonly #extractors: readonly KeyExtractor<Request, Response>[]
  readonly #cost: Cost<Request, Response>
  readonly #attachment: Attachment<Request, Response>
  readonly #deadline: FunctionDeadline
  readonly #heldUnits: HeldUnits<Request, Response> | undefined
  readonly #headers: Headers
  readonly #enforcement: Enforcement
  readonly #events: Events<Request, Response>
  readonly #refusal: Refusal<Request, Response>

  /**
   * @param defaults options that the argument may override
   * @param origin where the defaults come from. Those of the limit around this one may have keys for other scopes, and
   *   those of plans also a cost above the limit of one of them.
   * @throws HeadgateError if a policy or an option is invalid
   */
  constructor(
    framework: Framework<Request, Response>,
    argument: PolicyArgument<Request, Response>,
    defaults: GuardOptions<Request, Response> = {},
    origin: DefaultsOrigin = 'own',
  ) {
    const { limiter, options } = readOptions(argument, defaults)
    this.limiter = limiter
    this.inherited = inheritedOf(options)
    this.#framework = onPlatform(framework, options.keys)
    const exemptions = new Exemptions(this.#framework, options)
    this.#exemptions = exemptions.needed ? exemptions : undefined
    this.#extractors = scopeExtractors(options.keys, limiter.scopes, origin === 'own' || options.keys !== defaults.keys)
    this.#cost = readCost(options.cost, origin === 'plans' ? [] : limiter.policies)
    this.#attachment = new Attachment(this.#framework, options.attach)
    this.#deadline = new FunctionDeadline(options.functionTimeout)
    const heldUnits = new HeldUnits(limiter, framework, options, (...failure) => this.#settleFailed(...failure))
    this.#heldUnits = heldUnits.needed ? heldUnits : undefined
    this.#headers = new Headers(options.headers ?? (options.shadow ? false : 'legacy'), limiter.policies)
    this.#enforcement = new Enforcement(options.shadow, options.enforce)
    this.#events = new Events(limiter.name, options)
    this.#refusal = new Refusal(framework, options, limiter.penalty, limiter.policies)
  }

  /**
   * True if the request may go on. False if the guard has sent the response, or if its client has left. Throws or
   * rejects with what `skip`, a key extractor, `cost`, the store or `refuse` threw. An adapter gives that, through
   * `asError`, to its framework's error handler.
   */
  check(request: Request, response: Response): MaybePromise<boolean> {
    if (this.#exemptions === undefined) return this.#findKey(request, response)
    return this.#findExemption(this.#exemptions, request, response)
  }

  #findExemption(rules: Exemptions<Request, Response>, request: Request, response: Response): MaybePromise<boolean> {
    const exemption = rules.of(request, response, () => this.#keyOf(request, response))
    return isPromise(exemption)
      ? this.#exemptLater(exemption, request, response)
      : this.#exempt(exemption, request, response)
  }

  /**
   * `check` for frameworks that go on by a callback: `next()` if the request may go on, else `next` with an Error. Returns a
   * promise if something had to be awaited, which resolves when `next` was called or the request is answered.
   */
  handle(request: Request, response: Response, next: (error?: unknown) => void): MaybePromise<void> {
    return handle(this, request, response, next)
  }

  #exempt(exemption: Exemption, request: Request, response: Response): MaybePromise<boolean> {
    if (exemption === 'limited') return this.#findKey(request, response)
    if (exemption === 'exempt') return true
    this.#events.denied(this.#framework, request, response)
    return this.#refusal.deny(request, response)
  }

  #findKey(request: Request, response: Response): MaybePromise<boolean> {
    const key = this.#keyOf(request, response)
    return isPromise(key) ? this.#findCostLater(key, request, response) : this.#findCost(key, request, response)
  }

  #keyOf(request: Request, response: Response): MaybePromise<Key | false> {
    return findKey(this.#extractors, this.limiter.scopes, request, this.#framework, response)
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
      decision = decide(this.limiter, key, cost, this.#extras(key, request, response))
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

  async #exemptLater(exemption: Promise<Exemption>, request: Request, response: Response): Promise<boolean> {
    return this.#exempt(await this.#deadline.bound(exemption, 'skip'), request, response)
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
      reservation = heldUnits.reserve(key, cost, this.#extras(key, request, response), this.#enforcement.appliesTo(key))
    } catch (error) {
      return this.#failed(error, key, request, response)
    }
    if (!isPromise(reservation)) return reserved(reservation)
    return reservation.then(reserved, (error) => this.#failed(error, key, request, response))
  }

  /** The extras of a call to the limiter: the details that the fields need, and a callback for a store error. */
  #extras(key: Key, request: Request, response: Response): CallExtras {
    const { details } = this.#headers
    const extras = this.limiter.store.synchronous ? { details } : this.#events.extras(details, key, request, response)
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
      if (!this.limiter.store.synchronous && !this.#enforcement.appliesTo(key)) return true
      if (this.limiter.store.synchronous) this.#events.storeFailed(error, key, request, response)
      throw error
    }
    if (!this.#enforcement.appliesTo(key)) return true
    return this.#refusal.unavailable((error as HeadgateError).retryAfter, request, response)
  }

  #settleFailed(error: unknown, key: Key, request: Request, response: Response): void {
    warnOnce('HEADGATE_SETTLE', `The store failed to settle or free units, so they stay as they were. ${reason(error)}`)
    if (this.limiter.store.synchronous) this.#events.storeFailed(error, key, request, response)
  }
}
