import { flag, getOrInsert, HeadgateError, isPromise, type MaybePromise, reason, warnOnce } from '../../common/index.ts'
import {
  type AnyCost,
  book,
  type CallExtras,
  type Key,
  type Load,
  type RateLimiter,
  type Reservation,
  settleAndHold,
  type Units,
} from '../../limiter/index.ts'
import { isLocal } from '../../stores/contract/index.ts'
import { type CountRule, countRule } from '../count-rule.ts'
import type { Framework } from '../framework.ts'
import type { GuardOptions } from '../guard-options.ts'
import type { RequestEvents } from '../request-events.ts'
import { checkPenalty } from './check-penalty.ts'
import { Delay } from './delay.ts'
import { keepWorking } from './end-work.ts'
import { HeldRequest } from './held-request.ts'
import { InFlight } from './in-flight.ts'
import { KeyedDecision } from './request-decision.ts'

/** Reserves the units of requests until their responses have ended: for `settle`, `count`, `delay` and policies of units in flight. */
export class HeldReservations<Request, Response> {
  readonly #limiter: RateLimiter
  readonly #framework: Framework<Request, Response>
  readonly #events: RequestEvents<Request, Response>
  readonly #counts: CountRule<Request, Response> | undefined
  readonly #countsFailures: boolean
  readonly #delay: Delay | undefined
  readonly #settles: boolean
  readonly #inFlight: InFlight | undefined
  /** True if the penalty has `on: 'spent'`: the penalty then has to know which reserved units will not be given back. */
  readonly #spends: boolean

  constructor(
    limiter: RateLimiter,
    framework: Framework<Request, Response>,
    options: GuardOptions<Request, Response>,
    events: RequestEvents<Request, Response>,
    delays: WeakMap<RateLimiter, Delay>,
  ) {
    this.#limiter = limiter
    this.#framework = framework
    this.#events = events
    this.#counts = countRule(options.count)
    this.#countsFailures = options.count === 'failures'
    const delay = limiter.policies.length > 0 ? options.delay : undefined // under the plan without limits, no request waits
    this.#delay = delay === undefined ? undefined : getOrInsert(delays, limiter, () => new Delay(delay, limiter))
    this.#settles = flag()(options.settle, 'settle')
    this.#inFlight = InFlight.of(limiter.policies)
    const limiters = limiter.candidate === undefined ? [limiter] : [limiter, limiter.candidate]
    this.#spends = limiters.some(({ policies }) => policies.some(({ algorithm }) => algorithm.spends))
    if (framework.countsItself !== true) for (const { penalty } of limiters) checkPenalty(options, penalty)
  }

  /** True if an option or a policy needs reservations. */
  get needed(): boolean {
    const waits = this.#delay !== undefined
    return this.#settles || waits || this.#counts !== undefined || this.#inFlight !== undefined
  }

  /**
   * Reserves the units of a request.
   * @param mayWait false if the option `delay` must not delay this request
   * @param waited how many milliseconds the request has already waited
   */
  reserve(key: Key, cost: AnyCost, extras: CallExtras, mayWait: boolean, waited: number): MaybePromise<Reservation> {
    return this.#delay !== undefined && mayWait
      ? this.#reserveLater(this.#delay, key, cost, extras, waited)
      : book(this.#limiter, key, cost, 0, extras)
  }

  /** Reserves units, with a place in the queue of `delay`. If the request need not wait, its place becomes free immediately. */
  #reserveLater(delay: Delay, key: Key, cost: AnyCost, extras: CallExtras, waited: number): MaybePromise<Reservation> {
    const maxWait = delay.enter(key, waited)
    const hasPlace = maxWait > 0
    let waits = false
    try {
      const reservation = book(this.#limiter, key, cost, maxWait, extras)
      waits = isPromise(reservation) || reservation.wait > 0
      return isPromise(reservation) ? this.#reserved(delay, reservation, { key, cost, waited, hasPlace }) : reservation
    } finally {
      if (hasPlace && !waits) delay.leave(key)
    }
  }

  async #reserved(
    delay: Delay,
    later: Promise<Reservation>,
    { key, cost, waited, hasPlace }: { key: Key; cost: AnyCost; waited: number; hasPlace: boolean },
  ): Promise<Reservation> {
    const answered = delay.ask(key, cost)
    let booked = false
    let waits = false
    try {
      const own = await later
      booked = own.wait > 0
      const reservation = own.allowed || waited > 0 ? own : delay.insteadOf(own, key, cost)
      waits = reservation.wait > 0
      return reservation
    } finally {
      answered(waits)
      if (hasPlace && !booked) delay.leave(key)
    }
  }

  /** The decision for the application, whose method `settle` corrects the cost if the option `settle` is true. */
  decision(held: HeldRequest<Request, Response>): KeyedDecision {
    held.decision ??= new KeyedDecision(
      held.reservation.decision,
      held.key,
      this.#limiter,
      this.#settles ? held : undefined,
    )
    return held.decision
  }

