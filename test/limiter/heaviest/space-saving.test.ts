import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concurrency, memoryStore, RateLimiter } from '../../../src/index.ts'
import { SpaceSaving } from '../../../src/limiter/heaviest/space-saving.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { FailingStore } from '../../support/failing-store.ts'

/** A stream of keys whose shares follow Zipf's law: most calls come from few keys. */
const streams = fc
  .tuple(fc.integer({ min: 1, max: 300 }), fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 2000 }))
  .map(([keys, draws]) => draws.map((draw) => `key ${Math.floor((keys + 1) ** draw) - 1}`))

function exact(stream: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const key of stream) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

describe('Space-Saving', () => {
  test('is exact as long as every key has a counter', () => {
    fc.assert(
      fc.property(streams, (stream) => {
        const sketch = new SpaceSaving(300)
        for (const key of stream) sketch.add(key, false)
        const top = sketch.top(300)
        expect(new Map(top.map(({ key, calls }) => [key, calls]))).toEqual(exact(stream))
        expect(top.every(({ error }) => error === 0)).toBe(true)
        expect(top.map(({ calls }) => calls)).toEqual(top.map(({ calls }) => calls).sort((a, b) => b - a))
      }),
    )
  })

  test('keeps its bounds on any stream: no count too low, none too high by more than its error, no heavy key missed', () => {
    fc.assert(
      fc.property(streams, fc.integer({ min: 1, max: 40 }), (stream, size) => {
        const sketch = new SpaceSaving(size)
        for (const [n, key] of stream.entries()) sketch.add(key, n % 3 === 0)
        const real = exact(stream)
        const refused = exact(stream.filter((_, n) => n % 3 === 0))
        const top = sketch.top(size)
        expect(top.length).toBe(Math.min(size, real.size))
        expect(top.reduce((sum, { calls }) => sum + calls, 0)).toBe(stream.length)
        for (const each of top) {
          const calls = real.get(each.key) as number
          expect(each.calls).toBeGreaterThanOrEqual(calls)
          expect(each.calls - each.error).toBeLessThanOrEqual(calls)
          expect(each.error).toBeLessThanOrEqual(stream.length / size)
          expect(each.refused).toBeLessThanOrEqual(refused.get(each.key) ?? 0)
        }
        const found = new Set(top.map(({ key }) => key))
        for (const [key, calls] of real) if (calls > stream.length / size) expect(found).toContain(key)
      }),
    )
  })

  test('keeps its bounds if calls have weights', () => {
    const weighted = fc.tuple(streams, fc.array(fc.integer({ min: 1, max: 127 }), { minLength: 1 }))
    fc.assert(
      fc.property(weighted, fc.integer({ min: 1, max: 40 }), ([stream, weights], size) => {
        const sketch = new SpaceSaving(size)
        const weightOf = (n: number) => weights[n % weights.length] as number
        const real = new Map<string, number>()
        for (const [n, key] of stream.entries()) {
          sketch.add(key, false, weightOf(n))
          real.set(key, (real.get(key) ?? 0) + weightOf(n))
        }
        const total = stream.reduce((sum, _, n) => sum + weightOf(n), 0)
        const top = sketch.top(size)
        expect(sketch.total).toBe(total)
        expect(top.reduce((sum, { calls }) => sum + calls, 0)).toBe(total)
        expect(top.map(({ calls }) => calls)).toEqual(top.map(({ calls }) => calls).sort((a, b) => b - a))
        for (const { key, calls, error } of top) {
          expect(calls).toBeGreaterThanOrEqual(real.get(key) as number)
          expect(calls - error).toBeLessThanOrEqual(real.get(key) as number)
          expect(error).toBeLessThanOrEqual(total / size)
        }
        const found = new Set(top.map(({ key }) => key))
        for (const [key, calls] of real) if (calls > total / size) expect(found).toContain(key)
      }),
    )
  })

  test('takes the place of the least key, as in the paper', () => {
    const sketch = new SpaceSaving(2)
    for (const key of ['a', 'a', 'b', 'c', 'c']) sketch.add(key, true)
    expect(sketch.top(5)).toEqual([
      { key: 'c', calls: 3, error: 1, variance: 0, refused: 2 },
      { key: 'a', calls: 2, error: 0, variance: 0, refused: 2 },
    ])
  })
})

