import type { Tickets } from './algorithms/step.ts'
import type { Decision } from './decision.ts'
import { HeadgateError, shown } from './errors.ts'
import type { Booking, CallExtras, Ledger } from './stores/store.ts'

/**
 * Units taken ahead of knowing what the call will cost. Settled once: the first `settle` or `cancel` counts, later ones
 * and those of a refused reservation do nothing. One that is never settled stays spent in full.
 */
export class Reservation {
  /** Whether the units were taken. */
  readonly allowed: boolean
  /** How long to wait before acting, in whole milliseconds; 0 if refused, see `decision.retryAfter`. */
  readonly wait: number
  readonly decision: Decision
  readonly #ledger: Ledger
  readonly #keys: readonly string[]
  readonly #cost: number
  readonly #tickets: Tickets | undefined
  readonly #onFailure: CallExtras['onFailure']
  #settled: boolean

  constructor(
    ledger: Ledger,
    keys: readonly string[],
    cost: number,
    { decision, wait, tickets }: Booking,
    extras?: CallExtras,
  ) {
    this.allowed = decision.allowed
    this.wait = wait
    this.decision = decision
    this.#ledger = ledger
    this.#keys = keys
    this.#cost = cost
    this.#tickets = tickets
    this.#onFailure = extras?.onFailure
    this.#settled = !decision.allowed
  }

  /**
   * Corrects the reservation to what the call really cost: gives the rest back, or charges what goes beyond. What time
   * has given back already is not given twice.
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
    const extras = this.#onFailure && { onFailure: this.#onFailure }
    if (actual < this.#cost)
      await this.#ledger.decide('refund', this.#keys, this.#cost - actual, { tickets: this.#tickets, ...extras })
    if (actual > this.#cost) await this.#ledger.decide('charge', this.#keys, actual - this.#cost, extras)
  }

  /** Gives everything back: `settle(0)`. */
  async cancel(): Promise<void> {
    return this.settle(0)
  }
}
