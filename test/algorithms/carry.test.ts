import { describe, expect, test } from 'vitest'
import { type Algorithm, Report } from '../../src/algorithms/algorithm.ts'
import { type CarryRule, carry, carryRules } from '../../src/algorithms/carry.ts'
import { ratioUp } from '../../src/algorithms/exact-math.ts'
import { revive, sameDefinition } from '../../src/algorithms/kinds.ts'
import {
  fixedWindow,
  gcra,
  type Policy,
  type PolicyOptions,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  smoothBursty,
  smoothWarmingUp,
  tokenBucket,
} from '../../src/index.ts'
import fc from '../support/fast-check.ts'

const start = 1_767_225_600_000_000
const second = 1_000_000

const makers: Readonly<Record<string, (options: PolicyOptions) => Policy>> = {
  gcra,
  'token bucket by intervals': (options) => tokenBucket({ ...options, refill: 'interval' }),
  'fixed window': fixedWindow,
  'fixed window from the first request': (options) => fixedWindow({ ...options, align: 'first-request' }),
  'sliding window': slidingWindow,
  'segmented window': (options) => segmentedWindow({ ...options, segments: 4 }),
  'sliding log': slidingLog,
}

/** A state with units taken at these seconds. */
function used({ algorithm }: Policy, ...takes: readonly (readonly [seconds: number, units: number])[]): number[] {
  const s: number[] = new Array(algorithm.slots).fill(0)
  for (const [at, units] of takes) algorithm.take(s, 0, start + at * second, units, 0)
  return s
}

function reported({ algorithm }: { algorithm: Algorithm }, s: number[], seconds: number): [number, number] {
  const report = new Report()
  algorithm.report(s, 0, start + seconds * second, report)
  return [report.remaining, report.reset / second]
}

describe.each(Object.entries(makers))('%s', (_, make) => {
  const from = make({ limit: 100, window: '100s' })
  test.each<[limit: number, rule: CarryRule, remaining: number]>([
    [1000, 'keep', 930],
    [1000, 'scale', 300],
    [50, 'keep', 0],
    [50, 'scale', 15],
    [100, 'keep', 30],
    [100, 'scale', 30],
    [70, 'keep', 0],
    [71, 'keep', 1],
    [33, 'scale', 9],
  ])('70 of 100 used, then %i by the rule %s: %i remain', (limit, rule, remaining) => {
    const to = make({ limit, window: '100s' })
    const s = carry(used(from, [0, 70]), from.algorithm, to.algorithm, start, rule)
    expect(reported(to, s, 0)[0]).toBe(remaining)
  })

  test('with the same window, the times stay', () => {
    const to = make({ limit: 200, window: '100s' })
    const before = used(from, [0, 60], [40, 20])
    const reset = reported(from, before.slice(), 40)[1]
    const s = carry(before, from.algorithm, to.algorithm, start + 60 * second, 'keep')
    // A bucket now drains twice as fast.
    const expected = from.algorithm.kind === 'bucket' ? 10 : reset - 20
    expect(reported(to, s, 60)[1]).toBe(expected)
  })

  test.each(Object.entries(makers))('to a %s with another window: used units count as just taken', (_name, other) => {
    const to = other({ limit: 80, window: '7s' })
    const taken = used(from, [0, 60])
    const [left] = reported(from, taken.slice(), 0)
    const s = carry(taken, from.algorithm, to.algorithm, start, 'keep')
    expect(reported(to, s, 0)[0]).toBe(80 - (100 - left))
  })

  test('a debt ends at the new limit', () => {
    const to = make({ limit: 10, window: '100s' })
    const s = carry(used(from, [0, 100], [0, 500]), from.algorithm, to.algorithm, start, 'keep')
    expect(to.algorithm.wait(s, 0, start, 1)).toBeLessThanOrEqual(2 * 100 * second)
    expect(reported(to, s, 0)[0]).toBe(0)
  })

  test('after the clock went far back, the state is carried at the new time', () => {
    const to = make({ limit: 1000, window: '100s' })
    const s = carry(used(from, [1000, 70]), from.algorithm, to.algorithm, start, 'keep')
    expect(reported(to, s, 0)[0]).toBe(930)
    expect(reported(to, s, 0)[1]).toBeLessThanOrEqual(200)
  })
})

