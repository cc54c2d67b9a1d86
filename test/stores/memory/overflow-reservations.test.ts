/* Keys that are evicted from a full memory store while their reservations are open. */
import { describe, expect, test } from 'vitest'
import {
  concurrency,
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  policy,
  RateLimiter,
  tokenBucket,
} from '../../../src/index.ts'
import type { Ledger } from '../../../src/store.ts'
import type { Booking } from '../../../src/stores/contract/command.ts'
import { MemoryStore } from '../../../src/stores/memory/memory-store.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { atLeast } from '../../support/at-least.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const policies: Record<string, Policy> = {
  tokenBucket: policy('5/10m token-bucket'),
  'tokenBucket, by interval': tokenBucket({ limit: 5, window: '10m', refill: 'interval' }),
  fixedWindow: policy('5/10m fixed-window'),
  'fixedWindow, from the first request': fixedWindow({ limit: 5, window: '10m', align: 'first-request' }),
  slidingWindow: policy('5/10m'),
  segmentedWindow: policy('5/10m segmented-window'),
  slidingLog: policy('5/10m sliding-log'),
  concurrency: concurrency({ limit: 5, lease: '10m' }),
}

/** A store of one key. */
function setUp(policies: Policy, plans: 'one plan' | 'plans') {
  const clock = new ManualClock(1_767_225_600_000)
  const store = new MemoryStore({ clock: clock.now, maxKeys: 1 }, [7, 9])
  const limiter = new RateLimiter({ policies, store })
  if (plans === 'plans') limiter.withPlan(policy('9/10m'))
  return { clock, limiter, evict: () => limiter.consumeSync('other', { cost: 5 }) }
}

const remaining = (decision: Decision) => decision.remaining

describe.each(Object.entries(policies))('%s', (_, each) => {
  test.each(['one plan', 'plans'] as const)(
    'a reservation with no call after it is settled exactly, under %s',
    async (plans) => {
      const { clock, limiter, evict } = setUp(each, plans)
      const reservation = await limiter.reserve('a', { cost: 4 })
      evict()
      expect(remaining(await limiter.peek('a')), 'from its place').toBe(1)
      clock.advance(1)
      await reservation.settle(1)
      expect(remaining(await limiter.peek('a'))).toBe(each.algorithm.leases ? 5 : 4)
    },
  )

  test('calls and reservations after its return are settled exactly', async () => {
    const { limiter, evict } = setUp(each, 'one plan')
    await limiter.reserve('a', { cost: 1 })
    limiter.consumeSync('a')
    evict()
    const reservation = await limiter.reserve('a', { cost: 3 })
    expect([reservation.allowed, reservation.decision.remaining]).toEqual([true, 0])
    await reservation.cancel()
    expect(remaining(await limiter.peek('a'))).toBe(3)
  })

  test('an evicted key never gets more than it would get without the eviction', () => {
    const clock = new ManualClock(1_767_225_600_000)
    const full = new MemoryStore({ clock: clock.now, maxKeys: 3 }, [1, 2])
    const terms = { name: 'ledger', policies: [each], scopes: ['default'] }
    const [one, other] = [full, memoryStore({ clock: clock.now })].map((store) => store.open(terms)) as [Ledger, Ledger]
    const open: { keys: string[]; cost: number; bookings: [Booking, Booking] }[] = []
    const random = seededRandom(3)
    let admitted = 0
    for (let call = 0; call < 4000; call++) {
      clock.advance(random(40_000))
      const [settled] = random(3) === 0 ? open.splice(random(open.length), 1) : []
      const keys = settled?.keys ?? [`${random(9)}`]
      const cost = 1 + random(3)
      if (settled !== undefined) {
        const back = [-Math.min(cost, settled.cost)]
        for (const [n, ledger] of [one, other].entries())
          ledger.run({ verb: 'settle', keys, costs: back, tickets: settled.bookings[n]?.tickets })
      } else if ((one.run({ verb: 'peek', keys, costs: cost }) as Decision).allowed) {
        const bookings = [one, other].map((ledger) => ledger.run({ verb: 'reserve', keys, costs: cost })) as [
          Booking,
          Booking,
        ]
        if (!bookings[1].decision.allowed) expect.fail(`call ${call}: ${keys} ${cost}`)
        open.push({ keys, cost, bookings })
        admitted++
      }
      const [left, due] = [one, other].map((ledger) => remaining(ledger.run({ verb: 'peek', keys }) as Decision))
      atLeast(due as number, left as number, `call ${call}: ${keys}`)
    }
    expect(full.stats()).toMatchObject({ merged: 0, forgotten: 0 })
    expect([full.stats().evictions > 100, admitted > 100]).toEqual([true, true])
  })
})

test.each([
  ['tokenBucket', 'one plan', 1],
  ['tokenBucket', 'plans', 4],
  ['tokenBucket, by interval', 'one plan', 4],
  ['fixedWindow', 'one plan', 4],
  ['slidingWindow', 'one plan', 4],
] as const)('%s under %s: a reservation with a call after it is cancelled to %s left', async (name, plans, left) => {
  const { limiter, clock, evict } = setUp(policies[name] as Policy, plans)
  const reservation = await limiter.reserve('a', { cost: 3 })
  clock.advance('1m')
  const before = limiter.consumeSync('a')
  evict()
  expect(await limiter.peek('a')).toMatchObject({ remaining: before.remaining, resetAfter: before.resetAfter })
  await reservation.cancel()
  expect(remaining(await limiter.peek('a'))).toBe(left)
})

test.each(['tokenBucket', 'tokenBucket, by interval', 'fixedWindow'])(
  '%s: under plans, bookings ahead are kept',
  async (name) => {
    const { limiter, evict } = setUp(policies[name] as Policy, 'plans')
    limiter.consumeSync('a', { cost: 5 })
    const booked = await limiter.reserve('a', { cost: 2, maxWait: '20m' })
    const next = await limiter.reserve('a', { cost: 1, maxWait: '20m' })
    const before = await limiter.peek('a')
    evict()
    expect(await limiter.peek('a')).toEqual(before)
    await next.cancel()
    await booked.cancel()
    expect((await limiter.peek('a')).resetAfter).toBe(600_000)
  },
)

test.each(['tokenBucket', 'tokenBucket, by interval', 'fixedWindow'])(
  '%s: under one plan, bookings ahead stay used',
  async (name) => {
    const { limiter, clock, evict } = setUp(policies[name] as Policy, 'one plan')
    limiter.consumeSync('a', { cost: 5 })
    const booked = await limiter.reserve('a', { cost: 2, maxWait: '20m' })
    const { resetAfter } = await limiter.peek('a')
    evict()
    expect(await limiter.peek('a')).toMatchObject({ allowed: false, remaining: 0, resetAfter })
    await booked.cancel()
    expect(await limiter.peek('a')).toMatchObject({ resetAfter })
    clock.advance(resetAfter)
    expect(await limiter.peek('a')).toMatchObject({ remaining: 5, resetAfter: 0 })
  },
)