describe('limiter.top', () => {
  test('names the heaviest keys of a limiter, under all plans', async () => {
    const limiter = new RateLimiter({ policies: '2/1h', top: 10 })
    for (let n = 0; n < 6; n++) await limiter.consume('ann')
    for (let n = 0; n < 3; n++) limiter.withPlan('9/1h').consumeSync('bob')
    await limiter.reserve('eve')
    await limiter.peek('eve')
    expect(limiter.top(2)).toEqual([
      { key: 'ann', hashed: false, calls: 6, error: 0, standardError: 0, refused: 4, share: 0.6 },
      { key: 'bob', hashed: false, calls: 3, error: 0, standardError: 0, refused: 0, share: 0.3 },
    ])
    expect(limiter.top(20, { reset: true })).toHaveLength(3)
    expect(limiter.top()).toEqual([])
    await limiter.consume('bob')
    expect(limiter.top()).toEqual([
      { key: 'bob', hashed: false, calls: 1, error: 0, standardError: 0, refused: 1, share: 1 },
    ])
  })

  test('counts every one of the first calls, and a sample of many', async () => {
    const limiter = new RateLimiter({ policies: '1000/1h', top: 10 })
    for (let n = 0; n < 8192; n++) limiter.consumeSync(n % 4 === 0 ? 'ann' : 'bob')
    expect(limiter.top()).toEqual([
      { key: 'bob', hashed: false, calls: 6144, error: 0, standardError: 0, refused: 5144, share: 0.75 },
      { key: 'ann', hashed: false, calls: 2048, error: 0, standardError: 0, refused: 1048, share: 0.25 },
    ])
    for (let n = 8192; n < 200_000; n++) limiter.consumeSync(n % 4 === 0 ? 'ann' : 'bob')
    const [bob, ann] = limiter.top()
    for (const [found, calls] of [
      [bob, 150_000],
      [ann, 50_000],
    ] as const) {
      expect(found?.standardError).toBeGreaterThan(0)
      expect(found?.standardError).toBeLessThan(200_000 * 0.02)
      // Six standard errors: one in 500 million runs is outside.
      expect(Math.abs((found?.calls ?? 0) - calls)).toBeLessThan(6 * (found?.standardError ?? 0))
      expect((found?.calls ?? 0) - (found?.refused ?? 0)).toBeLessThanOrEqual(1000)
      expect(found?.share).toBeCloseTo(calls / 200_000, 1)
    }
    limiter.top(20, { reset: true })
    for (let n = 0; n < 100; n++) limiter.consumeSync('eve')
    expect(limiter.top()).toMatchObject([{ key: 'eve', calls: 100, standardError: 0, share: 1 }])
  })

  test('keeps the scopes apart, and a long key as its hash', async () => {
    const user = concurrency({ name: 'user', limit: 9, lease: '1m', scope: 'user' })
    const limiter = new RateLimiter({ policies: ['9/1h', user], top: 10, store: memoryStore() })
    await limiter.consume({ default: '203.0.113.7', user: 'x'.repeat(10_000) })
    expect(limiter.top(1)[0]?.key).toBe('203.0.113.7')
    const [long] = limiter.top(1, { scope: 'user' })
    expect(long?.hashed).toBe(true)
    expect(long?.key).toMatch(/^#+[\w-]{43}$/)
  })

  test('counts calls that the store could not decide', async () => {
    const store = new FailingStore(new ManualClock())
    store.mode = 'fails'
    const limiter = new RateLimiter({ name: 'api', policies: '2/1h', store, onStoreError: 'closed', top: 5 })
    await expect(limiter.consume('ann')).rejects.toThrow()
    expect(limiter.top()).toEqual([
      { key: 'ann', hashed: false, calls: 1, error: 0, standardError: 0, refused: 1, share: 1 },
    ])
  })

  test.each([0, -1, 1.5, '10', true, null, 1_000_001])('refuses top: %j', (top) => {
    expect(() => new RateLimiter({ policies: '2/1h', top: top as never })).toThrow(/top/)
  })

  test('refuses invalid arguments, and a limiter that does not count', () => {
    const limiter = new RateLimiter({ policies: '2/1h', top: 5 })
    expect(() => limiter.top(0)).toThrow('count')
    expect(() => limiter.top(5, { scope: 'user' })).toThrow(
      'scope must be a scope of the limiter ("default"), got "user"',
    )
    expect(() => limiter.top(5, { reset: 'yes' } as never)).toThrow('reset must be true or false')
    expect(() => limiter.top(5, { resets: true } as never)).toThrow('no option "resets"')
    expect(() => new RateLimiter({ policies: '2/1h' }).top()).toThrow('Write new RateLimiter({ top: 1000, ... })')
  })
})
