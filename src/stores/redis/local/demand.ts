/** The units wanted in the last window, admitted or not: an estimate, as a sliding window makes it. */
export class Demand {
  readonly #window: number
  #start = 0
  #current = 0
  #previous = 0

  /** @param window in microseconds */
  constructor(window: number) {
    this.#window = window
  }

  add(units: number, now: number): void {
    this.#advance(now)
    this.#current += units
  }

  /** The estimate of the units of the last window: those of the window before are taken as evenly spread. */
  at(now: number): number {
    this.#advance(now)
    return this.#current + this.#previous * (1 - (now - this.#start) / this.#window)
  }

  #advance(now: number): void {
    const start = now - (now % this.#window)
    if (start <= this.#start) return
    this.#previous = start - this.#start === this.#window ? this.#current : 0
    this.#current = 0
    this.#start = start
  }
}
