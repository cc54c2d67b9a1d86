import { describe, expect, test } from 'vitest'
import { Report } from '../../src/algorithms/algorithm.ts'
import { Penalty } from '../../src/algorithms/bans/penalty.ts'
import { fixedWindow, type Policy, policy, smoothBursty, smoothWarmingUp, tokenBucket } from '../../src/index.ts'
import type { Algorithm } from '../../src/store.ts'
import { atLeast } from '../support/at-least.ts'
import { type Random, seededRandom } from '../support/seeded-random.ts'

const policies: Record<string, Policy> = {
  tokenBucket: policy('5/1s token-bucket'),
  'tokenBucket, by interval': tokenBucket({ limit: 3, window: '1s', burst: 7, refill: 'interval' }),
  'fixedWindow, on the clock': policy('5/1s fixed-window'),
  'fixedWindow, from the first request': fixedWindow({ limit: 5, window: '1s', align: 'first-request' }),
  slidingWindow: policy('5/1s'),
  segmentedWindow: policy('5/1s segmented-window'),
  slidingLog: policy('5/1s sliding-log'),
  'slidingLog, long': policy('60/1s sliding-log'),
  smoothBursty: smoothBursty({ rate: 5, maxBurst: '2s' }),
  'smoothWarmingUp, cold is dearer': smoothWarmingUp({ rate: 5, warmup: '2s' }),
  'smoothWarmingUp, cold is cheaper': smoothWarmingUp({ rate: 5, warmup: '2s', coldFactor: 0.5 }),
}

const start = 1_767_225_600_000_000

function fresh({ slots, condensed = slots }: Algorithm): number[] {
  return new Array(condensed).fill(0)
}

/** A state after some calls, with debts, refunds and bookings, the time of the last call, and of the last booking. */
function used(algorithm: Algorithm, random: Random): { s: number[]; now: number; booked: number } {
  const s = fresh(algorithm)
  let booked = 0
  let now = start + random(1_000_000)
  algorithm.take(s, 0, now, 1, 0)
  for (let call = random(80); call > 0; call--) {
    now += random(120_000)
    const cost = 1 + random(4)
    const wait = algorithm.wait(s, 0, now, cost)
    const kind = random(10)
    if (kind === 0) algorithm.refund(s, 0, now, cost)
    else if (kind === 1 && algorithm.promises && algorithm.fits(s, 0, now, cost, wait)) {
      algorithm.take(s, 0, now, cost, wait)
      booked = now + wait
    } else if (wait === 0 || kind === 2) algorithm.take(s, 0, now, cost, 0)
  }
  return { s, now, booked }
}

const report = new Report()

function resetOf(algorithm: Algorithm, s: number[], now: number): number {
  algorithm.report(s, 0, now, report)
  return report.reset
}

/**
 * Every wait is at least as long, and no more remains: now, later, and after calls that both admit. The smooth limiters
 * cut each part of a price to whole microseconds, so each call may cost one microsecond more or less.
 */
function expectStricter(algorithm: Algorithm, strict: number[], others: number[][], from: number, random: Random) {
  const slack = algorithm.kind.startsWith('smooth') ? 1 : 0
  let taken = 0
  let now = from
  for (let look = 0; look < 30; look++) {
    const cost = 1 + random(6)
    const wait = algorithm.wait(strict, 0, now, cost)
    algorithm.report(strict, 0, now, report)
    const { remaining } = report
    for (const s of others) {
      atLeast(wait + slack * taken, algorithm.wait(s, 0, now, cost))
      algorithm.report(s, 0, now, report)
      if (slack === 0) atLeast(report.remaining, remaining)
    }
    if (wait === 0 && ordered(algorithm)) {
      for (const s of [strict, ...others]) algorithm.take(s, 0, now, cost, 0)
      taken++
    }
    now += random(200_000)
  }
}

/**
 * True if a stricter state stays stricter when both take the same call. False if windows open with a call, because a key
 * that is refused for longer opens its next window later. False if idle time makes calls dearer, because a key that goes
 * later was idle for less time.
 */
function ordered({ kind, parameters }: Algorithm): boolean {
  return kind !== 'smoothWarmingUp' && !(kind === 'intervalBucket' && parameters[3] === 0)
}

