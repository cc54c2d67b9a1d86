/*
 * Chooses which calls are counted for the heaviest keys, and how many calls each counted call stands for.
 *
 * Counting a call in a sketch costs several times what a decision costs. So the first calls are all counted, and then
 * fewer and fewer, down to one in 64. A counted call stands for itself and for the calls since the last counted call:
 *
 *     calls      ann bob ann ann ann bob ann ann
 *     counted                ann         ann        as 4 calls of ann, then as 3
 *
 * The number of calls in between is random. So traffic with a period gets no wrong share, and no caller knows which of its
 * calls are counted. The sum of all counts is the number of calls. A single count is an estimate: a key is counted with
 * probability 1 / w and then with weight w on average, so the estimate is right on average, and each counted call adds
 * w * (w - 1) to its variance (D. Horvitz and D. Thompson, "A Generalization of Sampling Without Replacement From a Finite
 * Universe", 1952).
 */

/** The first calls, which are all counted. Later counts are as exact as a sample of at least this many calls. */
export const allCounted = 8192

/** In the long run, one call in this many is counted. */
const rarest = 64

export class CallSampler {
  readonly #random: () => number
  /** `private`, not `#left`: every call of a limiter reads this field, and a `#` field takes more bytecode. */
  private left = 1
  /** How many calls the next counted call stands for. */
  #weight = 1
  #calls = 0

  /** @param random returns a number from 0 up to 1 */
  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** How many calls this call stands for: 0 if it is not counted. */
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

  /** Starts again: the next calls are all counted. */
  restart(): void {
    this.left = 1
    this.#weight = 1
    this.#calls = 0
  }
}
