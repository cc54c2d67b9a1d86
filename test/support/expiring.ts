/* Reservations that give their units back when they expire: timelines. Each store plays them. */
import { describe, expect, test } from 'vitest'
import { calendarWindow, quota } from '../../src/calendar/index.ts'
import {
  concurrency,
  fixedWindow,
  type Policy,
  RateLimiter,
  type RateLimiterOptions,
  type Reservation,
  type Store,
  slidingWindow,
  type ThresholdEvent,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

const minute = 60_000

export type MakeStore = (clock: ManualClock) => Store

let names = 0

interface Subject {
  readonly limiter: RateLimiter
  readonly clock: ManualClock
  /** Reserves units that come back after ten minutes. */
  reserve(key: string, cost: number | Record<string, number>, expires?: string): Promise<Reservation>
  /** The used units under each policy. */
  used(key?: string): Promise<number[]>
}

function limiterOf(policies: Policy | Policy[], make: MakeStore, options?: Partial<RateLimiterOptions>): Subject {
  const clock = new ManualClock(Date.UTC(2026, 10, 23, 12))
  const name = `expiring-${names++}`
  const limiter = new RateLimiter({ name, policies, store: make(clock), onStoreError: 'throw', ...options })
  return {
    limiter,
    clock,
    reserve: (key, cost, expires = '10m') => limiter.reserve(key, { cost, expires, onExpiry: 'give-back' }),
    used: async (key = 'ann') => (await limiter.usage(key)).policies.map((each) => each.used),
  }
}

const month = (limit = 10) => calendarWindow({ limit, every: 'month' })

/** The timelines of reservations that expire, on a store. */
export function describeExpiring(name: string, make: MakeStore): void {
  describe(`reservations that expire in ${name}`, () => {
    expiries(make)
    settlements(make)
    others(make)
  })
}

function expiries(make: MakeStore): void {
  test('give their units back at the expiry, and not 1 ms before', async () => {
    const { limiter, clock, reserve, used } = limiterOf(month(), make)
    await reserve('ann', 4)
    await limiter.consume('ann', { cost: 3 })
    clock.advance(10 * minute - 1)
    expect(await used()).toEqual([7])
    clock.advance(1)
    expect(await used()).toEqual([3])
    expect((await limiter.peek('ann')).remaining).toBe(7)
    expect((await limiter.consume('ann', { cost: 7 })).allowed).toBe(true)
    expect((await limiter.consume('ann')).retryAfter).toBe(8 * 86_400_000 - 12 * 60 * minute - 10 * minute)
  })

  test('keep their units without onExpiry, and with keep', async () => {
    const { limiter, clock, used } = limiterOf(month(), make)
    await limiter.reserve('ann', { cost: 2, expires: '1m' })
    const kept = await limiter.reserve('ann', { cost: 3, expires: '1m', onExpiry: 'keep' })
    clock.advance(2 * minute)
    expect(await used()).toEqual([5])
    await kept.settle(1)
    expect(await used()).toEqual([3])
  })

  test('let a refused call wait until enough of them expire', async () => {
    const { limiter, clock, reserve } = limiterOf(month(), make)
    await reserve('ann', 4, '30m')
    await reserve('ann', 3, '10m')
    await reserve('ann', 3, '20m')
    const waits = [1, 3, 4, 6, 7, 10, 11]
    const retries = await Promise.all(waits.map(async (cost) => (await limiter.peek('ann', { cost })).retryAfter))
    expect(retries).toEqual([10, 10, 20, 20, 30, 30, Infinity].map((minutes) => minutes * minute))
    clock.advance(20 * minute - 1)
    expect((await limiter.consume('ann', { cost: 6 })).retryAfter).toBe(1)
    clock.advance(1)
    expect((await limiter.consume('ann', { cost: 6 })).allowed).toBe(true)
  })

  test('lapse with their window, so that a later window gives nothing back', async () => {
    const hour = fixedWindow({ limit: 10, window: '1h', giveBack: true })
    const { limiter, clock, reserve, used } = limiterOf(hour, make)
    clock.advance(55 * minute)
    const late = await reserve('ann', 8)
    clock.advance(5 * minute)
    expect(await used()).toEqual([0])
    await limiter.consume('ann', { cost: 9 })
    clock.advance(6 * minute)
    expect(await used()).toEqual([9])
    await late.settle(3)
    expect(await used()).toEqual([9])
  })

  test('give back under each calendar window and fixed window with giveBack, and under no other policy', async () => {
    const clocked = { limit: 20, window: '1h' } as const
    const policies = [
      calendarWindow({ limit: 20, every: 'month' }),
      fixedWindow({ ...clocked, giveBack: true, name: 'gives' }),
      fixedWindow({ ...clocked, thresholds: [0.5], name: 'tells' }),
      fixedWindow({ ...clocked, name: 'plain' }),
      slidingWindow({ limit: 20, window: '1d', name: 'sliding' }),
      tokenBucket({ limit: 20, window: '365d', name: 'bucket' }),
    ]
    const { clock, reserve, used } = limiterOf(policies, make)
    const open = await reserve('ann', 5)
    await reserve('ann', 2)
    clock.advance(10 * minute)
    expect(await used()).toEqual([0, 0, 0, 7, 7, 7])
    await open.settle(3)
    expect(await used()).toEqual([3, 3, 3, 5, 5, 5])
  })

  test('at most 100 are open for a key, and then HEADGATE_RESERVATIONS; the 101st changes nothing', async () => {
    const { limiter, clock, reserve, used } = limiterOf(month(1000), make)
    const open: Reservation[] = []
    for (let n = 0; n < 100; n++) open.push(await reserve('ann', 2, n === 50 ? '1m' : '10m'))
    const full = expect.objectContaining({ code: 'HEADGATE_RESERVATIONS', message: expect.stringContaining('100') })
    await expect(reserve('ann', 1)).rejects.toThrow(full)
    expect(await used()).toEqual([200])
    expect((await reserve('ann', 901)).allowed).toBe(false)
    expect((await reserve('bob', 1)).allowed).toBe(true)
    expect((await limiter.reserve('ann')).allowed).toBe(true)
    await open[7]?.settle(2)
    expect((await reserve('ann', 2)).allowed).toBe(true)
    await expect(reserve('ann', 1)).rejects.toThrow(full)
    clock.advance(minute)
    expect((await reserve('ann', 2)).allowed).toBe(true)
    clock.advance(10 * minute)
    expect(await used()).toEqual([3])
  })
}

function settlements(make: MakeStore): void {
  test('a settled reservation does not expire, whatever its actual cost', async () => {
    for (const actual of [0, 2, 5, 8]) {
      const { clock, reserve, used } = limiterOf(month(), make)
      const reservation = await reserve('ann', 5)
      await reserve('ann', 1)
      await reservation.settle(actual)
      expect(await used()).toEqual([actual + 1])
      clock.advance(10 * minute)
      expect(await used()).toEqual([actual])
      await reservation.settle(9)
      expect(await used()).toEqual([actual])
    }
  })

  test('a settlement after the expiry takes the whole actual cost, and a cancellation nothing', async () => {
    for (const [late, between] of [0, 2, 5, 8].flatMap((actual) => [0, 1].map((each) => [actual, each] as const))) {
      const { limiter, clock, reserve, used } = limiterOf(month(), make)
      const reservation = await reserve('ann', 5)
      clock.advance(10 * minute)
      if (between > 0) await limiter.consume('ann')
      await (late === 0 ? reservation.cancel() : reservation.settle(late))
      expect(await used(), `${late} after ${between}`).toEqual([late + between])
    }
  })

  test('two reservations that expire together are settled each by its own cost', async () => {
    const { clock, reserve, used } = limiterOf(month(20), make)
    const [first, second] = [await reserve('ann', 5), await reserve('ann', 5)]
    await reserve('ann', 5)
    await second.settle(2)
    await first.settle(4)
    expect(await used()).toEqual([11])
    clock.advance(10 * minute)
    expect(await used()).toEqual([6])
  })

  test('of several open reservations, the one that is settled does not expire', async () => {
    for (const settled of [0, 1, 2]) {
      const { clock, reserve, used } = limiterOf(month(20), make)
      const units = [5, 5, 3]
      const open = [await reserve('ann', 5), await reserve('ann', 5, '20m'), await reserve('ann', 3)]
      await open[settled]?.settle(units[settled] as number)
      clock.advance(10 * minute)
      expect(await used(), `at 10 min, ${settled}`).toEqual([settled === 1 ? 5 : 5 + (units[settled] as number)])
      clock.advance(10 * minute)
      expect(await used(), `at 20 min, ${settled}`).toEqual([units[settled]])
    }
  })

  test('refunds of more than an open reservation leave nothing to give back', async () => {
    const { limiter, clock, reserve, used } = limiterOf(month(), make)
    const reservation = await reserve('ann', 2)
    await limiter.consume('ann', { cost: 8 })
    await limiter.refund('ann', { cost: 5 })
    clock.advance(10 * minute)
    expect(await used()).toEqual([5])
    await reservation.cancel()
    expect(await used()).toEqual([5])
  })

  test('refunds come out of what an open reservation gives back', async () => {
    const { limiter, clock, reserve, used } = limiterOf(month(), make)
    await limiter.consume('ann', { cost: 2 })
    await reserve('ann', 5)
    await limiter.refund('ann', { cost: 3 })
    clock.advance(10 * minute)
    expect(await used()).toEqual([2])
  })

  test('a released reservation stays open until it is settled', async () => {
    const policies = [month(), concurrency({ limit: 2, lease: '1h' })]
    const { clock, limiter, reserve } = limiterOf(policies, make)
    const used = async () => (await limiter.peek('ann')).policies.map((each) => each.used)
    const [released, kept] = [
      await reserve('ann', { month: 4, 'at-once': 1 }),
      await reserve('ann', { month: 3, 'at-once': 1 }),
    ]
    await released.release()
    expect(await used()).toEqual([7, 1])
    await kept.renew()
    clock.advance(9 * minute)
    await kept.settle({ month: 3 })
    expect(await used()).toEqual([7, 0])
    clock.advance(minute)
    expect(await used()).toEqual([3, 0])
    await released.settle({ month: 2 })
    expect(await used()).toEqual([5, 0])
  })
}

function others(make: MakeStore): void {
  test('reset, forget and the window of a new key delete open reservations', async () => {
    const { limiter, clock, reserve, used } = limiterOf(month(), make)
    const gone = await reserve('ann', 5)
    await limiter.reset('ann')
    await limiter.consume('ann', { cost: 6 })
    await gone.settle(2)
    clock.advance(10 * minute)
    expect(await used()).toEqual([6])
  })

  test('a give-back tells no threshold, and a late settlement tells one that it reaches', async () => {
    const events: ThresholdEvent[] = []
    const telling = quota('10/month', { thresholds: [0.5, 1] })
    const { limiter, clock, reserve } = limiterOf(telling, make, { onThreshold: (event) => void events.push(event) })
    const told = () => events.splice(0).map(({ threshold, used }) => `${threshold}@${used}`)
    const late = await reserve('ann', 5)
    expect(told()).toEqual(['0.5@5'])
    clock.advance(10 * minute)
    await limiter.consume('ann', { cost: 6 })
    expect(told()).toEqual([])
    await late.settle(4)
    expect(told()).toEqual(['1@10'])
  })

  test('a list of costs: only the budget that has paid gets units back', async () => {
    const { limiter, clock } = limiterOf([month(2), calendarWindow({ limit: 9, every: 'year' })], make)
    if (limiter.store.traits?.alternatives !== true) return
    const cost = [
      { month: 2, year: 0 },
      { month: 0, year: 2 },
    ]
    const used = async () => (await limiter.usage('ann')).policies.map((each) => each.used)
    const reserve = () => limiter.reserve('ann', { cost, expires: '10m', onExpiry: 'give-back' })
    const [own, pool] = [await reserve(), await reserve()]
    expect(await used()).toEqual([2, 2])
    await own.settle(1)
    clock.advance(10 * minute)
    expect(await used()).toEqual([1, 0])
    await pool.settle(1)
    expect(await used()).toEqual([1, 1])
  })

  test('under another plan: kept units expire with the plan, scaled units stay used', async () => {
    for (const [onChange, before, after] of [
      ['keep', 9, 5],
      ['scale', 41, 41],
    ] as const) {
      const { limiter, clock, reserve } = limiterOf(month(), make, { onChange })
      await limiter.consume('ann', { cost: 4 })
      await reserve('ann', 4)
      const larger = limiter.withPlan(month(50))
      const used = async () => (await larger.peek('ann')).policies[0]?.used
      expect((await larger.consume('ann')).allowed).toBe(true)
      expect(await used()).toBe(before)
      clock.advance(10 * minute)
      expect(await used()).toBe(after)
    }
  })

  test('under another plan, a refused call waits for the expiry, and for no longer', async () => {
    for (const onChange of ['keep', 'scale'] as const) {
      const { limiter, clock, reserve } = limiterOf(month(100), make, { onChange })
      await limiter.consume('ann', { cost: 20 })
      await reserve('ann', 50)
      const small = limiter.withPlan(month(50))
      const decision = await small.consume('ann', { cost: 20 })
      const peeked = onChange === 'keep' ? decision.retryAfter : (await small.peek('ann', { cost: 20 })).retryAfter
      expect([decision.allowed, peeked]).toEqual([false, 10 * minute])
      clock.advance(10 * minute - 1)
      expect((await small.consume('ann', { cost: 20 })).allowed).toBe(false)
      clock.advance(1)
      expect((await small.consume('ann', { cost: 20 })).allowed).toBe(true)
    }
  })

  test('a late settlement takes the whole cost after a change of the anchor, until its own window ends', async () => {
    const plans = [calendarWindow({ limit: 100, every: 'month', anchor: 25 }), month(300)] as const
    for (const [before, after, window] of [
      [...plans, 36 * 60 * minute],
      [...plans.toReversed(), 7.5 * 1440 * minute],
    ] as [Policy, Policy, number][]) {
      for (const [passed, used] of [
        [10 * minute, 11],
        [window - 1, 11],
        [window, 3],
      ] as const) {
        const { limiter, clock, reserve } = limiterOf(before, make)
        const upgraded = limiter.withPlan(after)
        const late = await reserve('ann', 5)
        clock.advance(passed)
        await upgraded.consume('ann', { cost: 3 })
        await late.settle(8)
        expect((await upgraded.usage('ann')).policies[0]?.used, `${window}, after ${passed}`).toBe(used)
      }
    }
  })

  test('after a reset, a settlement takes the surplus in the window of another anchor', async () => {
    const { limiter } = limiterOf(calendarWindow({ limit: 100, every: 'month', anchor: 'caller' }), make)
    for (const [old, now] of [
      [25, 20],
      [20, 25],
    ] as const) {
      const calendar = { anchor: now }
      const late = await limiter.reserve('ann', { cost: 3, calendar: { anchor: old } })
      await limiter.reset('ann')
      await limiter.consume('ann', { cost: 1, calendar })
      await late.settle(90)
      expect((await limiter.usage('ann', { calendar })).policies[0]?.used, `${old}, then ${now}`).toBe(88)
      await limiter.reset('ann')
    }
  })

  test('a settlement after the end of its month changes nothing, also under a plan for a quarter', async () => {
    const end = 7.5 * 1440 * minute // from 23 November, 12:00, to 1 December
    for (const [passed, used] of [
      [end - 1, 11],
      [end, 3],
    ] as const) {
      const { limiter, clock, reserve } = limiterOf(month(100), make)
      const quarter = limiter.withPlan(calendarWindow({ name: 'month', limit: 300, every: 'quarter' }))
      const late = await reserve('ann', 5)
      clock.advance(10 * minute)
      await quarter.consume('ann', { cost: 3 })
      clock.advance(passed - 10 * minute)
      await late.settle(8)
      expect((await quarter.usage('ann')).policies[0]?.used, `after ${passed}`).toBe(used)
    }
  })

  test('a reservation of a bucket takes its surplus after a change to a calendar window', async () => {
    const { limiter } = limiterOf(tokenBucket({ name: 'month', limit: 10, window: '365d' }), make)
    const monthly = limiter.withPlan(month(100))
    const open = await limiter.reserve('ann', { cost: 2 })
    await monthly.consume('ann', { cost: 3 })
    await open.settle(4)
    expect((await monthly.usage('ann')).policies[0]?.used).toBe(7)
  })

  test('a reservation with several keys gives back under each key', async () => {
    const team = calendarWindow({ limit: 10, every: 'month', scope: 'team', name: 'team' })
    const user = calendarWindow({ limit: 5, every: 'day', scope: 'user', name: 'user' })
    const { limiter, clock } = limiterOf([team, user], make)
    const key = { team: 'red', user: 'ann' }
    const options = { cost: 3, expires: '10m', onExpiry: 'give-back' } as const
    const settled = await limiter.reserve(key, options)
    expect((await limiter.reserve(key, options)).allowed).toBe(false)
    await limiter.reserve({ team: 'red', user: 'bob' }, options)
    await settled.settle(1)
    const used = async () => (await limiter.usage(key)).policies.map((each) => each.used)
    expect(await used()).toEqual([4, 1])
    clock.advance(10 * minute)
    expect(await used()).toEqual([1, 1])
  })

  test('one too many for one key changes nothing under another key, and a shadow policy keeps the units', async () => {
    const team = calendarWindow({ limit: 1000, every: 'month', scope: 'team', name: 'team' })
    const user = calendarWindow({ limit: 5, every: 'day', scope: 'user', name: 'user' })
    const options = { expires: '10m', onExpiry: 'give-back' } as const
    for (const shadow of [false, true]) {
      const { limiter, clock } = limiterOf([shadow ? { ...team, shadow } : team, user], make)
      const used = async () => (await limiter.usage({ team: 'red', user: 'new' })).policies.map((each) => each.used)
      for (let n = 0; n < 100; n++) await limiter.reserve({ team: 'red', user: `u${n}` }, options)
      const more = limiter.reserve({ team: 'red', user: 'new' }, options)
      if (!shadow) await expect(more).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_RESERVATIONS' }))
      expect([(await more.catch(() => undefined))?.allowed, await used()]).toEqual(
        shadow ? [true, [101, 1]] : [undefined, [100, 0]],
      )
      clock.advance(10 * minute)
      expect(await used()).toEqual(shadow ? [1, 0] : [0, 0])
    }
  })

  test('an inspection shows open reservations and when they expire', async () => {
    const { limiter, clock, reserve } = limiterOf(month(), make)
    await reserve('ann', 4, '20m')
    await reserve('ann', 3)
    clock.advance(minute)
    const shown = async () => (await limiter.inspect('ann')).policies.map(({ used, expiring }) => ({ used, expiring }))
    expect(await shown()).toEqual([
      {
        used: 7,
        expiring: [
          { units: 3, after: 9 * minute },
          { units: 4, after: 19 * minute },
        ],
      },
    ])
    clock.advance(9 * minute)
    expect(await shown()).toEqual([{ used: 4, expiring: [{ units: 4, after: 10 * minute }] }])
    clock.advance(10 * minute)
    expect(await shown()).toEqual([{ used: 0, expiring: [] }])
  })
}
