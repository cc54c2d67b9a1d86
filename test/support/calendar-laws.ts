/* What windows of a calendar promise, on any store: `describeCalendars({ name, create })`. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type CalendarWindowOptions, calendarWindow } from '../../src/calendar/index.ts'
import {
  type Clock,
  concurrency,
  type Key,
  type Policy,
  RateLimiter,
  type Store,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { describeCalendarPairs } from './calendar-pairs.ts'
import { inDepth } from './depth.ts'

export interface CalendarSubject {
  name: string
  /** Creates a store. Each prefix is used once. Without a clock, the store's own clock decides. */
  create(clock: Clock | undefined, prefix: string): Store
  /** The time of the store's own clock in milliseconds, for a store that has one. */
  storeTime?: () => Promise<number>
  /** True if stores with one prefix share their states, and each has its own clock. */
  shared?: boolean
  /** True if a store takes units before calls need them, so that other plans see these units as used. */
  leases?: boolean
}

const hour = 3_600_000
const day = 24 * hour

/** A limit, where it starts, and the ends of its first two windows. */
const timelines: readonly (readonly [string, Omit<CalendarWindowOptions, 'limit'>, string, string, string])[] = [
  ['a month', { every: 'month' }, '2026-02-10T11:12:13.014Z', '2026-03-01T00:00:00Z', '2026-04-01T00:00:00Z'],
  [
    'a month from the 31st, in Berlin',
    { every: 'month', anchor: 31, timeZone: 'Europe/Berlin' },
    '2026-02-27T23:00:00Z',
    '2026-03-30T22:00:00Z',
    '2026-04-29T22:00:00Z',
  ],
  [
    'a day of 25 hours, in New York',
    { every: 'day', timeZone: 'America/New_York' },
    '2026-11-01T04:00:00Z',
    '2026-11-02T05:00:00Z',
    '2026-11-03T05:00:00Z',
  ],
  [
    'a day whose midnight is skipped, in Beirut',
    { every: 'day', timeZone: 'Asia/Beirut' },
    '2026-03-28T21:59:59.999Z',
    '2026-03-28T22:00:00Z',
    '2026-03-29T21:00:00Z',
  ],
  [
    'a week from Sunday',
    { every: 'week', weekStart: 'sunday' },
    '2026-12-31T00:00:00Z',
    '2027-01-03T00:00:00Z',
    '2027-01-10T00:00:00Z',
  ],
  ['a quarter', { every: 'quarter' }, '2027-12-31T23:59:59.999Z', '2028-01-01T00:00:00Z', '2028-04-01T00:00:00Z'],
  [
    'two months',
    { every: { months: 2 }, anchor: '2026-07-31' },
    '2026-07-31T00:00:00Z',
    '2026-09-30T00:00:00Z',
    '2026-11-30T00:00:00Z',
  ],
  [
    'a leap year',
    { every: 'year', anchor: '2024-02-29' },
    '2027-02-28T00:00:00Z',
    '2028-02-29T00:00:00Z',
    '2029-02-28T00:00:00Z',
  ],
]

/** How far the caller's clock is ahead of the store's clock, in milliseconds. */
const errors = [-hour, hour, -31 * day, 31 * day, -366 * day, 366 * day, 20 * 366 * day]

let prefixes = 0

