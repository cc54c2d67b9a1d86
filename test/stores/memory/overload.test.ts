import { describe, expect, test } from 'vitest'
import { leastRecentlyUsed, overload, planned } from '../../../bench/overload/overload.mjs'
import {
  type Clock,
  fixedWindow,
  type Ledger,
  type MemoryStoreOptions,
  type Policy,
  policy,
  tokenBucket,
} from '../../../src/index.ts'
import { MemoryStore } from '../../../src/stores/memory/memory-store.ts'

const capacity = 5000

/** Opens ledgers on stores with a seed of their own, the same in every run. */
function opener(policies: readonly Policy[], options: MemoryStoreOptions = {}) {
  const stores: MemoryStore[] = []
  const open = (clock: Clock, maxKeys: number): Ledger => {
    const store = new MemoryStore({ ...options, clock, maxKeys }, [20, 26])
    stores.push(store)
    return store.open({ name: 'overload', policies, scopes: ['default'] })
  }
  return { open, stats: () => (stores[0] as MemoryStore).stats() }
}

const algorithms: Record<string, Policy[]> = {
  tokenBucket: [policy('4/1m token-bucket')],
  'tokenBucket, by interval': [tokenBucket({ limit: 4, window: '1m', refill: 'interval' })],
  gcra: [policy('4/1m gcra')],
  fixedWindow: [policy('4/1m fixed-window')],
  'fixedWindow, from the first request': [fixedWindow({ limit: 4, window: '1m', align: 'first-request' })],
  slidingWindow: [policy('4/1m')],
  segmentedWindow: [policy('4/1m segmented-window')],
  slidingLog: [policy('4/1m sliding-log')],
  'two policies': [policy('4/1m token-bucket'), policy('30/1h fixed-window')],
  'three policies, one a log': [policy('4/1m'), policy('30/1h sliding-log'), fixedWindow({ limit: 100, window: '1d' })],
}

describe.each(Object.entries(algorithms))('%s, a store of 5,000 keys', (_name, policies) => {
  test.each([
    { live: 6000, abusive: 0.2, wrongly: 0 },
    { live: 10_000, abusive: 0, wrongly: 0 },
    { live: 10_000, abusive: 0.5, wrongly: 0 },
    { live: 50_000, abusive: 0.2, wrongly: 0.001, windows: 1.2 },
  ])('and $live live ones, $abusive of them abusive: nobody gets more than is due', ({ wrongly, ...load }) => {
    const { open, stats } = opener(policies)
    const outcome = overload({ windows: 2, ...load, capacity }, open, () => 4)
    expect(stats().evictions).toBeGreaterThan(0)
    expect(outcome.overAdmission).toBeLessThanOrEqual(1)
    expect(outcome.worst, 'of each key by itself').toBeLessThanOrEqual(1)
    expect(outcome.wronglyAdmitted).toBe(0)
    expect(outcome.wrongly, 'of the calls of well-behaved keys').toBeLessThanOrEqual(wrongly)
  })
})

describe('beyond what can be remembered', () => {
  test.each(Object.entries(algorithms))(
    'a hundred times the capacity admits no more than is due: %s',
    (_, policies) => {
      const { open, stats } = opener(policies)
      const outcome = overload({ capacity: 50, live: 5000, abusive: 0.2, windows: 6 }, open, () => 4)
      expect(stats().merged).toBeGreaterThan(1000)
      expect(outcome.overAdmission).toBeLessThanOrEqual(1)
    },
  )
})

/** Three plans, or as many as the limits: each with its policies. */
const limits = [3, 5, 8]
const plans: Record<string, Policy[][]> = {
  tokenBucket: limits.map((limit) => [policy(`${limit}/1m token-bucket`)]),
  fixedWindow: limits.map((limit) => [policy(`${limit}/1m fixed-window`)]),
  slidingWindow: limits.map((limit) => [policy(`${limit}/1m`)]),
  'several algorithms': [
    [policy('3/1m')],
    [policy('5/1m token-bucket'), policy('200/1h')],
    [policy('8/1m fixed-window'), policy('1000/1d token-bucket')],
  ],
}
const turn = 17_000_000

