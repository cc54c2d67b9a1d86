import { describe, expect, test } from 'vitest'
import { givenBack, type Regime } from '../support/overlapping-streams.ts'

/* The regimes that lost most, of 324 that were measured, and common ones. */
const settled: Regime[] = [
  { load: 0.3, used: 0.3, burst: 4, spread: 'even', pauses: true },
  { load: 0.9, used: 0.1, burst: 1, spread: 'wide' },
  { load: 1.2, used: 0.7, burst: 4, spread: 'even', pauses: true },
  { load: 2, used: 0.3, burst: 0.3, spread: 'wide', pauses: true },
]
const booked: Regime[] = [
  { load: 0.9, used: 0.1, burst: 0.1, spread: 'wide', maxWait: 60_000 },
  { load: 2, used: 0.3, burst: 1, spread: 'even', maxWait: 60_000 },
  { load: 4, used: 0.7, burst: 1, spread: 'even', maxWait: 60_000 },
]

describe.each(settled)('64 streams at once, %o', (regime) => {
  test('lose less than 1 per cent of what they give back, and never get too much', async () => {
    const { due, lost } = await givenBack(regime, 1500, 7)
    expect(due).toBeGreaterThan(0)
    expect(lost / due).toBeLessThan(0.01)
  })
})

describe.each(booked)('64 streams at once that wait for their turns, %o', (regime) => {
  test('lose less than 1 per cent of what they give back, and never get too much', async () => {
    const { due, lost } = await givenBack(regime, 1500, 7)
    expect(due).toBeGreaterThan(0)
    expect(lost / due).toBeLessThan(0.01)
  })
})
