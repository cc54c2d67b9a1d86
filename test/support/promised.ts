/** Random policies of every algorithm, each with what it promises, stated apart from the code under test. */
import fc from 'fast-check'
import {
  type BurstOptions,
  fixedWindow,
  gcra,
  leakyBucket,
  type Policy,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'

/** Units that were let through, and the microsecond at which they count. */
export interface Admitted {
  time: number
  cost: number
}

/** A policy and its promise. Times are microseconds. */
export interface Promised {
  policy: Policy
  /** The most units at one moment. */
  capacity: number
  window: number
  /** From nothing left to full: a clock that goes back by less is one that stands still. */
  refill: number
  /** The longest that a caller who never went into debt may be told to wait. */
  longestWait: number
  /** Law 1 for this algorithm: what of these admissions breaks the promise. */
  broken(admitted: readonly Admitted[]): string | undefined
  /**
   * The same where units may be given back later, and each counts at the time promised by a reservation, which is
   * rounded up to whole milliseconds.
   */
  overbooked(admitted: readonly Admitted[]): string | undefined
  toString(): string
}

type Shared = Pick<BurstOptions, 'countRefused' | 'shadow' | 'name' | 'scope'>

/** Limits from trivial to awkward; the last ones share no divisor with any window. */
const limits = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 12 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 100_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(7919, 999_983) },
)

/** Windows in milliseconds, from 1 ms on. */
const windows = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 10 }) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 5000 }) },
  { weight: 1, arbitrary: fc.constantFrom(1000, 60_000, 900_000) },
)

/** Where only a counter is kept, windows of months too. */
const longWindows = fc.oneof(
  { weight: 8, arbitrary: windows },
  fc.constantFrom(86_400_000, 60 * 86_400_000, 366 * 86_400_000),
)

const bursts = fc.option(limits, { nil: undefined, freq: 2 })

/** The largest sum of admissions that lie within a span, against a bound that grows with the span. */
function overInAnySpan(admitted: readonly Admitted[], bound: (span: number) => bigint): string | undefined {
  const sorted = [...admitted].sort((a, b) => a.time - b.time)
  for (let from = 0; from < sorted.length; from++) {
    let sum = 0n
    for (let to = from; to < sorted.length; to++) {
      sum += BigInt(sorted[to]!.cost)
      const span = sorted[to]!.time - sorted[from]!.time
      if (sum > bound(span)) return `${sum} units within ${span} us from ${sorted[from]!.time}, at most ${bound(span)}`
    }
  }
  return undefined
}

/** At most `limit` in each window that opens with its first admission. */
function overInOwnWindows(admitted: readonly Admitted[], window: number, limit: number): string | undefined {
  let opened = -Infinity
  let sum = 0
  for (const { time, cost } of admitted) {
    if (time - opened >= window) [opened, sum] = [time, 0]
    sum += cost
    if (sum > limit) return `${sum} units in the window from ${opened}, at most ${limit}`
  }
  return undefined
}

function overInClockWindows(admitted: readonly Admitted[], window: number, limit: number): string | undefined {
  const sums = new Map<number, number>()
  for (const { time, cost } of admitted) {
    const start = time - (time % window)
    const sum = (sums.get(start) ?? 0) + cost
    if (sum > limit) return `${sum} units in the clock window from ${start}, at most ${limit}`
    sums.set(start, sum)
  }
  return undefined
}

const unbounded = 1n << 64n

/** What was there, and a batch at each end of an interval: in a span there is one more of them than whole intervals. */
function batches(there: number, limit: number, window: number): (span: number) => bigint {
  return (span) => BigInt(there) + BigInt(limit) * BigInt(Math.floor(span / window) + 1)
}

function bound(broken: Promised['broken']): Pick<Promised, 'broken' | 'overbooked'> {
  return { broken, overbooked: broken }
}

const describe =
  (text: string, { countRefused }: Shared) =>
  () =>
    `${text}${countRefused ? ' countRefused' : ''}`

/** The largest burst up to the one wanted that is still exact, and refills in some three years at most. */
function fitting(burst: number, limit: number, window: number): number {
  const ticks = window / gcd(limit, window)
  return Math.max(1, Math.min(burst, Math.floor(2 ** 53 / ticks) - 1, Math.floor((limit * 1e14) / window)))
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}

