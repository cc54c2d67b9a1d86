/* Stores that hold only so many bytes under a key. */
import { describe, expect, test } from 'vitest'
import {
  type PolicyLikes,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { thrownBy } from '../support/failure.ts'
import { MapDatabase } from '../support/map-store.ts'

const log = (limit: number, name = 'log') => slidingLog({ name, limit, window: '1s' })

/** The smallest `maxBytes` with which a store accepts these policies. */
function leastBytesFor(policies: PolicyLikes): number {
  const fits = (maxBytes: number) => {
    const store = new MapDatabase().store({ maxBytes })
    return thrownBy(() => new RateLimiter({ name: 'default', policies, store })) === undefined
  }
  let [low, high] = [1, 1 << 24]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (fits(middle)) high = middle
    else low = middle + 1
  }
  return low
}

describe('policies that are as large as their store accepts', () => {
  test.each([
    ['a log', log(100)],
    ['a log of one unit', log(1)],
    [
      'a log and others',
      [log(60), tokenBucket({ limit: 7, window: '1h' }), smoothBursty({ rate: 3000, maxStored: 9 })],
    ],
    [
      'no log',
      [
        segmentedWindow({ name: 'w', limit: 20, window: '1s', segments: 8 }),
        smoothBursty({ rate: 3000, maxStored: 9 }),
      ],
    ],
    ['two logs', [log(50, 'a'), slidingLog({ name: 'b', limit: 80, window: '2s' })]],
  ])('%s: no record is larger than maxBytes, however the calls come', async (_, policies) => {
    const maxBytes = leastBytesFor(policies)
    const database = new MapDatabase()
    const clock = new ManualClock()
    const limiter = new RateLimiter({
      name: 'default',
      policies,
      store: database.store({ maxBytes, clock: clock.now }),
    })
    let largest = 0
    for (let n = 0; n < 600; n++) {
      clock.advance(n < 300 ? 11 : (n * 7919) % 40)
      await limiter.consume('k')
      largest = Math.max(largest, ...[...database.texts.values()].map(({ text }) => text.length))
    }
    expect(largest).toBeLessThanOrEqual(maxBytes)
    expect(limiter.health().errors).toBe(0)
  })

  test.each([
    ['a bucket', '1m', 80, tokenBucket({ name: 'b', limit: 2000, window: '1h' })],
    ['a bucket by interval', '1h', 149, tokenBucket({ limit: 100, window: '1h', burst: 2000, refill: 'interval' })],
  ])('%s with open reservations takes no more than its store accepts', async (_, pause, cost, policies) => {
    const maxBytes = leastBytesFor(policies)
    const database = new MapDatabase()
    const clock = new ManualClock()
    const limiter = new RateLimiter({
      name: 'default',
      policies,
      store: database.store({ maxBytes, clock: clock.now }),
    })
    let [largest, most] = [0, 0]
    const measure = () => {
      const text = [...database.texts.values()][0]?.text as string
      largest = Math.max(largest, text.length)
      most = Math.max(most, JSON.parse(text)[1][3].length - policies.algorithm.slots)
    }
    // Each call finds a higher level than the one before, until all is used. Then reservations are booked ahead.
    for (let n = 0; n < 40; n++) {
      await limiter.reserve('k', { cost })
      measure()
      clock.advance(pause)
    }
    for (let n = 0; n < 70; n++) {
      await limiter.reserve('k', { cost: 1999, maxWait: '360d' })
      measure()
    }
    expect(most).toBe(1 + 32 * 2 + 64 * 3)
    expect(largest).toBeLessThanOrEqual(maxBytes)
    expect(limiter.health().errors).toBe(0)
  })

  test('a full log takes at least nine tenths of the size that was calculated for it', async () => {
    const maxBytes = leastBytesFor(log(200))
    const database = new MapDatabase()
    const clock = new ManualClock()
    const limiter = new RateLimiter({
      name: 'default',
      policies: log(200),
      store: database.store({ maxBytes, clock: clock.now }),
    })
    let largest = 0
    for (let n = 0; n < 600; n++) {
      clock.advance(5)
      await limiter.consume('k')
      largest = Math.max(largest, ...[...database.texts.values()].map(({ text }) => text.length))
    }
    expect(largest).toBeGreaterThan(0.9 * maxBytes)
  })
})

test.each([0, 1.5, '1mb', null])('maxBytes of %j throws', (maxBytes) => {
  expect(() => new MapDatabase().store({ maxBytes } as never)).toThrow(/maxBytes must be a whole number/)
})
