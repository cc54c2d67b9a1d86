import { afterAll, describe, expect, test } from 'vitest'
import { drive, tenASecond } from '../../examples/driver/driver.mjs'
import { headgateWarnings } from '../support/headgate-warnings.ts'

afterAll(async () => expect(await headgateWarnings(), 'no false alarm').toEqual([]))

/** Seconds of each phase. The client wants 1, 2, 5, 10, 20, 25, 50 and 100 calls a second, and the limit is 10. */
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

  test('each phase takes exactly the expected time', () => {
    expect(rows.map(({ seconds }) => seconds)).toEqual(expected[name])
  })

  test('below the limit every call is admitted at once, and above it no more than the limit and a burst', () => {
    for (const { calls, wanted, seconds, rate } of rows) {
      if (wanted <= 5) expect(rate).toBe(wanted)
      else expect(calls).toBeLessThanOrEqual(Math.ceil(10 * seconds) + 10)
    }
  })
})

describe('with countRefused and a client that tries again every 10 ms', () => {
  const counted = Object.entries(tenASecond({ countRefused: true }))
  const ends = ['token bucket, interval refill', 'fixed window', 'fixed window, from the first request']

  test.each(counted.filter(([name]) => ends.includes(name)))(
    '%s: each window starts with its full quota',
    (name, policy) => {
      expect(drive(policy).map(({ seconds }) => seconds)).toEqual(expected[name])
    },
  )

  test.each(counted.filter(([name]) => !ends.includes(name)))(
    '%s: a refused call is never admitted later',
    (_, policy) => {
      const rows = drive(policy, { giveUp: 10_000 })
      expect(rows.map(({ wanted }) => wanted)).toEqual([1, 2, 5, 10].slice(0, rows.length))
    },
  )
})
