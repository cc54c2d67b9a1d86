/** How many records are held to be sorted. A server writes a line when its request ends, so lines are out of order. */
const held = 50_000

/**
 * Yields records in the order of their times, records of one time in the order of their lines. A record can be late by
 * up to 50,000 lines. A record that is later than that is yielded at its place in the log, and counted in `late`.
 *
 * 100,000 records are sorted at once, and the first half of them is yielded.
 */
export class TimeOrder {
  late = 0
  #records = []
  #yielded = -Infinity
  #held

  constructor(size = held) {
    this.#held = size
  }

  /** Adds a record, and returns the records that are ready. */
  add(record) {
    this.#records.push(record)
    return this.#records.length >= 2 * this.#held ? this.#take(this.#held) : []
  }

  end() {
    return this.#take(this.#records.length)
  }

  #take(count) {
    this.#records.sort((a, b) => a.time - b.time)
    const ready = this.#records.slice(0, count)
    this.#records = this.#records.slice(count)
    for (const record of ready) {
      if (record.time < this.#yielded) this.late++
      else this.#yielded = record.time
    }
    return ready
  }
}
