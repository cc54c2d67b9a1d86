import { expect, test } from 'vitest'
import { RoundTrips } from '../../../src/stores/redis/round-trips.ts'

/** Its time is in microseconds, shorter than a manual clock can tell. */
function begin() {
  let now = 1000
  const pass = (time: number) => {
    now += time
  }
  return { pass, roundTrips: new RoundTrips(() => now) }
}

/** A call and its answer after so many microseconds, and then a pause. */
function afterCall(roundTrip: number, pause: number) {
  const { pass, roundTrips } = begin()
  const sentAt = roundTrips.sent()
  pass(roundTrip)
  roundTrips.answered(sentAt)
  pass(pause)
  return { pass, roundTrips }
}

test('before the first answer the way is long, and nothing is early', () => {
  const { roundTrips } = begin()
  expect(roundTrips.short).toBe(false)
  roundTrips.sent()
  expect(roundTrips.short).toBe(false)
})

test.each([
  [999, true],
  [1000, false],
])('a round trip of %d us is short: %s', (roundTrip, short) => {
  expect(afterCall(roundTrip, 0).roundTrips.short).toBe(short)
})

test.each([
  // A call follows an answer if it leaves within a round trip.
  [60, 0, 29, true],
  [60, 0, 30, false],
  [60, 59, 29, true],
  [60, 60, 0, false],
  // The gap is 40 us at most.
  [500, 100, 39, true],
  [500, 100, 40, false],
])(
  'round trip %d us, a call %d us after its answer: another one %d us later is too early: %s',
  (roundTrip, pause, later, early) => {
    const { pass, roundTrips } = afterCall(roundTrip, pause)
    expect(roundTrips.continuous).toBe(pause < roundTrip)
    roundTrips.sent()
    pass(later)
    expect(roundTrips.tooEarly).toBe(early)
  },
)
