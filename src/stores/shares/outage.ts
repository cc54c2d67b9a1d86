/** Notes since when reports fail, in one shard of the store. */
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
   * Throws the store's error once reports have failed for three periods, at least 300 ms: from then on nothing is
   * known of the other processes.
   */
  check(now: number): void {
    if (this.#since !== undefined && now - this.#since > this.#longest) throw this.#error
  }
}
