import { describe, expect, test } from 'vitest'
import { checkClock, monotonicClock } from '../src/clock.ts'
import { ManualClock } from '../src/testing/index.ts'

const badReadings = [undefined, null, NaN, Infinity, -1, 0.5, 2 ** 53, '0', 0n, new Date()]

describe('a store wants a clock of whole microseconds', () => {
  test.each(badReadings)('one that reads %s is refused', (reading) => {
    const clock = (() => reading) as unknown as () => number
    expect(() => checkClock(clock)).toThrow(expect.objectContaining({ code: 'HEADGATE_CLOCK' }))
  })

  test('what is not a function is refused', () => {
    expect(() => checkClock(Date.now() as unknown as () => number)).toThrow(/whole microseconds.*Use \(\) =>/)
  })

  test('a good one is handed back', () => {
    const clock = () => 0
    expect(checkClock(clock)).toBe(clock)
  })
})

describe('the monotonic clock', () => {
  test('reads whole microseconds of today', () => {
    const now = monotonicClock()
    expect(Number.isSafeInteger(now)).toBe(true)
    expect(new Date(now / 1000).getUTCFullYear()).toBeGreaterThanOrEqual(2024)
  })

  test('is the time at which the process started plus what performance.now tells, within the millisecond', () => {
    const before = performance.timeOrigin + performance.now()
    const now = monotonicClock() / 1000
    const after = performance.timeOrigin + performance.now()
    expect(now).toBeGreaterThan(before - 1)
    expect(now).toBeLessThan(after + 1)
  })

  test('never runs back', () => {
    let last = monotonicClock()
    for (let reading = 0; reading < 10_000; reading++) {
      const now = monotonicClock()
      expect(now).toBeGreaterThanOrEqual(last)
      last = now
    }
  })
})

describe('the manual clock moves only when told', () => {
  test('it starts in 2026, and its now can be handed on as it is', () => {
    const { now } = new ManualClock()
    expect([now(), now()]).toEqual([1_767_225_600_000_000, 1_767_225_600_000_000])
  })

  test('it advances by milliseconds or text, and can be set back', () => {
    const clock = new ManualClock(0)
    clock.advance(1)
    expect(clock.now()).toBe(1000)
    clock.advance('10s')
    expect(clock.milliseconds).toBe(10_001)
    clock.set(0.125)
    expect(clock.now()).toBe(125)
  })

  test.each([NaN, -1, Infinity, 2 ** 53])('it cannot be started at, or set to, %s', (time) => {
    const refusal = expect.objectContaining({ code: 'HEADGATE_CLOCK' })
    expect(() => new ManualClock(time)).toThrow(refusal)
    expect(() => new ManualClock(0).set(time)).toThrow(refusal)
  })

  test.each([-1, NaN, 0.5, '10', 'soon'])('it cannot advance by %s', (by) => {
    expect(() => new ManualClock(0).advance(by)).toThrow(expect.objectContaining({ code: 'HEADGATE_CLOCK' }))
  })
})
