/** Notes since when the reports to one shard of the store fail. */
export class Outage {
  readonly #longest: number
  #since: number | undefined
  /** The last error of a report. */
  error: unknown

  /** @param period the time between two reports, in microseconds */
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
    this.error = error
  }

  /**
   * True if reports have failed for three periods, and for at least 300 ms. After that time, this process knows too little
   * of the units that the other processes have admitted.
   */
  isLong(now: number): boolean {
    return this.#since !== undefined && now - this.#since > this.#longest
  }
}