describe.each(Object.entries(policies))('%s', (_name, { algorithm }) => {
  test('two merged states are at least as strict as either, now and later', () => {
    const random = seededRandom(11)
    for (let round = 0; round < 100; round++) {
      const one = used(algorithm, random)
      const other = used(algorithm, random)
      const now = Math.max(one.now, other.now) + random(300_000)
      const merged = [...one.s]
      algorithm.merge(merged, 0, now, other.s, 0)
      // Booked units have poured into the merged state, so the queue behind them is gone.
      const from = Math.max(now, one.booked, other.booked)
      if (!algorithm.kind.startsWith('smooth'))
        for (const s of [one.s, other.s])
          expect(resetOf(algorithm, merged, now)).toBeGreaterThanOrEqual(resetOf(algorithm, s, now))
      expectStricter(algorithm, merged, [one.s, other.s], from, random)
    }
  })

  test('a state that is merged with itself or with a new one leaves as much as before', () => {
    const random = seededRandom(12)
    if (algorithm.grows || algorithm.kind === 'smoothBursty') return expect(algorithm.merge).toBeTypeOf('function')
    for (let round = 0; round < 100; round++) {
      const { s, now, booked } = used(algorithm, random)
      const merged = [...s]
      algorithm.merge(merged, 0, now, s, 0)
      if (!algorithm.kind.startsWith('smooth')) algorithm.merge(merged, 0, now, fresh(algorithm), 0)
      const from = Math.max(now, booked)
      for (const cost of [1, 3, 5]) expect(algorithm.wait(merged, 0, from, cost)).toBe(algorithm.wait(s, 0, from, cost))
    }
  })
})

test('merged penalties keep the longer ban and the higher count', () => {
  const algorithm = new Penalty(3, 1_000_000, 10_000_000, [2_000_000, 5_000_000])
  const refused = (...times: number[]) => {
    const s = fresh(algorithm)
    for (const time of times) algorithm.count(s, 0, start + time, 1, 0)
    return s
  }
  const banned = refused(0, 1, 2)
  const counting = refused(500_000, 600_000)
  const at = start + 700_000
  const pairs: [number[], number[]][] = [
    [[...banned], counting],
    [[...counting], banned],
  ]
  for (const [s, t] of pairs) {
    algorithm.merge(s, 0, at, t, 0)
    expect(algorithm.wait(s, 0, at)).toBe(1_300_002)
    expect(s.slice(1)).toEqual([start + 500_000, 2, 1, start + 2_000_002])
  }
  const late = refused(0)
  algorithm.merge(late, 0, start + 1_500_000, refused(1_400_000), 0)
  expect(late.slice(1, 3)).toEqual([start + 1_400_000, 1])
})

describe('a condensed log', () => {
  const { algorithm } = policies['slidingLog, long'] as Policy

  test('is at least as strict, and gives back at most an eighth of a window later', () => {
    const random = seededRandom(13)
    for (let round = 0; round < 100; round++) {
      const { s, now } = used(algorithm, random)
      const condensed = fresh(algorithm)
      algorithm.condense?.(s, 0, now, condensed, 0)
      expect(condensed).toHaveLength(25)
      algorithm.report(condensed, 0, now + 125_000, report)
      const { remaining } = report
      algorithm.report(s, 0, now, report)
      expect(remaining).toBeGreaterThanOrEqual(report.remaining)
      expectStricter(algorithm, condensed, [s], now, random)
    }
  })

  test('stays the same when it is condensed again, and a log of ten calls stays as it is', () => {
    const s = fresh(algorithm)
    for (let call = 0; call < 10; call++) algorithm.take(s, 0, start + call, 1, 0)
    const same = fresh(algorithm)
    algorithm.condense?.(s, 0, start + 10, same, 0)
    expect(same).toEqual(s)
    for (let call = 10; call < 60; call++) algorithm.take(s, 0, start + 17_000 * call, 1, 0)
    const once = fresh(algorithm)
    algorithm.condense?.(s, 0, start + 1_003_000, once, 0)
    const twice = fresh(algorithm)
    algorithm.condense?.(once, 0, start + 1_003_000, twice, 0)
    expect(twice).toEqual(once)
    expect(once[2]).toBe(8)
  })
})
