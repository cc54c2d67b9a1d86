/** Counts of several series over time. The bins become twice as wide whenever there would be too many of them. */
export class TimeBins {
  start
  width
  #counts
  #most

  /**
   * @param {number} series how many series are counted
   * @param {{ most?: number, width?: number }} [options] the most bins, and the first width in milliseconds
   */
  constructor(series, { most = 240, width = 1000 } = {}) {
    this.#counts = Array.from({ length: series }, () => [])
    this.#most = most
    this.width = width
  }

  add(time, series) {
    this.start ??= Math.floor(time / this.width) * this.width
    let bin = this.#binOf(time)
    while (bin >= this.#most) {
      this.#widen()
      bin = this.#binOf(time)
    }
    const counts = this.#counts[series]
    while (counts.length <= bin) counts.push(0)
    counts[bin]++
  }

  /** The counts of a series in each bin. All series have the same bins. */
  counts(series) {
    const length = Math.max(...this.#counts.map((counts) => counts.length))
    return Array.from({ length }, (_, bin) => this.#counts[series][bin] ?? 0)
  }

  /** The start of each bin, in milliseconds since the epoch. */
  times() {
    return this.counts(0).map((_, bin) => this.start + bin * this.width)
  }

  #binOf(time) {
    return Math.max(0, Math.floor((time - this.start) / this.width))
  }

  #widen() {
    this.width *= 2
    this.#counts = this.#counts.map((counts) => {
      const half = Math.ceil(counts.length / 2)
      return Array.from({ length: half }, (_, bin) => counts[2 * bin] + (counts[2 * bin + 1] ?? 0))
    })
  }
}
