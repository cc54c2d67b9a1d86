import { describe, expect, test } from 'vitest'
import { overload } from '../../../bench/overload/overload.mjs'
import { sampled } from '../../support/depth.ts'
import { algorithms, limitOf, opener, period, planOpener, plans } from './overload-rig.ts'

const capacity = 5000

describe.each(sampled(Object.entries(algorithms), 4))('a store of 5,000 keys under one plan, %s', (_name, policies) => {
  test.each([
    { live: 6000, abusive: 0.2, wrongly: 0 },
    { live: 10_000, abusive: 0, wrongly: 0 },
    { live: 10_000, abusive: 0.5, wrongly: 0 },
    { live: 50_000, abusive: 0.2, wrongly: 0.001, windows: 1.2 },
  ])(
    '$live live keys, $abusive of them abusive, get exactly what is due',
    ({ wrongly, ...load }) => {
      const { open, stats } = opener(policies)
      const outcome = overload({ windows: 2, ...load, capacity }, open, () => 4)
      expect(stats().evictions).toBeGreaterThan(0)
      expect(outcome.overAdmission).toBeLessThanOrEqual(1)
      expect(outcome.worst, 'of each key by itself').toBeLessThanOrEqual(1)
      expect(outcome.wronglyAdmitted).toBe(0)
      expect(outcome.wrongly, 'the refused part of the calls of well-behaved keys').toBeLessThanOrEqual(wrongly)
    },
    300_000,
  )

  test('5,000 live keys on a store of 50 get no more than is due', () => {
    const { open, stats } = opener(policies)
    const outcome = overload({ capacity: 50, live: 5000, abusive: 0.2, windows: 6 }, open, () => 4)
    expect(stats().merged).toBeGreaterThan(1000)
    expect(outcome.overAdmission).toBeLessThanOrEqual(1)
  })
})

describe.each(sampled(Object.entries(plans), 2))('a store of 5,000 keys under three plans, %s', (_name, all) => {
  test.each([
    { live: 6000, abusive: 0.2, changesAfter: Infinity },
    { live: 10_000, abusive: 0.5, changesAfter: Infinity },
    { live: 10_000, abusive: 0.5, changesAfter: period },
    { live: 50_000, abusive: 0.2, changesAfter: Infinity },
    { live: 50_000, abusive: 0.2, changesAfter: period },
  ])(
    '$live live keys, $abusive of them abusive, a change after $changesAfter: what is due',
    (load) => {
      const { open, stats } = planOpener(all, load.changesAfter)
      const outcome = overload({ windows: 1.2, ...load, capacity }, open, limitOf(load.changesAfter))
      expect(stats().evictions).toBeGreaterThan(0)
      expect(outcome.overAdmission).toBeLessThanOrEqual(load.live > 10_000 ? 1.001 : 1)
      expect(outcome.worst, 'of each key by itself').toBeLessThanOrEqual(load.live > 10_000 ? 1.2 : 1)
      expect(outcome.wrongly, 'no well-behaved key is refused because of another').toBe(0)
    },
    300_000,
  )
})
