/*
 * Two script calls under way let Redis decide one batch while this process handles the answers to the other. If they leave
 * together, Redis reads and answers them together too: then each side sleeps while the other works, and to wake a process takes
 * a large part of a short round trip. So the second one leaves half a round trip after the first.
 *
 *     together   process  ====         ====             apart   process  === === === === ===
 *                Redis         =====        =====               Redis      === === === ===
 */
import { type Clock, monotonicClock } from '../../clock.ts'

/** A round trip for which a call may wait, in microseconds. */
const short = 1000

/** The most that a batch waits, in microseconds: this process looks for answers all the time while it waits. */
const longestGap = 40

/** What the calls to Redis have shown of the way to it. */
export class RoundTrips {
  readonly #clock: Clock
  /** In microseconds. */
  #last = Infinity
  #sentAt = 0
  #answeredAt = 0
  /** True if the last call followed an answer at once. */
  #followed = false

  constructor(clock: Clock = monotonicClock) {
    this.#clock = clock
  }

  get short(): boolean {
    return this.#last < short
  }

  /** True if a call that leaves now follows an answer at once. More calls will then follow the next one. */
  get continuous(): boolean {
    return this.#clock() - this.#answeredAt < this.#last
  }

  /** True if a batch that leaves now would be read together with the last one. */
  get tooEarly(): boolean {
    return this.#followed && this.#clock() - this.#sentAt < Math.min(this.#last / 2, longestGap)
  }

  /** Returns the time. */
  sent(): number {
    this.#sentAt = this.#clock()
    this.#followed = this.#sentAt - this.#answeredAt < this.#last
    return this.#sentAt
  }

  answered(sentAt: number): void {
    this.#answeredAt = this.#clock()
    this.#last = this.#answeredAt - sentAt
  }
}
