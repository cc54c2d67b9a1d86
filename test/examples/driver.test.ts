import { describe, expect, test } from 'vitest'
import { drive, tenASecond } from '../../examples/driver/driver.mjs'

/** Seconds for each phase: asked 1, 2, 5, 10, 20, 25, 50 and 100 a second of a limit of 10. */
const expected: Record<string, number[]> = {
  'token bucket': [10, 10, 10, 10, 19.05, 24.99, 49.98, 99.99],
  'token bucket, interval refill': [10, 10, 10, 10, 19.05, 24.99, 49.98, 99.99],
  'gcra, burst 1': [10, 10, 10, 10, 19.95, 24.99, 49.98, 99.99],
  'fixed window': [10, 10, 10, 10, 19.05, 24.99, 49.98, 99.99],
  'fixed window, from the first request': [10, 10, 10, 10, 19.05, 24.99, 49.98, 99.99],
  'sliding window': [10, 10, 10, 11.1, 22.18, 27.76, 55.54, 111.1],
  'segmented window': [10, 10, 10, 10.9, 21.95, 27.49, 54.98, 109.99],
  'sliding log': [10, 10, 10, 10, 19.95, 24.99, 49.98, 99.99],
}

describe.each(Object.entries(tenASecond()))('a limit of 10 a second, %s', (name, policy) => {
  const rows = drive(policy)

  test('takes exactly so long for each phase', () => {
    expect(rows.map(({ seconds }) => seconds)).toEqual(expected[name])
  })

  test('gives what is asked below the limit, and beyond it no more than the limit and what was saved up', () => {
    for (const { calls, asked, seconds, rate } of rows) {
      if (asked <= 5) expect(rate).toBe(asked)
      else expect(calls).toBeLessThanOrEqual(Math.ceil(10 * seconds) + 10)
    }
  })
})

describe('countRefused, with a client that tries again every 10 ms', () => {
  const counted = Object.entries(tenASecond({ countRefused: true }))
  const ends = ['token bucket, interval refill', 'fixed window', 'fixed window, from the first request']

  test.each(counted.filter(([name]) => ends.includes(name)))('%s: each window starts afresh', (name, policy) => {
    expect(drive(policy).map(({ seconds }) => seconds)).toEqual(expected[name])
  })

  test.each(counted.filter(([name]) => !ends.includes(name)))('%s: the first refused call stays out', (_, policy) => {
    const rows = drive(policy, { giveUp: 10_000 })
    expect(rows.map(({ asked }) => asked)).toEqual([1, 2, 5, 10].slice(0, rows.length))
  })
})
