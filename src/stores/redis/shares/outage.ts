/** Whether the reports of one ledger fail, and since when. Each shard of a store has ledgers of its own. */
export class Outage {
  readonly #longest: number
  #since: number | undefined
  #error: unknown

  /** @param period of the reports, in microseconds */
  constructor(period: number) {
    this.#longest = Math.max(3 * period, 300_000)
  }

  get fails(): boolean {
    return this.#since !== undefined
  }

  reported(): void {
    this.#since = undefined
  }

  failed(error: unknown, now: number): void {
    this.#since ??= now
    this.#error = error
  }

  /**
   * Throws the store's error once reports have failed for three periods, and for 300 ms at least: from then on nothing is
   * known of the other processes.
   */
  check(now: number): void {
    if (this.#since !== undefined && now - this.#since > this.#longest) throw this.#error
  }
}
