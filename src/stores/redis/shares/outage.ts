interface Failing {
  readonly since: number
  readonly error: unknown
}

/** Notes since when the reports of one ledger fail, for each part of the store. */
export class Outage {
  readonly #longest: number
  readonly #shardOf: (key: string) => string
  readonly #failing = new Map<string, Failing>()

  /** @param period of the reports, in microseconds @param shardOf the part of the store that decides on a key */
  constructor(period: number, shardOf: (key: string) => string = () => '') {
    this.#longest = Math.max(3 * period, 300_000)
    this.#shardOf = shardOf
  }

  get fails(): boolean {
    return this.#failing.size > 0
  }

  reported(key: string): void {
    if (this.fails) this.#failing.delete(this.#shardOf(key))
  }

  failed(key: string, error: unknown, now: number): void {
    const shard = this.#shardOf(key)
    this.#failing.set(shard, { since: this.#failing.get(shard)?.since ?? now, error })
  }

  /**
   * Throws the store's error once reports on one of these keys have failed for three periods, at least 300 ms: from then on
   * nothing is known of the other processes.
   */
  check(keys: readonly string[], now: number): void {
    if (!this.fails) return
    for (const key of keys) {
      const failing = this.#failing.get(this.#shardOf(key))
      if (failing !== undefined && now - failing.since > this.#longest) throw failing.error
    }
  }
}
