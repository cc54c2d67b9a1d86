/*
 * Counts what may be admitted in the most naive way. No state is compressed, no number is a float, and nothing is shared
 * with the library. Times are BigInt microseconds. One object is one key.
 *
 * Each object has its own effective time. A clock that goes back by less than a window, or by less than 60 seconds, stands still.
 * A clock that goes back further is taken as the new time, with the use as of the last admitted call.
 */

const leastTolerance = 60_000_000n

class Oracle {
  last = 0n

  constructor(limit, window) {
    this.limit = BigInt(limit)
    this.window = BigInt(window) * 1000n
    this.span = this.window
  }

  /** The clock went back to `at`, and that is the new time. */
  back(_at) {}

  /** The effective time. */
  reckon(now) {
    const tolerance = this.span > leastTolerance ? this.span : leastTolerance
    const at = now < this.last && this.last - now < tolerance ? this.last : now
    if (at < this.last) {
      this.back(at)
      this.last = at
    }
    return at
  }
}

/** The time of each unit. */
class Log extends Oracle {
  units = []

  /** @override */
  back(at) {
    this.units = this.units.map((time) => time - (this.last - at))
  }

  held(at) {
    return this.units.filter((time) => time > at - this.window)
  }

  left(at) {
    return this.limit - BigInt(this.held(at).length)
  }

  take(at, cost) {
    this.units = this.held(at)
    for (let n = 0n; n < cost; n++) this.units.push(at)
  }

  undo(cost) {
    this.units.length -= Number(cost)
  }
}

/** Tokens times the window, so one microsecond adds `limit`. */
class TokenBucket extends Oracle {
  constructor(limit, window, burst = limit) {
    super(limit, window)
    this.full = BigInt(burst) * this.window
    this.tokens = this.full
    this.span = (this.full + this.limit - 1n) / this.limit
  }

  now(at) {
    const elapsed = at > this.last ? at - this.last : 0n
    const tokens = this.tokens + elapsed * this.limit
    return tokens > this.full ? this.full : tokens
  }

  left(at) {
    return this.now(at) / this.window
  }

  take(at, cost) {
    this.tokens = this.now(at) - cost * this.window
  }

  undo(cost) {
    this.tokens += cost * this.window
  }
}

/** One count for each clock window. */
class FixedWindow extends Oracle {
  index = 0n
  count = 0n

  /** @override */
  back(at) {
    this.index = at / this.window
  }

  held(at) {
    return at / this.window === this.index ? this.count : 0n
  }

  left(at) {
    return this.limit - this.held(at)
  }

  take(at, cost) {
    this.count = this.held(at) + cost
    this.index = at / this.window
  }

  undo(cost) {
    this.count -= cost
  }
}

export const oracles = {
  'sliding-log': (limit, window) => new Log(limit, window),
  'token-bucket': (limit, window) => new TokenBucket(limit, window),
  gcra: (limit, window) => new TokenBucket(limit, window),
  'leaky-bucket': (limit, window) => new TokenBucket(limit, window),
  'fixed-window': (limit, window) => new FixedWindow(limit, window),
}

/** Several policies on one key: either all admit the cost or none takes it. */
export class Joined {
  constructor(each) {
    this.each = each
  }

  /** Returns the decision on the cost and what is left afterwards. */
  consume(now, units) {
    const cost = BigInt(units)
    const times = this.each.map((oracle) => oracle.reckon(BigInt(now)))
    const left = () => Math.min(...this.each.map((oracle, n) => Number(oracle.left(times[n]))))
    const allowed = left() >= units
    if (!allowed) return { allowed, remaining: left() }
    for (const [n, oracle] of this.each.entries()) {
      oracle.take(times[n], cost)
      oracle.last = times[n]
    }
    return { allowed, remaining: left() }
  }

  /** Undoes the last consume. */
  undo(units) {
    for (const oracle of this.each) oracle.undo(BigInt(units))
  }

  /** True if nothing counts at `now` and nothing was taken for that long. */
  likeNewAt(now, idle) {
    return this.each.every((oracle) => now - oracle.last >= idle && now - oracle.last >= oracle.span)
  }

  /** True if nothing counts any more. */
  lapsed(now) {
    return this.each.every((oracle) => BigInt(now) - oracle.last > 2n * oracle.span)
  }
}