export function describeCalendars(subject: CalendarSubject): void {
  const { name, create, storeTime, shared } = subject
  if (!subject.leases) describeCalendarPairs(subject)
  const limiterOf = (clock: Clock | undefined, policies: Policy | readonly Policy[]) => {
    const store = create(clock, `calendar-${prefixes++}`)
    return new RateLimiter({ name: 'calendar', policies, store, onStoreError: 'throw', storeTimeout: '20s' })
  }
  /** Sets the clock of the caller. */
  const callAt = (time: number) => vi.useFakeTimers({ toFake: ['Date'], now: time })

  describe(`windows of a calendar on ${name}`, () => {
    afterEach(() => void vi.useRealTimers())

    test.each(timelines)(
      '%s: a call is admitted after retryAfter, and not 1 ms sooner',
      async (_, options, from, ...ends) => {
        const clock = new ManualClock(Date.parse(from))
        const limiter = limiterOf(clock.now, calendarWindow({ limit: 3, ...options }))
        for (const end of ends) {
          const wait = Date.parse(end) - clock.milliseconds
          expect(await limiter.consume('k', { cost: 3 })).toMatchObject({
            allowed: true,
            remaining: 0,
            resetAfter: wait,
          })
          expect(await limiter.consume('k')).toMatchObject({ allowed: false, retryAfter: wait })
          expect((await limiter.consume('k', { cost: 4 })).retryAfter).toBe(Infinity)
          clock.advance(wait - 1)
          expect(await limiter.consume('k')).toMatchObject({ allowed: false, retryAfter: 1, remaining: 0 })
          clock.advance(1)
          expect(await limiter.peek('k')).toMatchObject({ allowed: true, remaining: 3, resetAfter: 0 })
        }
      },
    )

    test.each(inDepth ? errors : errors.slice(-3))(
      'a caller whose clock is %i ms ahead gets the same decisions',
      async (ahead) => {
        const exact = await decisions(0)
        expect(exact.filter((each) => 'allowed' in each && !each.allowed).length).toBeGreaterThan(8)
        expect(await decisions(ahead)).toEqual(exact)
      },
    )

    async function decisions(ahead: number): Promise<object[]> {
      const clock = new ManualClock(Date.UTC(2026, 0, 30, 12))
      const policies = [
        calendarWindow({ limit: 9, every: 'month', scope: 'account' }),
        calendarWindow({ limit: 6, every: 'day', timeZone: 'Asia/Tokyo', scope: 'user' }),
        tokenBucket({ limit: 5, window: '1m', scope: 'user' }),
        concurrency({ name: 'at-once', limit: 2, lease: '1h', scope: 'user' }),
      ]
      const limiter = limiterOf(clock.now, policies)
      const key: Key = { account: 'a', user: 'u' } // in two slots of a cluster
      const seen: object[] = []
      for (let step = 0; step < 14; step++) {
        callAt(clock.milliseconds + ahead)
        seen.push(await limiter.consume(key, { cost: step === 5 ? 7 : 1 }))
        callAt(clock.milliseconds + ahead)
        const reservation = await limiter.reserve(key)
        seen.push(reservation.decision)
        if (step % 4 === 0) seen.push(await limiter.charge(key, { cost: 2 }))
        if (step === 3) await limiter.ban({ user: 'u' }, '5h')
        if (step === 4) await limiter.unban(key)
        seen.push({ renewed: await reservation.renew() })
        if (step % 3 === 0) await reservation.settle(3)
        if (step % 3 === 1) await reservation.cancel()
        if (step % 3 === 2) await reservation.release()
        if (step % 5 === 2) seen.push(await limiter.refund(key))
        seen.push(await limiter.peek(key))
        clock.advance('3h')
      }
      return seen
    }

    if (shared)
      test('processes whose clocks are 50 s apart admit the limit in each window', async () => {
        const limit = 50
        const prefix = `calendar-${prefixes++}`
        const midnight = Date.UTC(2026, 6, 14, 22)
        const clocks = [-25, -10, 5, 25].map((seconds) => new ManualClock(midnight + seconds * 1000 - 40_000))
        const policies = calendarWindow({ limit, every: 'day', timeZone: 'Europe/Berlin' })
        const fleet = clocks.map(({ now }) => {
          return new RateLimiter({ name: 'fleet', policies, store: create(now, prefix), onStoreError: 'throw' })
        })
        /** Every process calls until it is refused. Returns how many units were admitted. */
        const spend = async () => {
          let admitted = 0
          const processes = fleet.map(async (limiter) => {
            while ((await limiter.consume('k')).allowed) admitted++
          })
          await Promise.all(processes)
          return admitted
        }
        const pass = (seconds: number) => {
          for (const clock of clocks) clock.advance(seconds * 1000)
        }
        expect(await spend()).toBe(limit)
        pass(14)
        expect(await spend()).toBe(0)
        pass(2) // one process is in the new window
        const first = await spend()
        let later = 0
        for (let seconds = 0; seconds < 60; seconds += 12) {
          pass(12)
          later += await spend()
        }
        expect(first + later).toBe(limit)
        pass(day / 1000 - 100)
        expect(await spend()).toBe(0)
        pass(200)
        expect(await spend()).toBe(limit)
      })

    if (storeTime)
      test('retryAfter ends at the end of the window by the clock of the store', async () => {
        const limiter = limiterOf(undefined, calendarWindow({ limit: 1, every: 'month', timeZone: 'Asia/Kathmandu' }))
        const before = (await storeTime?.()) as number
        for (const ahead of [0, 40 * day, -400 * day]) {
          callAt(before + ahead)
          await limiter.consume('k')
          const { allowed, retryAfter } = await limiter.consume('k')
          const after = (await storeTime?.()) as number
          const kathmandu = (5 * 60 + 45) * 60_000
          const local = new Date(before + kathmandu)
          const end = Date.UTC(local.getUTCFullYear(), local.getUTCMonth() + 1) - kathmandu
          expect(allowed).toBe(false)
          expect(end - retryAfter).toBeGreaterThanOrEqual(before - 1)
          expect(end - retryAfter).toBeLessThanOrEqual(after + 1)
        }
      })
  })
}
