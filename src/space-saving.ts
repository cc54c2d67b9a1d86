/*
 * The heaviest keys of a stream, in bounded memory: Space-Saving, by A. Metwally, D. Agrawal and A. El Abbadi, "Efficient
 * Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005.
 *
 * The naive design counts every key, so a flood of new keys fills the memory. Counting only the first m keys misses those
 * that become heavy later. Here a new key takes the place of the key with the fewest calls, and takes over its count:
 *
 *     ann 90   bob 41   eve 7          zoe calls: eve leaves, zoe has 8 calls, of which 7 may be eve's (the error)
 *
 * So a count is never too low, and too high by at most its error. With m counters and n calls, the error is at most n / m, and
 * every key with more than n / m calls has a counter. A call may have a weight, and then counts as so many calls.
 *
 * The counters are in a list of buckets, one for each count, in their order. A call moves its counter up by its weight, past
 * at most so many buckets, however many counters there are:
 *
 *     lowest -> [7: eve zoe] <-> [41: bob] <-> [90: ann] <- highest
 */

/** The counter of one key. */
interface Counter {
  key: string
  refused: number
  /** How many of its calls may be those of other keys. */
  error: number
  /** The variance of its calls, because some of them stand for others. */
  variance: number
  bucket: Bucket
  before: Counter | undefined
  after: Counter | undefined
}

/** All counters with the same number of calls. */
interface Bucket {
  calls: number
  first: Counter | undefined
  lower: Bucket | undefined
  higher: Bucket | undefined
}

/** A key and its counts. */
export interface CountedKey {
  readonly key: string
  /** Never too low, and too high by at most `error`. */
  readonly calls: number
  readonly error: number
  /** Of its calls, if calls had weights: 0 if each had a weight of 1. */
  readonly variance: number
  /** Never too high: refusals before the key last got its counter are not known. */
  readonly refused: number
}

export class SpaceSaving {
  readonly #counters = new Map<string, Counter>()
  readonly #size: number
  #lowest: Bucket | undefined
  #highest: Bucket | undefined
  /** All calls so far. */
  total = 0

  /** @param size how many counters there are */
  constructor(size: number) {
    this.#size = size
  }

  /** @param weight how many calls this one stands for */
  add(key: string, refused: boolean, weight = 1): void {
    this.total += weight
    const known = this.#counters.get(key)
    const counter = known === undefined ? this.#begin(key) : known
    this.#increase(counter, weight)
    counter.variance += weight * (weight - 1)
    if (refused) counter.refused += weight
  }

  /** A counter for a new key: a free one, else that of the key with the fewest calls, which is as uncertain as it was. */
  #begin(key: string): Counter {
    if (this.#counters.size < this.#size) return this.#create(key)
    const bucket = this.#lowest as Bucket
    const counter = bucket.first as Counter
    this.#counters.delete(counter.key)
    this.#counters.set(key, counter)
    counter.key = key
    counter.error = bucket.calls
    counter.refused = 0
    return counter
  }

  /** A new counter begins in a bucket of 0 calls, and leaves it at once. */
  #create(key: string): Counter {
    const bucket: Bucket = { calls: 0, first: undefined, lower: undefined, higher: this.#lowest }
    if (this.#lowest === undefined) this.#highest = bucket
    else this.#lowest.lower = bucket
    this.#lowest = bucket
    const counter: Counter = { key, refused: 0, error: 0, variance: 0, bucket, before: undefined, after: undefined }
    bucket.first = counter
    this.#counters.set(key, counter)
    return counter
  }

  #increase(counter: Counter, weight: number): void {
    const { bucket } = counter
    const calls = bucket.calls + weight
    let below = bucket
    while (below.higher !== undefined && below.higher.calls < calls) below = below.higher
    const { higher } = below
    const isThere = higher !== undefined && higher.calls === calls
    if (bucket.first === counter && counter.after === undefined) {
      // It is alone in its bucket, as heavy keys are.
      if (below === bucket && !isThere) {
        bucket.calls = calls
        return
      }
      this.#remove(bucket)
    } else {
      leave(counter)
    }
    enter(counter, isThere ? higher : this.#insertAbove(below, calls))
  }

  #remove({ lower, higher }: Bucket): void {
    if (lower === undefined) this.#lowest = higher
    else lower.higher = higher
    if (higher === undefined) this.#highest = lower
    else higher.lower = lower
  }

  #insertAbove(lower: Bucket, calls: number): Bucket {
    const { higher } = lower
    const bucket: Bucket = { calls, first: undefined, lower, higher }
    lower.higher = bucket
    if (higher === undefined) this.#highest = bucket
    else higher.lower = bucket
    return bucket
  }

  /** The keys with the most calls, in their order. */
  top(count: number): readonly CountedKey[] {
    const found: CountedKey[] = []
    for (let bucket = this.#highest; bucket !== undefined; bucket = bucket.lower) {
      for (let counter = bucket.first; counter !== undefined; counter = counter.after) {
        if (found.length === count) return found
        const { key, error, variance, refused } = counter
        found.push({ key, calls: bucket.calls, error, variance, refused })
      }
    }
    return found
  }

  clear(): void {
    this.#counters.clear()
    this.#lowest = undefined
    this.#highest = undefined
    this.total = 0
  }
}

function enter(counter: Counter, bucket: Bucket): void {
  const { first } = bucket
  counter.bucket = bucket
  counter.before = undefined
  counter.after = first
  if (first !== undefined) first.before = counter
  bucket.first = counter
}

function leave({ bucket, before, after }: Counter): void {
  if (before === undefined) bucket.first = after
  else before.after = after
  if (after !== undefined) after.before = before
}
