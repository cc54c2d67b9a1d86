import type { MaybePromise } from '../maybe-promise.ts'
import { Settlement } from '../settlement.ts'

/** What a reservation may ask of the lane that granted it. */
export interface Grantor {
  giveBack(units: number): MaybePromise<unknown>
  charge(units: number): MaybePromise<unknown>
}

/**
 * Permits booked for a time that the caller keeps to himself: the pacer does not wait for him. What later reservations
 * were promised stays spent when it is settled for less, as in golang.org/x/time/rate.
 */
export class PacerReservation extends Settlement {
  /** How long to wait before acting, in whole milliseconds; Infinity if refused. */
  readonly wait: number
  /** When to act: milliseconds since the epoch by the pacer's clock. */
  readonly at: number
  /** Of a refusal, how long until it is worth asking again, as far as is known. */
  readonly retryAfter: number
  readonly #grantor: Grantor | undefined

  constructor(now: number, permits: number, wait: number, retryAfter: number, grantor: Grantor | undefined) {
    super(grantor !== undefined, permits)
    this.wait = wait
    this.at = Math.ceil(now / 1000) + wait
    this.retryAfter = retryAfter
    this.#grantor = grantor
  }

  protected giveBack(units: number): MaybePromise<unknown> {
    return this.#grantor?.giveBack(units)
  }

  protected charge(units: number): MaybePromise<unknown> {
    return this.#grantor?.charge(units)
  }
}
