import type { Breaker } from './breaker.ts'

/** The most operations kept; then the oldest is dropped. */
const most = 10_000

/** What could not be asked of the store while its breaker was open, and is once it closes: what is given back, resets. */
export class Postponed {
  readonly #breaker: Breaker
  readonly #runs: (() => Promise<unknown>)[] = []
  #waiting = false

  constructor(breaker: Breaker) {
    this.#breaker = breaker
  }

  /** Runs it now if the store answers, else when it does: once, whatever comes of it. */
  add(run: () => Promise<unknown>): void {
    if (this.#runs.length >= most) this.#runs.shift()
    this.#runs.push(run)
    if (this.#breaker.closed) this.#run()
    else if (!this.#waiting) {
      this.#waiting = true
      this.#breaker.whenAnswering(() => {
        this.#waiting = false
        this.#run()
      })
    }
  }

  #run(): void {
    for (const run of this.#runs.splice(0)) run().catch(() => undefined)
  }
}