  /**
   * Holds the units of an admitted request until its response has ended. Returns false if the handler must not run, because the client has
   * disconnected. Call `hold` before any code that may throw, so that the units are always freed.
   * @param replaceable true if the cost of a route may replace this decision until the response has ended
   * @param enforced false if the limit must not stop this request
   */
  hold(held: HeldRequest<Request, Response>, replaceable: boolean, enforced: boolean): MaybePromise<boolean> {
    if (held.reservation.wait > 0) return this.#wait(held, replaceable)
    return this.#countAtEnd(held, replaceable, enforced)
  }

  async #wait(held: HeldRequest<Request, Response>, replaceable: boolean): Promise<boolean> {
    const onEnd = (left: () => void) => this.#framework.ended(held.response, left)
    const { key, cost, reservation: first, request, response } = held
    const slot = new HeldRequest(this, first, key, cost, request, response)
    const booked = { key, cost, reservation: first, giveBack: () => keepWorking(this.giveBack(slot)) }
    const load: Load = this.#limiter.load
    load.waiting++
    const reservation = await (this.#delay as Delay).pause(booked, onEnd)
    load.waiting--
    if (reservation === undefined) return false
    held.reservation = reservation
    return this.#countAtEnd(held, replaceable, true)
  }

  /**
   * After the response has ended, frees the units of `concurrency` policies, and refunds the units of a request that the option `count`
   * excludes. If the client disconnected, the request counts: otherwise a client could avoid the limit by never waiting for the response.
   * @returns false if the client of a request that holds units in flight, or is to be settled, has disconnected already: the handler would
   *   run without its unit in flight, or might never settle. With `settle`, the key then gets all units back, because no work is done.
   */
  #countAtEnd(held: HeldRequest<Request, Response>, replaceable: boolean, enforced: boolean): boolean {
    const counts = this.#counts
    const inFlight = this.#inFlight
    const spends = this.#spends && (counts !== undefined || !this.#settles) // otherwise, the call of `settle` sets the spent units
    const spendsNow = spends && counts === undefined && !replaceable // nothing can give units back any more
    if (spendsNow) keepWorking(this.correct(held, 'reserved'))
    const needsClient = enforced && (inFlight !== undefined || this.#settles)
    const left = needsClient && this.#framework.left?.(held.response) === true
    if (left && this.#settles && counts === undefined) keepWorking(this.giveBack(held))
    if (counts === undefined && inFlight === undefined && spends === spendsNow) return !left
    const owner = { progress: this.#progressOf(held), failed: (error: unknown) => this.#failed(error, held) }
    held.release = inFlight?.hold(held.reservation, owner)
    const done = (status: number, aborted: boolean, context?: Request & Response) => {
      if (held.replaced) return
      if (counts !== undefined && !aborted) keepWorking(this.#count(counts, status, held, context))
      else if (spends && !spendsNow) keepWorking(this.correct(held, 'reserved'))
      if (held.release !== undefined) keepWorking(held.release())
    }
    // A failure counts however its response ends. The ban can begin before, because some servers never report the end.
    const answered = (status: number) => {
      if (status >= 400 && !held.replaced) keepWorking(this.correct(held, 'reserved'))
    }
    this.#framework.ended(held.response, done, spends && this.#countsFailures && !this.#settles ? answered : undefined)
    return !left
  }

  #progressOf(held: HeldRequest<Request, Response>): (() => number) | undefined {
    try {
      return this.#framework.held?.(held.response, this.#inFlight !== undefined)
    } catch (error) {
      keepWorking(this.giveBack(held))
      throw error
    }
  }

  async #count(
    counts: CountRule<Request, Response>,
    status: number,
    held: HeldRequest<Request, Response>,
    context: (Request & Response) | undefined,
  ): Promise<void> {
    let counted: MaybePromise<boolean | undefined>
    try {
      counted = counts(status, context ?? held.request, context ?? held.response)
      if (isPromise(counted)) counted = await counted
      if (counted === undefined || counted === null) throw new TypeError(`count returned ${counted}`)
    } catch (error) {
      counted = true
      warnOnce('HEADGATE_COUNT', `count failed, so the request counts. Make it return a boolean. ${reason(error)}`)
    }
    if (!counted) await this.giveBack(held)
    else if (this.#spends) await this.correct(held, 'reserved')
  }

  /** Corrects the cost. `concurrency` units stay taken until the response ends. @param actual `'reserved'` if the cost stays the same */
  async correct(held: HeldRequest<Request, Response>, actual: Units | 'reserved'): Promise<void> {
    try {
      await settleAndHold(held.reservation, actual)
    } catch (error) {
      if (error instanceof HeadgateError && error.code === 'HEADGATE_COST') throw error
      this.#failed(error, held)
    }
  }

  /** Refunds all units of a request that does not count. */
  async giveBack(held: HeldRequest<Request, Response>): Promise<void> {
    try {
      await held.reservation.cancel()
    } catch (error) {
      this.#failed(error, held)
    }
  }

  /**
   * Reports an error of the store that came after the decision: gives a warning once, and calls the hooks for a store in this
   * process. For another store, src/failure reports the error to the hooks.
   */
  #failed(error: unknown, { key, request, response }: HeldRequest<Request, Response>): void {
    warnOnce(
      'HEADGATE_SETTLE',
      `The store failed to settle or free units. They are given back when the store works again, if the store did not get the call. ${reason(error)}`,
    )
    if (isLocal(this.#limiter.store)) this.#events.storeFailed(error, key, request, response)
  }
}
