import { describe, expect, test } from 'vitest'
import { checkClock, monotonicClock } from '../../src/common/clock.ts'
import { ManualClock } from '../../src/testing/index.ts'

const badReadings = [undefined, null, NaN, Infinity, -1, 0.5, 2 ** 53, '0', 0n, new Date()]

describe('a store needs a clock that returns whole microseconds', () => {
  test.each(badReadings)('a clock that returns %s is rejected', (reading) => {
    const clock = (() => reading) as unknown as () => number
    expect(() => checkClock(clock)).toThrow(expect.objectContaining({ code: 'HEADGATE_CLOCK' }))
  })

  test('a value that is not a function is rejected', () => {
    expect(() => checkClock(Date.now() as unknown as () => number)).toThrow(/whole microseconds.*Use \(\) =>/)
  })

  test('a valid clock is returned as it is', () => {
    const clock = () => 0
    expect(checkClock(clock)).toBe(clock)
  })
})

describe('the monotonic clock', () => {
  test('reads whole microseconds since the epoch', () => {
    const now = monotonicClock()
    expect(Number.isSafeInteger(now)).toBe(true)
    expect(new Date(now / 1000).getUTCFullYear()).toBeGreaterThanOrEqual(2024)
  })

  test('is the start of the process plus performance.now, within a millisecond', () => {
    const before = performance.timeOrigin + performance.now()
    const now = monotonicClock() / 1000
    const after = performance.timeOrigin + performance.now()
    expect(now).toBeGreaterThan(before - 1)
    expect(now).toBeLessThan(after + 1)
  })

  test('never goes back', () => {
    let last = monotonicClock()
    for (let reading = 0; reading < 10_000; reading++) {
      const now = monotonicClock()
      expect(now).toBeGreaterThanOrEqual(last)
      last = now
    }
  })
})

describe('the manual clock', () => {
  test('starts in 2026, moves only by a call, and its `now` can be passed as a clock', () => {
    const { now } = new ManualClock()
    expect([now(), now()]).toEqual([1_767_225_600_000_000, 1_767_225_600_000_000])
  })

  test('advances by milliseconds or text, and can be set back', () => {
    const clock = new ManualClock(0)
    clock.advance(1)
    expect(clock.now()).toBe(1000)
    clock.advance('10s')
    expect(clock.milliseconds).toBe(10_001)
    clock.set(0.125)
    expect(clock.now()).toBe(125)
  })

  test.each([NaN, -1, Infinity, 2 ** 53])('cannot start at, or be set to, %s', (time) => {
    const refusal = expect.objectContaining({ code: 'HEADGATE_CLOCK' })
    expect(() => new ManualClock(time)).toThrow(refusal)
    expect(() => new ManualClock(0).set(time)).toThrow(refusal)
  })

  test.each([null, '10', 1n, new Date(0), [5], true])(
    'cannot start at, or be set to, what is no number: %s',
    (time) => {
      const refusal = expect.objectContaining({ code: 'HEADGATE_CLOCK' })
      expect(() => new ManualClock(time as never)).toThrow(refusal)
      const clock = new ManualClock(5)
      expect(() => clock.set(time as never)).toThrow(refusal)
      expect(() => clock.set(undefined as never)).toThrow(refusal)
      expect(clock.milliseconds).toBe(5)
    },
  )

  test.each([-1, NaN, 0.5, '10', 'soon'])('cannot advance by %s', (by) => {
    expect(() => new ManualClock(0).advance(by)).toThrow(expect.objectContaining({ code: 'HEADGATE_CLOCK' }))
  })
})
