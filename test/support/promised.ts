/** Random policies of every algorithm, each with its guarantees, stated independently of the code under test. */

import type { Kind } from '../../src/algorithms/algorithm.ts'
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
import { evenCalendarWindow } from './even-calendar.ts'
import fc from './fast-check.ts'

/** Units that were admitted, and the microsecond at which they count. */
export interface Admitted {
  time: number
  cost: number
}

/** A policy and its guarantees. Times are microseconds. */
export interface Promised {
  policy: Policy
  /** The most units at one moment. */
  capacity: number
  window: number
  /** The time from no quota to the full quota. */
  refill: number
  /** The longest wait of a key without debt. */
  longestWait: number
  /** Law 1 for this algorithm: describes where these admissions exceed the limit; undefined if they do not. */
  exceeded(admitted: readonly Admitted[]): string | undefined
  /**
   * The same if units may be given back later. Each counts at the time promised by its reservation, which is rounded up to
   * whole milliseconds.
   */
  exceededBooked(admitted: readonly Admitted[]): string | undefined
  toString(): string
}

type Shared = Pick<BurstOptions, 'countRefused' | 'shadow' | 'name' | 'scope'>

/** Limits from trivial to awkward. The last ones share no divisor with any window. */
const limits = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 12 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 100_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(7919, 999_983) },
)

/** Windows in milliseconds. */
const windows = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 10 }) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 5000 }) },
  { weight: 1, arbitrary: fc.constantFrom(1000, 60_000, 900_000) },
)

/** Windows of months too, for algorithms that keep only counters. */
const longWindows = fc.oneof(
  { weight: 8, arbitrary: windows },
  fc.constantFrom(86_400_000, 60 * 86_400_000, 366 * 86_400_000),
)

const bursts = fc.option(limits, { nil: undefined, freq: 2 })

/** Compares the sum of the admissions in every span with a bound that grows with the span. */
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

/** The stored units, and a refill at each end of an interval. A span has one more of them than whole intervals. */
function refills(stored: number, limit: number, window: number): (span: number) => bigint {
  return (span) => BigInt(stored) + BigInt(limit) * BigInt(Math.floor(span / window) + 1)
}

function bound(exceeded: Promised['exceeded']): Pick<Promised, 'exceeded' | 'exceededBooked'> {
  return { exceeded, exceededBooked: exceeded }
}

const describe =
  (text: string, { countRefused }: Shared) =>
  () =>
    `${text}${countRefused ? ' countRefused' : ''}`

/** The largest burst up to the wanted one that is exact, and refills within about three years. */
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
      exceeded: (admitted) => overInAnySpan(admitted, drained),
      exceededBooked: (admitted) => overInAnySpan(admitted, (span) => drained(span + 999)),
      toString: describe(`${name} ${limit}/${window}ms burst ${burst}`, shared),
    }
  })
}

type MakePromised = (shared?: Shared) => fc.Arbitrary<Promised>

/** What each kind promises, by the name that a failing test shows. Units in flight, Guava's limiters and penalties have laws of their own. */
const promisedOf: Readonly<Record<Kind, Readonly<Record<string, MakePromised>>>> = {
  intervalBucket: {
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
        exceeded: (admitted) => overInOwnWindows(admitted, window * 1000, limit),
        // Cancelling the call that opened a window moves the window.
        exceededBooked: (admitted) => overInAnySpan(admitted, refills(limit, limit, window * 1000)),
        toString: describe(`fixedWindow from the first request ${limit}/${window}ms`, shared),
      })),

    'tokenBucket, interval': (shared = {}) =>
      fc.tuple(limits, windows, bursts).map(([limit, window, burst = limit]) => ({
        policy: tokenBucket({ limit, window, burst, refill: 'interval', ...shared }),
        capacity: burst,
        window: window * 1000,
        refill: Math.ceil(burst / limit) * window * 1000,
        longestWait: Math.ceil(burst / limit) * window * 1000,
        ...bound((admitted) => overInAnySpan(admitted, refills(burst, limit, window * 1000))),
        toString: describe(`tokenBucket by intervals ${limit}/${window}ms burst ${burst}`, shared),
      })),
  },
  calendarWindow: {
    calendarWindow: (shared = {}) =>
      fc
        .tuple(
          limits,
          fc.constantFrom(1, 7, 31).map((days) => days * 86_400_000),
        )
        .map(([limit, window]) => ({
          policy: evenCalendarWindow({ limit, window, ...shared }, window / 86_400_000),
          capacity: limit,
          window: window * 1000,
          refill: window * 1000,
          longestWait: window * 1000,
          ...bound((admitted) => overInClockWindows(admitted, window * 1000, limit)),
          toString: describe(`calendarWindow ${limit}/${window}ms`, shared),
        })),
  },
  slidingWindow: {
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
  },
  slidingLog: {
    slidingLog: (shared = {}) =>
      fc.tuple(limits, longWindows).map(([limit, window]) => ({
        policy: slidingLog({ limit, window, ...shared }),
        capacity: limit,
        window: window * 1000,
        refill: window * 1000,
        longestWait: window * 1000,
        ...bound((admitted) => overInAnySpan(admitted, refills(0, limit, window * 1000))),
        toString: describe(`slidingLog ${limit}/${window}ms`, shared),
      })),
  },
  segmentedWindow: {
    segmentedWindow: (shared = {}) =>
      fc
        .tuple(limits, longWindows, fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(60)))
        .map(([limit, window, segments]) => ({
          policy: segmentedWindow({ limit, window, segments, ...shared }),
          capacity: limit,
          window: window * 1000,
          refill: window * 1000,
          longestWait: (segments + 1) * Math.ceil((window * 1000) / segments),
          ...bound((admitted) => overInAnySpan(admitted, refills(0, limit, window * 1000))),
          toString: describe(`segmentedWindow ${limit}/${window}ms in ${segments}`, shared),
        })),
  },
  bucket: {
    'tokenBucket, continuous': (shared = {}) => bucket('tokenBucket', tokenBucket, shared),

    leakyBucket: (shared = {}) => bucket('leakyBucket', leakyBucket, shared),

    gcra: (shared = {}) => bucket('gcra', gcra, shared),
  },
  concurrency: {},
  smoothBursty: {},
  smoothWarmingUp: {},
  penalty: {},
}

export const algorithms: Readonly<Record<string, MakePromised>> = Object.assign({}, ...Object.values(promisedOf))

/** False if it gives nothing back: then law 8, law 10 and those of settled reservations do not hold for it. */
export function settles(promised: MakePromised): boolean {
  return fc.sample(promised(), 1).every(({ policy }) => policy.algorithm.settles)
}

/** Any of them, for laws over several policies at once. */
export function anyPromised(shared?: Shared): fc.Arbitrary<Promised> {
  return fc.oneof(...Object.values(algorithms).map((algorithm) => algorithm(shared)))
}