test('carried to a larger limit and back, the state is as strict as before', () => {
  const any = fc.constantFrom(...Object.values(makers))
  const limits = fc.integer({ min: 1, max: 300 })
  const takes = fc.array(fc.tuple(fc.integer({ min: 0, max: 150 }), fc.integer({ min: 1, max: 40 })), { maxLength: 6 })
  fc.assert(
    fc.property(any, limits, limits, takes, fc.integer({ min: 0, max: 60 }), (make, a, b, all, later) => {
      const [from, to] = [make({ limit: a, window: '100s' }), make({ limit: Math.max(a, b), window: '100s' })]
      const sorted = all.sort(([x], [y]) => x - y)
      const plain = used(from)
      for (const [at, units] of sorted) {
        if (from.algorithm.wait(plain, 0, start + at * second, units) === 0) {
          from.algorithm.take(plain, 0, start + at * second, units, 0)
        }
      }
      const now = 150 + later
      const there = carry(plain.slice(), from.algorithm, to.algorithm, start + now * second, 'keep')
      const back = carry(there, to.algorithm, from.algorithm, start + now * second, 'keep')
      const [expected] = reported(from, plain, now)
      const [remaining] = reported(from, back, now)
      expect(remaining).toBe(expected)
    }),
    { numRuns: 2000 },
  )
})

test("Guava's limiters: stored permits are scaled, and a promised wait stays", () => {
  const from = smoothBursty({ rate: 10, maxBurst: '10s' })
  const to = smoothBursty({ rate: 20, maxBurst: '10s' })
  const s = carry(used(from, [0, 1], [5, 25]), from.algorithm, to.algorithm, start + 5 * second, 'keep')
  expect(to.algorithm.wait(s, 0, start + 5 * second, 1)).toBe(
    from.algorithm.wait(used(from, [0, 1], [5, 25]), 0, start + 5 * second, 1),
  )
})

test.each<[a: number, times: number, per: number, up: number]>([
  [0, 7, 3, 0],
  [10, 7, 3, 24],
  [10, 3, 7, 5],
  [7, 3, 7, 3],
  [9_007_199_254_740_991, 1, 2, 4_503_599_627_370_496],
  [9_007_199_254_740_991, 31_622_400_000_000, 31_622_399_999_999, 9_007_199_254_741_276],
  [9_007_199_254_740_991, 31_622_399_999_999, 31_622_400_000_000, 9_007_199_254_740_707],
  [4_000_000_000_000_001, 999_999_937, 1_000_000_007, 3_999_999_720_000_003],
  [5, 1, 2 ** 46 + 1, Infinity],
  [0, 1, 2 ** 46 + 1, 0],
])('ceil(%i * %i / %i) is %i', (a, times, per, up) => expect(ratioUp(a, times, per)).toBe(up))

test('ratioUp rounds up exactly', () => {
  const factor = fc.integer({ min: 1, max: 2 ** 45 })
  fc.assert(
    fc.property(fc.maxSafeNat(), factor, factor, (a, times, per) => {
      const exact = (BigInt(a) * BigInt(times) + BigInt(per) - 1n) / BigInt(per)
      fc.pre(exact < 2n ** 53n)
      expect(ratioUp(a, times, per)).toBe(Number(exact))
    }),
  )
})

test('revive makes the algorithm of a definition again', () => {
  const all = [
    ...Object.values(makers).map((make) => make({ limit: 7, window: '13s' })),
    gcra({ limit: 999_983, window: '1m', burst: 3 }),
    tokenBucket({ limit: 4, window: '1s', burst: 9, refill: 'interval' }),
    smoothBursty({ rate: 0.3, maxStored: 2.5 }),
    smoothWarmingUp({ rate: 3, warmup: '4s', coldFactor: 2.5 }),
  ]
  for (const { algorithm } of all) {
    const revived = revive(JSON.parse(JSON.stringify(algorithm))) as Algorithm
    expect(revived).toEqual(algorithm)
    expect(sameDefinition(revived, algorithm)).toBe(true)
  }
  expect(revive({ kind: 'unheard-of', span: 1, parameters: [] })).toBeUndefined()
  expect(carryRules).toEqual(['keep', 'scale'])
})
