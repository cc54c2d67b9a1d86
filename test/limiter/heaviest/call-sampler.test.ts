import { describe, expect, test } from 'vitest'
import { allCounted, CallSampler } from '../../../src/limiter/heaviest/call-sampler.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const resolution = 2 ** 32

/** Numbers from 0 up to 1, the same in every run. */
function fractions(seed: number): () => number {
  const random = seededRandom(seed)
  return () => random(resolution) / resolution
}

/** What a sampler counts for each key, beside the variance of that. */
function counted(calls: number, keyOf: (call: number) => number, seed: number) {
  const sampler = new CallSampler(fractions(seed))
  const counts = new Map<number, { calls: number; variance: number }>()
  for (let call = 0; call < calls; call++) {
    const weight = sampler.weigh()
    if (weight === 0) continue
    const count = counts.get(keyOf(call)) ?? { calls: 0, variance: 0 }
    counts.set(keyOf(call), count)
    count.calls += weight
    count.variance += weight * (weight - 1)
  }
  return counts
}

test('the first calls are all counted, then fewer and fewer, down to one in 64', () => {
  const sampler = new CallSampler(fractions(1))
  const among = (calls: number) => {
    let found = 0
    for (let call = 0; call < calls; call++) if (sampler.weigh() > 0) found++
    return calls / found
  }
  expect(among(allCounted)).toBe(1)
  expect(among(allCounted)).toBeCloseTo(2, 0)
  among(100 * allCounted)
  for (let n = 0; n < 5; n++) expect(Math.abs(among(1_000_000) - 64)).toBeLessThan(2)
})

test('each call is counted once: by itself, or by the next counted one', () => {
  const sampler = new CallSampler(fractions(2))
  let [sum, behind, ahead] = [0, 0, 0]
  for (let call = 1; call <= 2_000_000; call++) {
    sum += sampler.weigh()
    behind = Math.max(behind, call - sum)
    ahead = Math.max(ahead, sum - call)
  }
  expect(ahead).toBe(0)
  expect(behind).toBe(126)
})

test('a sampler that restarts counts all calls again', () => {
  const sampler = new CallSampler(fractions(3))
  for (let call = 0; call < 1_000_000; call++) sampler.weigh()
  sampler.restart()
  for (let call = 0; call < allCounted; call++) expect(sampler.weigh()).toBe(1)
})

const streams: [name: string, keyOf: (call: number) => number, share: number][] = [
  ['at random, 1 %', keyedAtRandom(0.01), 0.01],
  ['at random, 30 %', keyedAtRandom(0.3), 0.3],
  ['every 2nd call', (call) => (call % 2 === 0 ? 1 : 0), 1 / 2],
  ['every 64th call', (call) => (call % 64 === 0 ? 1 : 0), 1 / 64],
  ['every 127th call', (call) => (call % 127 === 5 ? 1 : 0), 1 / 127],
  ['40 of every 1000 calls, in a row', (call) => (call % 1000 < 40 ? 1 : 0), 40 / 1000],
]

function keyedAtRandom(share: number): (call: number) => number {
  const random = seededRandom(99)
  const keys = Uint8Array.from({ length: 300_000 }, () => (random(resolution) < share * resolution ? 1 : 0))
  return (call) => keys[call] as number
}

describe.each(streams)('a key that comes %s', (_name, keyOf, share) => {
  const calls = 300_000
  const runs = 250
  const real = Array.from({ length: calls }, (_, call) => keyOf(call)).reduce((sum, key) => sum + key, 0)
  const found = Array.from({ length: runs }, (_, n) => {
    const { calls: estimate, variance } = counted(calls, keyOf, 1000 + n).get(1) ?? { calls: 0, variance: 0 }
    return { off: estimate - real, error: Math.sqrt(variance) }
  })

  test('is within two standard errors in 19 of 20 cases, and right on average', () => {
    const within = found.filter(({ off, error }) => Math.abs(off) <= 2 * error).length
    expect(within / runs).toBeGreaterThanOrEqual(0.92) // 0.95, less two standard deviations of this test
    const mean = found.reduce((sum, { off }) => sum + off, 0) / runs
    const typical = Math.sqrt(found.reduce((sum, { error }) => sum + error ** 2, 0) / runs)
    expect(Math.abs(mean)).toBeLessThan((4 * typical) / Math.sqrt(runs))
  })

  test('has a standard error that is as small as docs/observability.md says', () => {
    for (const { error } of found) expect(error / calls).toBeLessThan(0.015 * Math.sqrt(share))
  })
})
