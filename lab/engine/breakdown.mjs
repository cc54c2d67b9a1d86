import { GrowingCounts } from './growing-counts.mjs'
import { Names } from './names.mjs'

/** How many values of a field get their own count by default. */
const most = 10_000

/** Requests by the value of one field, and how many of them each policy has refused. */
export class Breakdown {
  #names
  #requests = new GrowingCounts()
  #refused

  constructor(policies, distinct = most) {
    this.#names = new Names(distinct)
    this.#refused = Array.from({ length: policies }, () => new GrowingCounts())
  }

  /** Counts a request, and returns the number of its value for `refuse`. */
  request(value) {
    const number = this.#names.numberOf(value ?? '(none)')
    this.#requests.add(number)
    return number
  }

  /** @param number what `request` returned */
  refuse(policy, number) {
    return this.#refused[policy].add(number)
  }

  nameOf(number) {
    return this.#names.nameOf(number)
  }

  get size() {
    return this.#names.size
  }

  /** How many values had at least one refused request. */
  affected(policy) {
    let affected = 0
    for (let n = 0; n < this.size; n++) if (this.#refused[policy].of(n) > 0) affected++
    return affected
  }

  top(policy, count = 10) {
    const rows = []
    for (let n = 0; n < this.size; n++) {
      const refused = this.#refused[policy].of(n)
      if (refused > 0) rows.push({ name: this.#names.nameOf(n), requests: this.#requests.of(n), refused })
    }
    return rows.sort((a, b) => b.refused - a.refused || b.requests - a.requests).slice(0, count)
  }
}
