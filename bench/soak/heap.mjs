const samples = 50

/** What is held after a collection, again and again: flat if the last fifth holds no more than the second did. */
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

  /** In bytes. What is allowed on top is for code that is compiled late and for what is under way at the moment. */
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
