import { HeadgateError } from '../errors.ts'
import { book, type Key, type RateLimiter } from '../limiter.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import { isPromise } from '../maybe-promise.ts'
import { flag } from '../options.ts'
import type { Reservation } from '../reservation.ts'
import type { CallExtras } from '../stores/store.ts'
import { reason, warnOnce } from '../warn.ts'
import { type Counts, countsOf } from './count.ts'
import { Delay } from './delay.ts'
import type { Framework, RequestDecision } from './framework.ts'
import type { GuardOptions } from './options.ts'

/** Tells of an error of the store that no request is waiting for. */
export type Failed<Request, Response> = (error: unknown, key: Key, request: Request, response: Response) => void

/** One request whose units are held. */
export interface Held<Request, Response> {
  readonly reservation: Reservation
  readonly key: Key
  readonly request: Request
  readonly response: Response
}

/**
 * Units held by a reservation while the request is under way, for `settle`, `count` and `delay`. A guard that was told
 * none of these has no holding and makes no reservations.
 */
export class HeldUnits<Request, Response> {
  readonly #limiter: RateLimiter
  readonly #framework: Framework<Request, Response>
  readonly #failed: Failed<Request, Response>
  readonly #counts: Counts<Request, Response> | undefined
  readonly #delay: Delay | undefined
  readonly #settles: boolean

  constructor(
    limiter: RateLimiter,
    framework: Framework<Request, Response>,
    options: GuardOptions<Request, Response>,
    failed: Failed<Request, Response>,
  ) {
    this.#limiter = limiter
    this.#framework = framework
    this.#failed = failed
    this.#counts = countsOf(options.count)
    this.#delay = options.delay && new Delay(options.delay, limiter.policies)
    this.#settles = flag(options.settle, 'settle')
  }

  get needed(): boolean {
    return this.#settles || this.#counts !== undefined || this.#delay !== undefined
  }

  /** @param patient whether this request may be made to wait */
  book(key: Key, cost: number, details: CallExtras, patient: boolean): MaybePromise<Reservation> {
    const delay = patient ? this.#delay : undefined
    if (delay === undefined) return book(this.#limiter, key, cost, 0, details)
    const maxWait = delay.enter()
    const booked = (reservation: Reservation) => {
      if (reservation.wait === 0) delay.leave()
      return reservation
    }
    const failed = (error: unknown): never => {
      delay.leave()
      throw error
    }
    try {
      const reservation = book(this.#limiter, key, cost, maxWait, details)
      return isPromise(reservation) ? reservation.then(booked, failed) : booked(reservation)
    } catch (error) {
      return failed(error)
    }
  }

  /** The decision as the application gets it. */
  decision(held: Held<Request, Response>): RequestDecision {
    const { reservation } = held
    return this.#settles
      ? { ...reservation.decision, settle: (actual) => this.#settle(held, actual) }
      : reservation.decision
  }

  /** Holds the units of an admitted request to its end. Whether it may go on: not if its client left while it waited. */
  keep(held: Held<Request, Response>): MaybePromise<boolean> {
    if (held.reservation.wait > 0) return this.#wait(held)
    this.#countLater(held)
    return true
  }

  async #wait(held: Held<Request, Response>): Promise<boolean> {
    const gone = (left: () => void) => this.#framework.ended(held.response, left)
    const stays = await (this.#delay as Delay).pause(held.reservation.wait, gone)
    if (stays) this.#countLater(held)
    else await this.#settle(held, 0)
    return stays
  }

  /** One that hung up counts: else everybody could have free tries by not waiting for the answer. */
  #countLater(held: Held<Request, Response>): void {
    const counts = this.#counts
    if (counts === undefined) return
    this.#framework.ended(held.response, (status, aborted) => {
      if (!aborted) void this.#count(counts, status, held)
    })
  }

  async #count(counts: Counts<Request, Response>, status: number, held: Held<Request, Response>): Promise<void> {
    let counted: MaybePromise<boolean> = true
    try {
      counted = counts(status, held.request, held.response)
      if (isPromise(counted)) counted = await counted
    } catch (error) {
      warnOnce('HEADGATE_COUNT', `count threw, so the request counts. Make it return a boolean. ${reason(error)}`)
    }
    if (!counted) await this.#settle(held, 0)
  }

  async #settle({ reservation, key, request, response }: Held<Request, Response>, actual: number): Promise<void> {
    try {
      await reservation.settle(actual)
    } catch (error) {
      if (error instanceof HeadgateError && error.code === 'HEADGATE_COST') throw error
      this.#failed(error, key, request, response)
    }
  }
}
