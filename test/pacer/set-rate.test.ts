import { describe, expect, test } from 'vitest'
import type { Costs } from '../../src/algorithms/evaluation/evaluation.ts'
import {
  type Clock,
  fixedWindow,
  gcra,
  memoryStore,
  type Policy,
  type Store,
  slidingLog,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import type { Booking, Ledger } from '../../src/store.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { rounds } from '../support/depth.ts'
import { seededRandom } from '../support/seeded-random.ts'

/* A law of setRate, at any microsecond: it takes no unit, and later calls come no sooner than the booked slots. */

const policies: [string, (limit: number) => Policy][] = [
  ['gcra', (limit) => gcra({ limit, window: '1s', burst: 1 })],
  ['tokenBucket', (limit) => tokenBucket({ limit, window: '1s', burst: 5 })],
  ['tokenBucket of the limit', (limit) => tokenBucket({ limit, window: '1s' })],
  ['interval', (limit) => tokenBucket({ limit, window: '1s', refill: 'interval' })],
  ['fixedWindow', (limit) => fixedWindow({ limit, window: '1s' })],
  ['fixedWindow from the first request', (limit) => fixedWindow({ limit, window: '1s', align: 'first-request' })],
  ['slidingLog', (limit) => slidingLog({ limit, window: '1s' })],
  ['smoothBursty', (rate) => smoothBursty({ rate })],
]

/** The units under the only policy. */
function unitsOf(costs: Costs): number {
  return typeof costs === 'number' ? costs : (costs[0] as number)
}

/** A memory store that counts the units it gives to bookings and charges, less those it gets back. */
function countingStore(clock: Clock): { store: Store; used: () => number } {
  const store = memoryStore({ clock })
  let used = 0
  const inner = new WeakMap<Ledger, Ledger>()
  const open: Store['open'] = (terms, joins) => {
    const ledger = store.open(terms, joins && inner.get(joins))
    const counting: Ledger = {
      run(command) {
        const { verb, costs = 1 } = command
        const outcome = ledger.run(command)
        if (verb === 'charge' || verb === 'settle') used += unitsOf(costs)
        if (verb === 'refund') used -= unitsOf(costs)
        if (verb === 'reserve' && (outcome as Booking).decision.allowed) used += unitsOf(costs)
        return outcome
      },
    }
    inner.set(counting, ledger)
    return counting
  }
  return { store: { synchronous: true, traits: { exclusive: true }, open }, used: () => used }
}

describe.each(policies)('%s', (_, policyOf) => {
  test.each([
    [7, 7000],
    [7, 70],
    [1000, 999],
    [7, 7],
    [70, 7],
    [3000, 1],
    [2000, 9999],
  ])('from %i to %i', async (from, to) => {
    for (let seed = 1; seed <= rounds(25, 100); seed++) {
      const random = seededRandom(seed)
      const clock = new ManualClock(1_800_000_000_000)
      const wait = (microseconds: number) => clock.set(clock.milliseconds + random(microseconds) / 1000)
      wait(1_000_000)
      // The pacer reads the time after the store, which takes longer at some times than at others.
      let skew = 0
      const { store, used } = countingStore(() => clock.now() - skew)
      const pause = random(4) * 700
      const pacer = new Pacer(policyOf(from), { name: 'pacer', store, clock: clock.now, sleeper: clock.sleeper })
      const booked: number[] = []
      const count = 12 + random(20)
      for (let n = 0; n < count; n++) {
        skew = pause
        const { at } = await pacer.reserve()
        skew = 0
        booked.push(at)
        if (random(3) === 0) wait(50_000)
      }
      wait(300_000)
      pacer.setRate(to)
      expect(used()).toBe(count)
      const { at } = await pacer.reserve()
      expect(at + pause / 1000 + 1).toBeGreaterThanOrEqual(Math.max(...booked))
    }
  })
})

test('what was given back in between is not booked before the slots that are left', async () => {
  const clock = new ManualClock()
  const { store, used } = countingStore(clock.now)
  const policy = tokenBucket({ limit: 10, window: '1s' })
  const pacer = new Pacer(policy, { store, clock: clock.now, sleeper: clock.sleeper })
  await pacer.reserve(10)
  const large = await pacer.reserve(5)
  const last = await pacer.reserve()
  await large.cancel()
  expect([large.wait, last.wait, used()]).toEqual([500, 600, 11])
  pacer.setRate(100)
  const { wait } = await pacer.reserve()
  expect(wait).toBe(600)
})
