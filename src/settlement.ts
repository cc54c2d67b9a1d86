import type { MaybePromise } from './maybe-promise.ts'

/**
 * Units taken before the call's true cost is known. They are settled once: the first `settle` or `cancel` counts, and
 * later ones do nothing. On a refused reservation, both do nothing. Units that are never settled stay taken in full.
 */
export abstract class Settlement<Actual> {
  /** True if the units were taken. */
  readonly allowed: boolean
  #settled: boolean

  constructor(allowed: boolean) {
    this.allowed = allowed
    this.#settled = !allowed
  }

  /** True once it is settled or cancelled, and if it was refused. */
  protected get settled(): boolean {
    return this.#settled
  }

  /** Validates the actual cost, and returns the function that corrects the reservation to it. */
  protected abstract correction(actual: Actual | 0): () => MaybePromise<unknown>

  /**
   * Corrects the reservation to the true cost: gives the rest back, or charges what goes beyond. Reservations can be
   * settled in any order. Units that time has given back already are not given back twice.
   *
   * Rejects with HeadgateError `HEADGATE_COST` unless `actual` is a whole number from 0, or a record with such numbers by
   * the names of policies; then it can be settled again. Rejects with `HEADGATE_STORE_UNAVAILABLE` if the store fails and
   * `onStoreError` is `'deny'`.
   */
  async settle(actual: Actual): Promise<void> {
    await this.#correct(actual)
  }

  /** Gives everything back, as if the call had never been made. Rejects as `settle` does. */
  async cancel(): Promise<void> {
    await this.#correct(0)
  }

  async #correct(actual: Actual | 0): Promise<void> {
    const correct = this.correction(actual)
    if (this.#settled) return
    this.#settled = true
    await correct()
  }
}
