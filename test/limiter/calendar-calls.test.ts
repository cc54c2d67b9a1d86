import { expect, test } from 'vitest'
import { type CallerCalendars, calendarWindow } from '../../src/calendar/index.ts'
import { memoryStore, RateLimiter } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

const month = calendarWindow({ limit: 9, every: 'month', anchor: 'caller', timeZone: 'caller' })
const day = calendarWindow({ limit: 9, every: 'day', timeZone: 'caller' })
const year = calendarWindow({ limit: 9, every: 'year' })
const berlin = { anchor: 15, timeZone: 'Europe/Berlin' }

const limiterOf = (...policies: (typeof month)[]) =>
  new RateLimiter({ policies, store: memoryStore({ clock: new ManualClock().now }) })

test('one calendar serves policies that ask for different parts of it, beside policies that fix theirs', async () => {
  const { policies } = await limiterOf(month, day, year).consume('k', { calendar: berlin })
  expect(policies.map(({ name, resetAfter }) => `${name} ${resetAfter / 3_600_000} h`)).toEqual([
    'month 335 h',
    'day 23 h',
    'year 8760 h',
  ])
})

test.each<[string, unknown, RegExp]>([
  ['a part that no policy asks for', { timeZone: 'UTC', anchor: 15 }, /says anchor, but no policy asks for it/],
  ['such a part of a scope', { default: { timeZone: 'UTC', anchor: 15 } }, /says anchor, but no policy asks for it/],
  ['nothing', {}, /"day" has timeZone: 'caller', and the call does not say it/],
  ['another scope', { user: { timeZone: 'UTC' } }, /"day" has timeZone: 'caller', and the call does not say it/],
  ['a text', 'UTC', /calendar must be \{ anchor, timeZone \}, or a record of them by scope, got "UTC"/],
  ['a text for a scope', { default: 'UTC' }, /calendar\.default must be \{ anchor, timeZone \}, got "UTC"/],
])('a call that says %s is refused with HEADGATE_CALENDAR, and takes nothing', async (_name, calendar, message) => {
  const limiter = limiterOf(day, year)
  const call = limiter.consume('k', { calendar: calendar as CallerCalendars })
  await expect(call).rejects.toMatchObject({ code: 'HEADGATE_CALENDAR', message: expect.stringMatching(message) })
  const { policies } = await limiter.peek('k', { calendar: { timeZone: 'UTC' } })
  expect(policies.map(({ used }) => used)).toEqual([0, 0])
})

test('the name of a policy is its period, also if the option name is undefined', () => {
  expect(calendarWindow({ limit: 1, every: 'month', name: undefined } as never).name).toBe('month')
})
