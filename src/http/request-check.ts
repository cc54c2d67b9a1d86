import { HeadgateError, isPromise, type MaybePromise } from '../common/index.ts'
import {
  type AnyCost,
  type CallExtras,
  calls,
  decide,
  deciderOf,
  type Key,
  type RateLimiter,
  type Reservation,
} from '../limiter/index.ts'
import type { CallerCalendars, Decision } from '../policy/index.ts'
import { isLocal } from '../stores/contract/index.ts'
import { type CalendarOf, type Cost, checkedCost, readCalendar, readCost } from './call-arguments.ts'
import type { GuardParts } from './guard-parts.ts'
import { HeadersUnderOverrides, type Sink } from './headers/index.ts'
import { type CountedRequest, HeldRequest, HeldReservations, KeyedDecision } from './held/index.ts'
import { findKey, type KeyExtractor, mayLackAddress, warnOfNoAddress } from './keys/index.ts'

/**
 * Checks requests under one plan (the policies of one limiter), in these steps:
 *
 *     key -> cost -> calendar -> decide -> respond: attach, notify, headers, refuse
 */
export class RequestCheck<Request, Response> {
  readonly #parts: GuardParts<Request, Response>
  readonly #limiter: RateLimiter
  readonly #extractors: readonly KeyExtractor<Request, Response>[]
  readonly #cost: Cost<Request, Response>
  readonly #calendar: CalendarOf<Request, Response> | undefined
  readonly #heldUnits: HeldReservations<Request, Response>
  readonly #holds: boolean
  readonly #headers: HeadersUnderOverrides
  /**
   * The extra arguments of a call to the limiter, made once for all requests. If a hook or a subscriber gets store errors, each call
   * gets a new object instead.
   */
  readonly #extras: CallExtras

  /**
   * @param extractors a key extractor for each scope of the limiter
   * @param one false if the middleware has several plans (lists of policies). The option `cost` is then not checked here, because a cost
   *   that exceeds the limit of this plan may be valid under another plan
   * @throws HeadgateError if an option is invalid
   */
  constructor(
    parts: GuardParts<Request, Response>,
    limiter: RateLimiter,
    extractors: readonly KeyExtractor<Request, Response>[],
    one: boolean,
  ) {
    const { options, events } = parts
    this.#parts = parts
    this.#limiter = limiter
    this.#extractors = extractors
    this.#cost = readCost(options.cost, one ? limiter.policies : [], limiter.store)
    this.#calendar = readCalendar(options.calendar, limiter.policies)
    this.#heldUnits = new HeldReservations(limiter, parts.framework, options, events, parts.delays)
    this.#holds = this.#heldUnits.needed
    const { headers = options.enforce === 0 ? false : 'legacy' } = options
    this.#headers = new HeadersUnderOverrides(headers, limiter)
    const { details } = this.#headers.own
    this.#extras = isLocal(limiter.store) ? { details } : { details, ...events.choice }
  }

  /** True if the request is admitted. False if a response was sent, or if the client has disconnected. Throws as `Guard.check` does. */
  check(request: Request, response: Response): MaybePromise<boolean> {
    const key = findKey(this.#extractors, this.#limiter.scopes, request, this.#parts.framework, response)
    return isPromise(key) ? this.#findCostLater(key, request, response) : this.#findCost(key, request, response)
  }

  /**
   * Checks a request that this limit has decided before. With the cost of a route, or after a refusal, decides again, and gives the units
   * of the first decision back. Otherwise the first decision stands, and the application sees it again.
   */
  checkAgain(before: CountedRequest<Request, Response>, request: Request, response: Response): MaybePromise<boolean> {
    const again = this.#parts.byRoute || before.held.refused
    return again ? this.#findCost(before.key, request, response) : this.#stand(before, request, response)
  }

  #stand({ held }: CountedRequest<Request, Response>, request: Request, response: Response): true {
    return this.#parts.attachment.replace(this.#heldUnits.decision(held), request, response)
  }

