import { describe, expect, test } from 'vitest'
import { overload } from '../../../bench/overload/overload.mjs'
import { type Clock, policy } from '../../../src/index.ts'
import { lruStore } from '../../../src/stores/lru-store.ts'
import { algorithms, limitOf, opener, period, planOpener, plans } from './overload-rig.ts'

const capacity = 50

describe.each(Object.entries(algorithms))('a store of 50 keys under one plan, %s', (_name, policies) => {
  test.each([
    { live: 75, abusive: 0.2 },
    { live: 100, abusive: 0.5 },
    { live: 500, abusive: 0.2 },
  ])('$live live keys, $abusive of them abusive, get exactly what is due', (load) => {
    const { open, stats } = opener(policies)
    const outcome = overload({ windows: 1.2, ...load, capacity }, open, () => 4)
    expect(stats().evictions).toBeGreaterThan(0)
    expect(outcome.overAdmission).toBeLessThanOrEqual(1)
    expect(outcome.worst, 'of each key by itself').toBeLessThanOrEqual(1)
    expect(outcome.wronglyAdmitted).toBe(0)
    expect(outcome.wrongly, 'the refused part of the calls of well-behaved keys').toBeLessThanOrEqual(0.001)
  })

  test('1,000 live keys on a store of 10 get no more than is due', () => {
    const { open, stats } = opener(policies)
    const outcome = overload({ capacity: 10, live: 1000, abusive: 0.2, windows: 2 }, open, () => 4)
    expect(stats().merged).toBeGreaterThan(100)
    expect(outcome.overAdmission).toBeLessThanOrEqual(1)
  })
})

describe.each(Object.entries(plans))('a store of 50 keys under three plans, %s', (_name, all) => {
  test.each([
    { live: 75, abusive: 0.2, changesAfter: Infinity },
    { live: 100, abusive: 0.5, changesAfter: Infinity },
    { live: 100, abusive: 0.5, changesAfter: period },
    { live: 500, abusive: 0.2, changesAfter: Infinity },
  ])('$live live keys, $abusive of them abusive, a change after $changesAfter: what is due', (load) => {
    const { open, stats } = planOpener(all, load.changesAfter)
    const outcome = overload({ windows: 1.2, ...load, capacity }, open, limitOf(load.changesAfter))
    expect(stats().evictions).toBeGreaterThan(0)
    expect(outcome.overAdmission).toBeLessThanOrEqual(1)
    expect(outcome.worst, 'of each key by itself').toBeLessThanOrEqual(1)
    expect(outcome.wrongly, 'no well-behaved key is refused because of another').toBe(0)
  })

  test('1,000 live keys on a store of 10 get at most twice what is due, and none is refused wrongly', () => {
    const { open, stats } = planOpener(all, Infinity)
    const outcome = overload({ capacity: 10, live: 1000, abusive: 0.2, windows: 2 }, open, limitOf(Infinity))
    expect(stats().forgotten).toBeGreaterThan(500)
    expect(outcome.overAdmission).toBeLessThan(2)
    expect(outcome.wrongly).toBe(0)
  })
})

test('a hundred plans on a store of 50 keys, with 500 live ones: what is due', () => {
  const all = Array.from({ length: 100 }, (_, n) => [policy(`${n + 4}/1m token-bucket`)])
  const { open } = planOpener(all, Infinity)
  const outcome = overload({ capacity: 50, live: 500, abusive: 0.2, windows: 1 }, open, (key) => (key % 100) + 4)
  expect(outcome.overAdmission).toBeLessThanOrEqual(1)
  expect(outcome.worst).toBeLessThanOrEqual(1)
  expect(outcome.wrongly).toBe(0)
})

describe('forgetting keys admits far more than is due', () => {
  test.each([
    { live: 240, least: 8 },
    { live: 400, least: 9 },
  ])('on an LRU store of 200 keys and $live live ones', ({ live, least }) => {
    const terms = { name: 'overload', policies: [policy('4/1m')], scopes: ['default'] }
    const open = (clock: Clock, maxKeys: number) => lruStore({ clock, maxKeys }).open(terms)
    const outcome = overload({ capacity: 200, live, abusive: 1, windows: 2, greed: 10 }, open, () => 4)
    expect(outcome.overAdmission).toBeGreaterThan(least)
  })

  test('on a memory store with onFull: forget', () => {
    const { open, stats } = opener([policy('4/1m')], { onFull: 'forget' })
    const outcome = overload({ capacity: 200, live: 400, abusive: 1, windows: 2 }, open, () => 4)
    expect(outcome.overAdmission).toBeGreaterThan(1.2)
    expect(stats()).toMatchObject({ keys: 200, remembered: 0, merged: 0 })
  })
})