function bucket(name: string, make: (options: BurstOptions) => Policy, shared: Shared): fc.Arbitrary<Promised> {
  return fc.tuple(limits, longWindows, bursts).map(([limit, window, wanted = limit]) => {
    const us = window * 1000
    const burst = fitting(wanted, limit, us)
    const refill = Number((BigInt(burst) * BigInt(us) + BigInt(limit) - 1n) / BigInt(limit))
    const drained = (span: number) => BigInt(burst) + (BigInt(limit) * BigInt(span)) / BigInt(us)
    return {
      policy: make({ limit, window, burst, ...shared }),
      capacity: burst,
      window: us,
      refill,
      longestWait: refill,
      broken: (admitted) => overInAnySpan(admitted, drained),
      overbooked: (admitted) => overInAnySpan(admitted, (span) => drained(span + 999)),
      toString: describe(`${name} ${limit}/${window}ms burst ${burst}`, shared),
    }
  })
}

/** The algorithms by the name under which a failing test speaks of them. */
export const algorithms: Record<string, (shared?: Shared) => fc.Arbitrary<Promised>> = {
  'fixedWindow on the clock': (shared = {}) =>
    fc.tuple(limits, longWindows).map(([limit, window]) => ({
      policy: fixedWindow({ limit, window, ...shared }),
      capacity: limit,
      window: window * 1000,
      refill: window * 1000,
      longestWait: window * 1000,
      ...bound((admitted) => overInClockWindows(admitted, window * 1000, limit)),
      toString: describe(`fixedWindow ${limit}/${window}ms`, shared),
    })),

  'fixedWindow from the first request': (shared = {}) =>
    fc.tuple(limits, longWindows).map(([limit, window]) => ({
      policy: fixedWindow({ limit, window, align: 'first-request', ...shared }),
      capacity: limit,
      window: window * 1000,
      refill: window * 1000,
      longestWait: window * 1000,
      broken: (admitted) => overInOwnWindows(admitted, window * 1000, limit),
      // Who cancels the call that opened a window moves the window.
      overbooked: (admitted) => overInAnySpan(admitted, batches(limit, limit, window * 1000)),
      toString: describe(`fixedWindow from the first request ${limit}/${window}ms`, shared),
    })),

  slidingWindow: (shared = {}) =>
    fc.tuple(limits, longWindows).map(([limit, window]) => ({
      policy: slidingWindow({ limit, window, ...shared }),
      capacity: limit,
      window: window * 1000,
      refill: window * 1000,
      longestWait: 2 * window * 1000,
      ...bound(
        (admitted) =>
          overInClockWindows(admitted, window * 1000, limit) ??
          overInAnySpan(admitted, (span) => (span < window * 1000 ? BigInt(2 * limit - 1) : unbounded)),
      ),
      toString: describe(`slidingWindow ${limit}/${window}ms`, shared),
    })),

  slidingLog: (shared = {}) =>
    fc.tuple(limits, longWindows).map(([limit, window]) => ({
      policy: slidingLog({ limit, window, ...shared }),
      capacity: limit,
      window: window * 1000,
      refill: window * 1000,
      longestWait: window * 1000,
      ...bound((admitted) => overInAnySpan(admitted, batches(0, limit, window * 1000))),
      toString: describe(`slidingLog ${limit}/${window}ms`, shared),
    })),

  segmentedWindow: (shared = {}) =>
    fc
      .tuple(limits, longWindows, fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(60)))
      .map(([limit, window, segments]) => ({
        policy: segmentedWindow({ limit, window, segments, ...shared }),
        capacity: limit,
        window: window * 1000,
        refill: window * 1000,
        longestWait: (segments + 1) * Math.ceil((window * 1000) / segments),
        ...bound((admitted) => overInAnySpan(admitted, batches(0, limit, window * 1000))),
        toString: describe(`segmentedWindow ${limit}/${window}ms in ${segments}`, shared),
      })),

  'tokenBucket, continuous': (shared = {}) => bucket('tokenBucket', tokenBucket, shared),

  'tokenBucket, interval': (shared = {}) =>
    fc.tuple(limits, windows, bursts).map(([limit, window, burst = limit]) => ({
      policy: tokenBucket({ limit, window, burst, refill: 'interval', ...shared }),
      capacity: burst,
      window: window * 1000,
      refill: Math.ceil(burst / limit) * window * 1000,
      longestWait: Math.ceil(burst / limit) * window * 1000,
      ...bound((admitted) => overInAnySpan(admitted, batches(burst, limit, window * 1000))),
      toString: describe(`tokenBucket by intervals ${limit}/${window}ms burst ${burst}`, shared),
    })),

  leakyBucket: (shared = {}) => bucket('leakyBucket', leakyBucket, shared),
  gcra: (shared = {}) => bucket('gcra', gcra, shared),
}

/** Any of them: for laws over several policies at once. */
export function anyPromised(shared?: Shared): fc.Arbitrary<Promised> {
  return fc.oneof(...Object.values(algorithms).map((algorithm) => algorithm(shared)))
}