  #findCost(key: Key | false, request: Request, response: Response): MaybePromise<boolean> {
    if (key === false) return this.#parts.attachment.exempt(request, response)
    if (mayLackAddress(key) && this.#hasLeft(key, request, response)) return this.#parts.refusal.deny(request, response)
    const cost = this.#cost
    if (typeof cost !== 'function') return this.#findCalendar(key, cost, request, response)
    const units = cost(request, this.#parts.framework, response)
    if (isPromise(units)) return this.#findCalendarLater(key, units, request, response)
    return this.#findCalendar(key, checkedCost(units, 'What cost returns'), request, response)
  }

  #findCalendar(key: Key, cost: AnyCost, request: Request, response: Response): MaybePromise<boolean> {
    if (this.#calendar === undefined) return this.#decide(key, cost, undefined, request, response)
    const calendar = this.#calendar(request, this.#parts.framework, response)
    if (isPromise(calendar)) return this.#decideLater(key, cost, calendar, request, response)
    return this.#decide(key, cost, calendar, request, response)
  }

  #decide(
    key: Key,
    cost: AnyCost,
    calendar: CallerCalendars | undefined,
    request: Request,
    response: Response,
  ): MaybePromise<boolean> {
    if (this.#parts.counted.started) return this.#reserveCounted(key, cost, calendar, request, response)
    if (this.#holds) return this.#reserve(key, cost, calendar, request, response)
    let decision: MaybePromise<Decision>
    try {
      decision = decide(this.#limiter, key, cost, this.#extrasFor(key, calendar, request, response))
    } catch (error) {
      return this.#failed(error, key, request, response)
    }
    if (isPromise(decision)) return this.#respondLater(decision, key, request, response)
    return this.#respondTo(decision, key, request, response)
  }

  #respondTo(decision: Decision, key: Key, request: Request, response: Response): MaybePromise<boolean> {
    const attached = new KeyedDecision(decision, key, this.#limiter, undefined)
    this.#parts.attachment.put(attached, request, response)
    return this.#respond(decision, key, request, response, this.#parts.framework)
  }

  /** Notifies hooks, sets response fields and sends a refusal. True if the request is admitted. @param fields sets response fields */
  #respond(
    decision: Decision,
    key: Key,
    request: Request,
    response: Response,
    fields: Sink<Response>,
  ): MaybePromise<boolean> {
    const { framework, enforcement, events, refusal } = this.#parts
    const { allowed } = decision
    if (events.listens(allowed)) events.decided(decision, key, enforcement.appliesTo(key), request, response)
    const open = !framework.headersSent(response)
    const decider = decision.override === undefined ? this.#limiter : deciderOf(decision, this.#limiter)
    if (open) this.#headers.of(decider).write(decision, fields, response, key)
    if (allowed || !enforcement.appliesTo(key)) return true
    return open ? refusal.refuse(decision, decider, request, response) : refusal.tooLate(response)
  }

  /**
   * True for a request without an address that must be refused: its client reset the connection, and all such clients would share
   * one quota. False for a unix socket, whose requests never have an address.
   */
  #hasLeft(key: Key, request: Request, response: Response): boolean {
    const { framework, enforcement, events } = this.#parts
    if (framework.address(request) !== undefined) return false
    warnOfNoAddress(framework, request)
    const shared = framework.unaddressed?.(request) === true && framework.incomplete?.(request) !== true
    const enforced = !shared && enforcement.appliesTo(key)
    events.noAddress(shared, enforced, request, response)
    return enforced
  }

  async #findCostLater(key: Promise<Key | false>, request: Request, response: Response): Promise<boolean> {
    return this.#findCost(await this.#parts.deadline.bound(key, 'keys'), request, response)
  }

  async #findCalendarLater(key: Key, units: Promise<AnyCost>, request: Request, response: Response): Promise<boolean> {
    const cost = checkedCost(await this.#parts.deadline.bound(units, 'cost'), 'What cost returns')
    return this.#findCalendar(key, cost, request, response)
  }

