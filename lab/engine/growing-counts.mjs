/** An array of counts, by a small whole number. It starts small and grows when needed. */
export class GrowingCounts {
  #counts = new Uint32Array(1024)

  add(index) {
    if (index >= this.#counts.length) this.#grow(index)
    return ++this.#counts[index]
  }

  of(index) {
    return this.#counts[index] ?? 0
  }

  #grow(index) {
    const larger = new Uint32Array(Math.max(index + 1, this.#counts.length * 2))
    larger.set(this.#counts)
    this.#counts = larger
  }
}
