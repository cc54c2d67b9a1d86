/** Estimates how many units calls asked for in the last window, admitted or refused, as a sliding window estimates them. */
export class Demand {
  readonly #window: number
  #start = 0
  #current = 0
  #previous = 0

  /** @param window the length of the window, in microseconds */
  constructor(window: number) {
    this.#window = window
  }

  add(units: number, now: number): void {
    this.#advance(now)
    this.#current += units
  }

  /** The estimate at `now`. The estimate assumes that the units of the previous window came evenly over that window. */
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
