import { HeadgateError, shown } from '../errors.ts'
import type { MaybePromise } from '../stores/store.ts'

/** What a reservation may ask of the lane that granted it. */
export interface Grantor {
  giveBack(units: number): MaybePromise<unknown>
  charge(units: number): MaybePromise<unknown>
}

/**
 * Permits booked for a time that the caller keeps to himself: the pacer does not wait for him. Settled once: the first
 * `settle` or `cancel` counts.
 */
export class PacerReservation {
  /** Whether the permits were booked. */
  readonly allowed: boolean
  /** How long to wait before acting, in whole milliseconds; Infinity if refused. */
  readonly wait: number
  /** When to act: milliseconds since the epoch by the pacer's clock. */
  readonly at: number
  /** Of a refusal, how long until it is worth asking again, as far as is known. */
  readonly retryAfter: number
  readonly #permits: number
  readonly #grantor: Grantor | undefined
  #settled: boolean

  constructor(now: number, permits: number, wait: number, retryAfter: number, grantor: Grantor | undefined) {
    this.allowed = grantor !== undefined
    this.wait = wait
    this.at = Math.ceil(now / 1000) + wait
    this.retryAfter = retryAfter
    this.#permits = permits
    this.#grantor = grantor
    this.#settled = !this.allowed
  }

  /**
   * Corrects the reservation to what was really needed: gives the rest back, or charges what goes beyond. What later
   * reservations were promised stays spent, as in golang.org/x/time/rate, and so does what time has given back.
   * Rejects with HeadgateError `HEADGATE_COST` unless `actual` is a safe integer of at least 0.
   */
  async settle(actual: number): Promise<void> {
    if (!Number.isSafeInteger(actual) || actual < 0) {
      throw new HeadgateError(
        'HEADGATE_COST',
        `The actual cost must be a whole number from 0 to 2^53 - 1, got ${shown(actual)}. Round it up: Math.ceil(cost).`,
      )
    }
    if (this.#settled) return
    this.#settled = true
    if (actual < this.#permits) await this.#grantor?.giveBack(this.#permits - actual)
    if (actual > this.#permits) await this.#grantor?.charge(actual - this.#permits)
  }

  /** Gives everything back: `settle(0)`. */
  async cancel(): Promise<void> {
    return this.settle(0)
  }
}