/** Opens ledgers of all plans, as one by which each key has its plan, or another after each `turns` of microseconds. */
function planOpener(all: readonly Policy[][], turns: number) {
  const [first = [], ...others] = all
  const { open, stats } = opener(first)
  const openPlans = (clock: Clock, maxKeys: number) => {
    const ledger = open(clock, maxKeys)
    const under = (policies: Policy[]) => ledger.vary?.({ name: 'overload', policies, scopes: ['default'] })
    return planned([ledger, ...others.map(under)], clock, turns)
  }
  return { open: openPlans, stats }
}

const loads = [
  { live: 6000, abusive: 0.2, turns: Infinity },
  { live: 10_000, abusive: 0.5, turns: Infinity },
  { live: 10_000, abusive: 0.5, turns: turn },
]

describe.each(Object.entries(plans))('three plans, %s, a store of 5,000 keys', (name, policies) => {
  test.each([
    ...loads,
    ...(name === 'several algorithms' ? [Infinity, turn].map((turns) => ({ live: 50_000, abusive: 0.2, turns })) : []),
  ])('and $live live ones, $abusive of them abusive, a turn after $turns: nobody gets more than is due', (load) => {
    const { open, stats } = planOpener(policies, load.turns)
    const limitOf = (key: number) => limits[load.turns === Infinity ? key % 3 : 0] as number
    const outcome = overload({ windows: 1.2, ...load, capacity }, open, limitOf)
    expect(stats().evictions).toBeGreaterThan(0)
    expect(outcome.overAdmission).toBeLessThanOrEqual(1)
    expect(outcome.worst, 'of each key by itself').toBeLessThanOrEqual(1)
    expect(outcome.wronglyAdmitted).toBe(0)
    expect(outcome.wrongly, 'of the calls of well-behaved keys').toBeLessThanOrEqual(load.live > 10_000 ? 0.001 : 0)
  })

  test.each([Infinity, turn])('a hundred times the capacity admits no more than is due, a turn after %d', (turns) => {
    const { open, stats } = planOpener(policies, turns)
    const outcome = overload({ capacity: 20, live: 2000, abusive: 0.2, windows: 4 }, open, () => 3)
    expect(stats().merged).toBeGreaterThan(1000)
    expect(outcome.overAdmission).toBeLessThanOrEqual(1)
  })
})

describe('a hundred plans, more than there are cells for, and a store of 100 keys', () => {
  const policies = Array.from({ length: 100 }, (_, n) => [policy(`${n + 4}/1m token-bucket`)])

  test.each([
    { live: 200, wrongly: 0 },
    { live: 1000, wrongly: 0.001 },
    { live: 4000, wrongly: 1 },
  ])('and $live live ones', ({ live, wrongly }) => {
    const { open } = planOpener(policies, Infinity)
    const outcome = overload({ capacity: 100, live, abusive: 0.2, windows: 1 }, open, (key) => (key % 100) + 4)
    expect(outcome.overAdmission).toBeLessThanOrEqual(1)
    expect(outcome.worst).toBeLessThanOrEqual(1)
    expect(outcome.wronglyAdmitted).toBe(0)
    expect(outcome.wrongly).toBeLessThanOrEqual(wrongly)
  })
})

describe('what forgetting admits', () => {
  test.each([
    { live: 600, least: 8 },
    { live: 1000, least: 9 },
  ])('a least recently used table of 500 and $live keys', ({ live, least }) => {
    const { open } = opener([policy('4/1m')], { onFull: 'forget' })
    const lru = (clock: Clock, keys: number) => leastRecentlyUsed(open(clock, live), keys)
    const outcome = overload({ capacity: 500, live, abusive: 1, windows: 2, greed: 10 }, lru, () => 4)
    expect(outcome.overAdmission).toBeGreaterThan(least)
  })

  test('with onFull forget', () => {
    const { open, stats } = opener([policy('4/1m')], { onFull: 'forget' })
    const outcome = overload({ capacity, live: 10_000, abusive: 1, windows: 2 }, open, () => 4)
    expect(outcome.overAdmission).toBeGreaterThan(1.2)
    expect(stats()).toMatchObject({ keys: capacity, remembered: 0, merged: 0 })
  })
})
