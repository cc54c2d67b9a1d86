import { invalidOption } from './errors.ts'
import type { MaybePromise } from './maybe-promise.ts'

/**
 * Units taken before the call's true cost is known. They are settled once: the first `settle` or `cancel` counts, and
 * later ones do nothing. On a refused reservation, both do nothing. Units that are never settled stay taken in full.
 */
export abstract class Settlement {
  /** True if the units were taken. */
  readonly allowed: boolean
  readonly #cost: number
  #settled: boolean

  constructor(allowed: boolean, cost: number) {
    this.allowed = allowed
    this.#cost = cost
    this.#settled = !allowed
  }

  protected abstract giveBack(units: number): MaybePromise<unknown>
  protected abstract charge(units: number): MaybePromise<unknown>

  /**
   * Corrects the reservation to the true cost: gives the rest back, or charges what goes beyond. Units that time has given
   * back already are not given back twice.
   *
   * Rejects with HeadgateError `HEADGATE_COST` unless `actual` is a safe integer of at least 0; then it can be settled
   * again. Rejects with `HEADGATE_STORE_UNAVAILABLE` if the store fails and `onStoreError` is `'deny'`.
   */
  async settle(actual: number): Promise<void> {
    if (!Number.isSafeInteger(actual) || actual < 0) {
      const fix = 'Round it up: Math.ceil(cost).'
      throw invalidOption('The actual cost', 'a whole number from 0 to 2^53 - 1', actual, fix, 'HEADGATE_COST')
    }
    if (this.#settled) return
    this.#settled = true
    if (actual < this.#cost) await this.giveBack(this.#cost - actual)
    if (actual > this.#cost) await this.charge(actual - this.#cost)
  }

  /** Gives everything back: `settle(0)`. Rejects as `settle` does. */
  async cancel(): Promise<void> {
    return this.settle(0)
  }
}
