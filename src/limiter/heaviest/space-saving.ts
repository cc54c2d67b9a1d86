/*
 * The heaviest keys of a stream, in bounded memory: Space-Saving, by A. Metwally, D. Agrawal and A. El Abbadi, "Efficient
 * Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005.
 *
 * The naive design counts every key, so a flood of new keys fills the memory. Counting only the first m keys misses keys that
 * become heavy later. So a new key replaces the key with the fewest calls. The new key's count starts at the count of the replaced key:
 *
 *     ann 90   bob 41   eve 7          zoe calls: zoe replaces eve with 8 calls, of which 7 may be eve's (the error)
 *
 * So a count is never too low, and it is too high by at most its error. With m counters and n calls, the error is at most n / m,
 * and every key with more than n / m calls has a counter. A call may have a weight: a call of weight 8 counts as 8 calls.
 *
 * A new key replaces the key with the fewest calls. When every counter is in use, the counters form a binary heap, with the fewest calls
 * at the top. A call moves the counter of its key down, below counters with fewer calls. The counter of a heavy key is already near the
 * bottom, and rarely moves.
 */
import { ownText } from '../../common/index.ts'

export interface CountedKey {
  readonly key: string
  /** The number of calls of the key. Never too low, and too high by at most `error`. */
  readonly calls: number
  /** How many of `calls` may be calls of other keys. */
  readonly error: number
  /** The variance of `calls`, because a counted call stands for several calls. 0 if every call was counted. */
  readonly variance: number
  /** How many calls of the key were refused. Never too high: refusals from before the key got its counter are missing. */
  readonly refused: number
}

type Counter = { -readonly [Name in keyof CountedKey]: CountedKey[Name] } & { place: number }

export class SpaceSaving {
  readonly #byKey = new Map<string, Counter>()
  /** The counters. If `#isHeap` is true, the counter at index n never has more calls than the counters at 2n + 1 and 2n + 2. */
  readonly #counters: Counter[] = []
  #isHeap = false
  readonly #size: number
  /** The number of all calls. */
  total = 0

  constructor(size: number) {
    this.#size = size
  }

  /** Counts a call of a key. @param weight how many calls this call stands for */
  add(key: string, refused: boolean, weight = 1): void {
    this.total += weight
    const known = this.#byKey.get(key)
    const counter = known === undefined ? this.#begin(key) : known
    counter.calls += weight
    counter.variance += weight * (weight - 1)
    if (refused) counter.refused += weight
    if (this.#isHeap) this.#sink(counter)
  }

  /**
   * Returns a counter for a new key: an unused counter, or else the counter with the fewest calls, which replaces its key. The new key's
   * `error` is the number of calls of the replaced key.
   */
  #begin(name: string): Counter {
    const key = ownText(name)
    const place = this.#counters.length
    const isFree = place < this.#size
    const counter = isFree ? { key, calls: 0, error: 0, variance: 0, refused: 0, place } : this.#lightest()
    if (isFree) this.#counters.push(counter)
    else this.#byKey.delete(counter.key)
    this.#byKey.set(key, counter)
    counter.key = key
    counter.error = counter.calls
    counter.refused = 0
    return counter
  }

  #lightest(): Counter {
    if (!this.#isHeap) for (let n = this.#size >> 1; n >= 0; n--) this.#sink(this.#counters[n] as Counter)
    this.#isHeap = true
    return this.#counters[0] as Counter
  }

  #sink(counter: Counter): void {
    const counters = this.#counters
    let { place } = counter
    let lighter = this.#lighterBelow(place)
    while (lighter !== undefined && lighter.calls < counter.calls) {
      const free = lighter.place
      counters[place] = lighter
      lighter.place = place
      place = free
      lighter = this.#lighterBelow(place)
    }
    counters[place] = counter
    counter.place = place
  }

  /** The counter with fewer calls, of the two counters below an index of the heap. Undefined if no counter is below the index. */
  #lighterBelow(place: number): Counter | undefined {
    const counters = this.#counters
    const n = 2 * place + 1
    if (n + 1 >= counters.length) return n < counters.length ? counters[n] : undefined
    const [left, right] = [counters[n] as Counter, counters[n + 1] as Counter]
    return right.calls < left.calls ? right : left
  }

  /** The keys with the most calls, the heaviest first. */
  top(count: number): readonly CountedKey[] {
    const heaviest = [...this.#counters].sort((a, b) => b.calls - a.calls).slice(0, count)
    return heaviest.map(({ place: _, ...counted }) => counted)
  }

  clear(): void {
    this.#byKey.clear()
    this.#counters.length = 0
    this.#isHeap = false
    this.total = 0
  }
}