  async #decideLater(
    key: Key,
    cost: AnyCost,
    calendar: Promise<CallerCalendars>,
    request: Request,
    response: Response,
  ): Promise<boolean> {
    return this.#decide(key, cost, await this.#parts.deadline.bound(calendar, 'calendar'), request, response)
  }

  #respondLater(later: Promise<Decision>, key: Key, request: Request, response: Response): Promise<boolean> {
    return later.then(
      (decision) => this.#respondTo(decision, key, request, response),
      (error) => this.#failed(error, key, request, response),
    )
  }

  /** Does the same as `#decide`, but makes a reservation, for `settle`, `count`, `delay` and units in flight. */
  #reserve(
    key: Key,
    cost: AnyCost,
    calendar: CallerCalendars | undefined,
    request: Request,
    response: Response,
    before?: CountedRequest<Request, Response>,
  ): MaybePromise<boolean> {
    const { attachment, counted, byRoute, enforcement } = this.#parts
    const heldUnits = this.#heldUnits
    const reserved = (reservation: Reservation) => {
      const held = new HeldRequest(heldUnits, reservation, key, cost, request, response)
      const admitted = reservation.allowed && heldUnits.hold(held, counted.started, enforcement.appliesTo(key))
      const fields = counted.add(held, this.#limiter, byRoute, before)
      attachment[before === undefined ? 'put' : 'replace'](heldUnits.decision(held), request, response)
      const goesOn = this.#respond(reservation.decision, key, request, response, fields)
      if (reservation.allowed) return admitted
      return isPromise(goesOn) ? goesOn.then((admits) => held.endRefusal(admits)) : held.endRefusal(goesOn)
    }
    let reservation: MaybePromise<Reservation>
    try {
      const extras = this.#extrasFor(key, calendar, request, response)
      reservation = heldUnits.reserve(key, cost, extras, enforcement.appliesTo(key), before?.held.reservation.wait ?? 0)
    } catch (error) {
      return this.#failed(error, key, request, response)
    }
    if (!isPromise(reservation)) return reserved(reservation)
    return reservation.then(reserved, (error) => this.#failed(error, key, request, response))
  }

  /** Does the same as `#reserve`, but first gives back the units that the limit around this route has taken for the request. */
  #reserveCounted(
    key: Key,
    cost: AnyCost,
    calendar: CallerCalendars | undefined,
    request: Request,
    response: Response,
  ): MaybePromise<boolean> {
    const { counted, byRoute } = this.#parts
    const before = counted.of(request)
    const first = before === undefined || before === 'exempt' || !(byRoute || before.held.refused)
    if (first) return this.#reserve(key, cost, calendar, request, response)
    if (!this.#parts.framework.left?.(response) && counted.keep(before, cost))
      return this.#stand(before, request, response)
    return before.held.undo().then(() => this.#reserve(key, cost, calendar, request, response, before))
  }

  #extrasFor(key: Key, calendar: CallerCalendars | undefined, request: Request, response: Response): CallExtras {
    const { store } = this.#limiter
    const usual = calendar === undefined ? this.#extras : { ...this.#extras, calendar }
    const extras = isLocal(store) ? usual : this.#parts.events.extras(usual, key, request, response)
    return calls.hasSubscribers && !this.#parts.enforcement.appliesTo(key) ? { ...extras, enforced: false } : extras
  }

  /**
   * Handles an error of a call to the limiter. If the error does not come from the store, or if the store is in this process, the
   * error is thrown. For another store, the request is admitted if refusals of the request's key are not enforced. Otherwise the
   * response has status 503 if `onStoreError` is `'closed'`, and any other error is thrown.
   */
  #failed(error: unknown, key: Key, request: Request, response: Response): boolean {
    const { attachment, enforcement, events, refusal } = this.#parts
    const code = error instanceof HeadgateError ? error.code : 'HEADGATE_STORE'
    if (!code.startsWith('HEADGATE_STORE')) throw error
    if (code === 'HEADGATE_STORE_UNAVAILABLE') {
      if (!enforcement.appliesTo(key)) return attachment.uncounted(request, response)
      return refusal.unavailable((error as HeadgateError).retryAfter, request, response)
    }
    // The error of a store outside of this process was reported when `onStoreError` chose what happens.
    if (isLocal(this.#limiter.store)) events.storeFailed(error, key, request, response)
    else if (!enforcement.appliesTo(key)) return attachment.uncounted(request, response)
    throw error
  }
}
