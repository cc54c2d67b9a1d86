const samples = 50

/** The heap after each collection. It is flat if the last fifth of the run holds no more than the second. */
export class Heap {
  #sizes = []
  #timer

  /** @param until on performance.now() */
  constructor(until) {
    const every = (until - performance.now()) / samples
    this.#timer = setInterval(() => this.#sizes.push(this.#size()), every)
  }

  #size() {
    globalThis.gc()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }

  /** In bytes. The margin is for code that is compiled late and for calls that are in flight. */
  end() {
    clearInterval(this.#timer)
    const fifth = Math.floor(this.#sizes.length / 5)
    const early = median(this.#sizes.slice(fifth, 2 * fifth))
    const late = median(this.#sizes.slice(-fifth))
    return { early, late, most: early * 1.05 + 2 ** 20 }
  }
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1]
}
