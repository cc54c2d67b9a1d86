import type { Breaker } from './breaker.ts'

/** The most operations kept; then the oldest is dropped. */
const most = 10_000

/** What could not be given back to the store while it was away, and is once it answers. */
export class Postponed {
  readonly #breaker: Breaker
  readonly #runs: (() => Promise<unknown>)[] = []
  #waiting = false

  constructor(breaker: Breaker) {
    this.#breaker = breaker
  }

  /** Runs it now if the store answers, else when it does: once, whatever comes of it, and in the order they came. */
  add(run: () => Promise<unknown>): void {
    if (this.#runs.length >= most) this.#runs.shift()
    this.#runs.push(run)
    if (this.#waiting) return
    this.#waiting = true
    if (this.#breaker.closed) void this.#run()
    else this.#breaker.whenAnswering(() => void this.#run())
  }

  async #run(): Promise<void> {
    for (let run = this.#runs.shift(); run !== undefined; run = this.#breaker.closed ? this.#runs.shift() : undefined) {
      await run().catch(() => undefined)
    }
    this.#waiting = this.#runs.length > 0
    if (this.#waiting) this.#breaker.whenAnswering(() => void this.#run())
  }
}
