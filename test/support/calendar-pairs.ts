/* Windows of a calendar beside the other parts of a limiter, on any store: called by `describeCalendars`. */
import { describe, expect, test } from 'vitest'
import { type CalendarWindowOptions, calendarWindow } from '../../src/calendar/index.ts'
import {
  concurrency,
  fixedWindow,
  type Policy,
  RateLimiter,
  type RateLimiterOptions,
  type Reservation,
  type ThresholdEvent,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import type { CalendarSubject } from './calendar-laws.ts'

const day = 86_400_000
const start = Date.UTC(2026, 0, 10)
const february = Date.UTC(2026, 1, 1)
const march = Date.UTC(2026, 2, 1)

let prefixes = 0

/** Two keys, which Redis Cluster has in two slots. */
const keys = { account: 'a', user: 'u' }

interface Correction {
  readonly title: string
  readonly correct: (limiter: RateLimiter, reservation: Reservation) => Promise<unknown>
  /** The used units by the day, by the month and at once. */
  readonly used: readonly number[]
  /** The thresholds of the month that were told, in units. */
  readonly told: readonly number[]
}

/**
 * What a process does after it was idle for two days, so that it knows no window by the day that runs. It has a reservation of 4 units,
 * and 10 units of the month are used.
 */
const corrections: readonly Correction[] = [
  {
    title: 'a refund',
    correct: (limiter) => limiter.refund(keys, { cost: { daily: 3, quota: 3, 'at-once': 0 } }),
    used: [0, 7, 1],
    told: [],
  },
  {
    title: 'a settlement that gives back',
    correct: (_, reservation) => reservation.settle({ daily: 1, quota: 1 }),
    used: [0, 7, 0],
    told: [],
  },
  {
    title: 'a settlement that takes more',
    correct: (_, reservation) => reservation.settle({ daily: 9, quota: 9 }),
    used: [0, 15, 0],
    told: [11, 15],
  },
  { title: 'a cancellation', correct: (_, reservation) => reservation.cancel(), used: [0, 6, 0], told: [] },
  { title: 'a release', correct: (_, reservation) => reservation.release(), used: [0, 10, 0], told: [] },
  { title: 'a renewal', correct: (_, reservation) => reservation.renew(), used: [0, 10, 1], told: [] },
  {
    title: 'a renewal before a release',
    correct: (_, reservation) => reservation.renew().then(() => reservation.release()),
    used: [0, 10, 0],
    told: [],
  },
  {
    title: 'a charge before a cancellation',
    async correct(limiter, reservation) {
      await limiter.charge(keys, { cost: { daily: 5, quota: 5, 'at-once': 0 } })
      await reservation.cancel()
    },
    used: [5, 11, 0],
    told: [11, 15],
  },
  {
    title: 'a call',
    correct: (limiter) => limiter.consume(keys, { cost: { daily: 1, quota: 1, 'at-once': 0 } }),
    used: [1, 11, 1],
    told: [11],
  },
  {
    title: 'a reservation before a refused call',
    async correct(limiter) {
      await limiter.reserve(keys, { cost: { daily: 6, quota: 6, 'at-once': 0 } })
      await limiter.consume(keys, { cost: { daily: 1, quota: 5, 'at-once': 0 } })
    },
    used: [6, 16, 1],
    told: [11, 15],
  },
]

/** 10 units a month, by default from the first, UTC. */
const monthly = (options: Partial<CalendarWindowOptions> = {}) =>
  calendarWindow({ name: 'quota', limit: 10, every: 'month', ...options })

export function describeCalendarPairs({ name, create }: CalendarSubject): void {
  function setUp(policies: Policy | readonly Policy[], more: Partial<RateLimiterOptions> = {}) {
    const clock = new ManualClock(start)
    const store = create(clock.now, `pairs-${prefixes++}`)
    const limiter = new RateLimiter({
      name: 'pairs',
      policies,
      store,
      onStoreError: 'throw',
      storeTimeout: '20s',
      ...more,
    })
    return { clock, store, limiter }
  }

  describe(`windows of a calendar on ${name}, beside other parts`, () => {
    test.each(['keep', 'scale'] as const)('a plan with another limit keeps the window, with %s', async (onChange) => {
      const { clock, limiter } = setUp(monthly(), { onChange })
      const [large, small] = [20, 5].map((limit) => limiter.withPlan(monthly({ limit }))) as [RateLimiter, RateLimiter]
      await limiter.consume('k', { cost: 10 })
      if (onChange === 'keep') await large.consume('k', { cost: 10 })
      for (const each of [large, limiter, small]) {
        expect(await each.consume('k')).toMatchObject({ allowed: false, retryAfter: february - start })
      }
      clock.set(february - 1)
      for (const each of [large, limiter, small]) expect((await each.consume('k')).allowed).toBe(false)
      clock.set(february)
      expect(await small.consume('k', { cost: 2 })).toMatchObject({
        allowed: true,
        remaining: 3,
        resetAfter: 28 * day,
      })
      const left = onChange === 'keep' ? 17 : 11
      expect(await large.consume('k')).toMatchObject({ allowed: true, remaining: left, resetAfter: 28 * day })
    })

    test('a plan by the day and a plan by the month carry used units, and neither refills the other', async () => {
      const { clock, limiter } = setUp(monthly())
      const daily = limiter.withPlan(monthly({ every: 'day' }))
      await limiter.consume('k', { cost: 5 })
      expect(await daily.consume('k', { cost: 3 })).toMatchObject({ allowed: true, remaining: 2 })
      expect(await limiter.consume('k', { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 })
      expect(await daily.consume('k')).toMatchObject({ allowed: false, retryAfter: february - start })
      clock.advance(day)
      for (const each of [daily, limiter]) expect((await each.consume('k')).allowed).toBe(false)
      const fixed = limiter.withPlan(fixedWindow({ name: 'quota', limit: 10, window: '1d' }))
      expect((await fixed.consume('k')).allowed).toBe(false)
      clock.set(february)
      expect(await fixed.consume('k', { cost: 9 })).toMatchObject({ allowed: true, resetAfter: day })
      expect(await limiter.consume('k')).toMatchObject({ allowed: true, remaining: 0, resetAfter: 28 * day })
    })

    test('a customer who toggles the anchor gets no early refill', async () => {
      const { clock, limiter } = setUp(monthly({ anchor: 'caller', timeZone: 'caller' }))
      const first = { anchor: 1, timeZone: 'UTC' }
      const middle = { anchor: '2024-05-15', timeZone: 'Europe/Berlin' }
      const inBerlin = Date.UTC(2026, 1, 14, 23)
      await limiter.consume('k', { cost: 10, calendar: first })
      for (let time = start; time < february; time += 3 * day) {
        clock.set(time)
        for (const calendar of [middle, first]) {
          expect(await limiter.consume('k', { calendar })).toMatchObject({
            allowed: false,
            retryAfter: february - time,
          })
        }
      }
      clock.set(february)
      const refilled = await limiter.consume('k', { cost: 10, calendar: middle })
      expect(refilled).toMatchObject({ allowed: true, resetAfter: inBerlin - february })
      expect(await limiter.consume('k', { calendar: first })).toMatchObject({ retryAfter: inBerlin - february })
      clock.set(inBerlin)
      expect(await limiter.consume('k', { calendar: first })).toMatchObject({
        allowed: true,
        remaining: 9,
        resetAfter: march - inBerlin,
      })
    })

    test('plans that differ only in their time zone are two plans', async () => {
      const { clock, limiter } = setUp(monthly())
      clock.set(Date.UTC(2026, 0, 31, 20))
      const ends = {
        UTC: february,
        'Asia/Tokyo': Date.UTC(2026, 1, 28, 15),
        'Europe/Berlin': Date.UTC(2026, 0, 31, 23),
      }
      for (const [timeZone, end] of Object.entries(ends)) {
        const plan = limiter.withPlan(monthly({ timeZone }))
        expect((await plan.consume(timeZone)).resetAfter).toBe(end - clock.milliseconds)
      }
      expect((await limiter.consume('k')).resetAfter).toBe(february - clock.milliseconds)
    })

    test('limiters that share a policy use the windows of each call', async () => {
      const policy = monthly({ anchor: 'caller' })
      const { limiter, store } = setUp(policy)
      const other = new RateLimiter({ name: 'other', policies: policy, store, onStoreError: 'throw' })
      const calls = [20, 15, 25, 10, 11].flatMap((anchor) =>
        [limiter, other].map((each) => each.consume(`${anchor}`, { calendar: { anchor } })),
      )
      const ends = (await Promise.all(calls)).map(({ resetAfter }) => new Date(start + resetAfter).getUTCDate())
      expect(ends).toEqual([20, 20, 15, 15, 25, 25, 10, 10, 11, 11])
    })

    test('what is settled after the end of the window changes nothing', async () => {
      const { clock, limiter } = setUp([monthly(), calendarWindow({ limit: 20, every: 'quarter' })])
      const reservations = [1, 2, 3].map(() => limiter.reserve('k', { cost: 3 }))
      const [settled, lower, higher] = await Promise.all(reservations)
      await settled?.settle(1)
      const used = async () => (await limiter.peek('k')).policies.map((policy) => policy.used)
      expect(await used()).toEqual([7, 7])
      clock.set(february)
      await limiter.consume('k', { cost: 2 })
      await lower?.cancel()
      expect(await used()).toEqual([2, 6])
      await higher?.settle(5)
      expect(await used()).toEqual([2, 8])
      const last = await limiter.reserve('k')
      await limiter.charge('k', { cost: 20 })
      expect(await used()).toEqual([23, 29])
      clock.set(Date.UTC(2026, 3, 1))
      await last.settle(9)
      expect(await used()).toEqual([0, 0])
    })

    test.each(corrections)(
      'a process that was idle for two days: $title counts once',
      async ({ correct, used, told }) => {
        const policies = [
          calendarWindow({ name: 'daily', limit: 20, every: 'day', scope: 'user' }),
          monthly({ limit: 20, scope: 'account', thresholds: [0.55, 0.75] }),
          concurrency({ name: 'at-once', limit: 5, lease: '20d', scope: 'account' }),
        ]
        const events: number[] = []
        const onThreshold = ({ threshold, limit }: ThresholdEvent) => void events.push(Math.round(threshold * limit))
        const { clock, limiter } = setUp(policies, { onThreshold })
        await limiter.consume(keys, { cost: { daily: 6, quota: 6, 'at-once': 0 } })
        const reservation = await limiter.reserve(keys, { cost: { daily: 4, quota: 4, 'at-once': 1 } })
        clock.advance(2 * day)
        await correct(limiter, reservation)
        expect((await limiter.peek(keys, { cost: 1 })).policies.map((policy) => policy.used)).toEqual(used)
        expect(events).toEqual(told)
      },
    )

    test('a process that was idle for two days corrects a cost of 0', async () => {
      const { clock, limiter } = setUp([
        calendarWindow({ name: 'daily', limit: 20, every: 'day', scope: 'user' }),
        monthly({ limit: 20, scope: 'account' }),
      ])
      const reservation = await limiter.reserve(keys, { cost: { daily: 0, quota: 4 } })
      clock.advance(2 * day)
      await reservation.settle({ daily: 3, quota: 5 })
      expect((await limiter.peek(keys)).policies.map((policy) => policy.used)).toEqual([3, 5])
    })

    test('a reservation waits for no later window, and corrects a cost of 0', async () => {
      const { limiter } = setUp([monthly(), calendarWindow({ limit: 10, every: 'day' })])
      const reservation = await limiter.reserve('k', { cost: { quota: 0, day: 2 } })
      await reservation.settle({ quota: 4, day: 3 })
      expect((await limiter.peek('k')).policies.map(({ remaining }) => remaining)).toEqual([6, 7])
      const refused = await limiter.reserve('k', { cost: 8, maxWait: '60d' })
      expect(refused).toMatchObject({ allowed: false, wait: 0, decision: { retryAfter: february - start } })
    })

    test('a penalty until the end of the window, a ban by hand, and refusals that count', async () => {
      const policies = [monthly({ limit: 2 }), calendarWindow({ limit: 4, every: 'day', countRefused: true })]
      const { clock, limiter } = setUp(policies, { penalty: { after: 2, within: '1h', until: 'window' } })
      for (let call = 0; call < 4; call++) await limiter.consume('k')
      expect(await limiter.consume('k')).toMatchObject({
        allowed: false,
        retryAfter: february - start,
      })
      await limiter.ban('k', '60d')
      expect((await limiter.consume('k')).retryAfter).toBe(60 * day)
      expect((await limiter.inspect('k')).refused).toBe(true)
      await limiter.unban('k')
      expect((await limiter.peek('k')).policies.map(({ remaining }) => remaining).slice(0, 2)).toEqual([0, 0])
      clock.set(february)
      expect((await limiter.consume('k')).policies.map(({ remaining }) => remaining).slice(0, 2)).toEqual([1, 3])
    })

    test('inspect shows the window and its debt, and reset ends both', async () => {
      const { clock, limiter } = setUp(monthly({ anchor: 'caller' }))
      const calendar = { anchor: 20 }
      await limiter.charge('k', { cost: 14, calendar })
      const inspected = await limiter.inspect('k')
      expect(inspected).toMatchObject({ refused: true, retryAfter: 10 * day })
      expect(inspected.policies[0]).toMatchObject({
        used: 14,
        debt: 4,
        numbers: { used: 14, windowStart: Date.UTC(2025, 11, 20), windowEnd: Date.UTC(2026, 0, 20) },
      })
      clock.set(Date.UTC(2026, 0, 20))
      expect((await limiter.inspect('k')).policies[0]).toMatchObject({ used: 0, debt: 0, remaining: 10 })
      await limiter.consume('k', { cost: 10, calendar })
      await limiter.reset('k')
      expect((await limiter.peek('k', { calendar })).remaining).toBe(10)
      await expect(limiter.consume('k')).rejects.toMatchObject({ code: 'HEADGATE_CALENDAR' })
    })

    test.each([0, 1, 12 * 3_600_000, 30 * day, 31 * day, 40 * day, 400 * day])(
      'a clock that goes back by %i ms adds no quota, and retryAfter is exact',
      async (back) => {
        const { clock, limiter } = setUp(monthly())
        clock.set(Date.UTC(2026, 5, 3))
        await limiter.consume('k', { cost: 10 })
        clock.set(clock.milliseconds - back)
        const { allowed, retryAfter } = await limiter.consume('k')
        expect(allowed).toBe(false)
        clock.advance(retryAfter - 1)
        expect((await limiter.consume('k')).allowed).toBe(false)
        clock.advance(1)
        expect((await limiter.consume('k')).allowed).toBe(true)
      },
    )
  })
}
