/*
 * Chooses which calls are counted for the heaviest keys, and how many calls each counted call stands for.
 *
 * Counting a call (see space-saving.ts) takes several times as long as a decision. So only the first calls are all counted, and
 * later fewer and fewer calls, down to one call in 64. A counted call stands for itself and for the calls since the last counted
 * call:
 *
 *     calls      ann bob ann ann ann bob ann ann
 *     counted                ann         ann        as 4 calls of ann, then as 3
 *
 * The number of calls between two counted calls is random. So periodic traffic is not over- or undercounted, and no caller can know
 * which of its calls are counted. The sum of all counts is the number of all calls. The count of one key is an estimate. A call is
 * counted with probability 1 / w, and then with weight w on average, so the estimate is right on average. Each counted call adds
 * w * (w - 1) to the variance of the estimate (D. Horvitz and D. Thompson, "A Generalization of Sampling Without Replacement From a
 * Finite Universe", 1952).
 */

/** The number of calls at the beginning that are all counted. Later counts are as exact as a sample of at least this many calls. */
export const allCounted = 8192

/** After many calls, one in this many calls is counted. */
const rarest = 64

export class CallSampler {
  readonly #random: () => number
  /**
   * How many calls away the next counted call is: 1 if the next call is counted. `private` in place of `#left`: every call reads
   * this field, and V8 needs more bytecode to read a `#` field.
   */
  private left = 1
  /** How many calls the next counted call stands for. */
  #weight = 1
  #calls = 0

  /** @param random returns a random number from 0 to less than 1 */
  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** How many calls the current call stands for. 0 if the current call is not counted. */
  weigh(): number {
    return --this.left > 0 ? 0 : this.#next()
  }

  #next(): number {
    const weight = this.#weight
    this.#calls += weight
    const mean = Math.min(rarest, 1 + Math.floor(this.#calls / allCounted))
    this.#weight = 1 + Math.floor(this.#random() * (2 * mean - 1))
    this.left = this.#weight
    return weight
  }

  /** Starts the sampling again: all of the next calls are counted. */
  restart(): void {
    this.left = 1
    this.#weight = 1
    this.#calls = 0
  }
}
