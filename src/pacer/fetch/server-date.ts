/**
 * A response that is older than this, in milliseconds, comes from a cache. A response that comes from the server may look up to this old:
 * `Date` has whole seconds, and the network and the event loop take time.
 */
const mostDelay = 5000
const anHour = 3_600_000

/**
 * The newest `Date` field of a server, and when it came. It shows which responses come from a cache that adds no field `Age`, such as the
 * cache of `fetch` in Next.js. The clock of the server may differ from the clock of this process.
 */
export class ServerDate {
  readonly #now: () => number
  #newest = Number.NEGATIVE_INFINITY
  /** By the clock of this process. */
  #cameAt = 0

  constructor(now: () => number) {
    this.#now = now
  }

  get idle(): boolean {
    return this.#now() - this.#cameAt > anHour
  }

  /**
   * Notes the `Date` of a response. Returns true if the response is old, by the clock of the server and by the clock of this process: one
   * of the two clocks may have been set.
   */
  isOld(headers: Headers): boolean {
    const now = this.#now()
    const date = Date.parse(headers.get('date') ?? '')
    if (date > this.#newest) {
      this.#newest = date
      this.#cameAt = now
    }
    return Math.min(this.#newest + now - this.#cameAt, now) - date > mostDelay
  }
}
