import { describe, expect, test } from 'vitest'
import { type CallerCalendars, calendarWindow } from '../../src/calendar/index.ts'
import { memoryStore, type PolicyLike, policy, RateLimiter } from '../../src/index.ts'
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

const verbs = ['consume', 'peek', 'usage', 'refund', 'charge', 'reserve'] as const

describe.each<[string, PolicyLike[], Record<string, string>]>([
  ['one policy', ['5/1m'], { default: 'k' }],
  [
    'policies of two scopes',
    [policy('5/1m', { scope: 'user' }), policy('9/1h', { scope: 'team' })],
    { user: 'u', team: 't' },
  ],
])('%s without a calendar', (_name, policies, key) => {
  test.each<[unknown, RegExp]>([
    [{ anchor: 15 }, /says anchor, but no policy asks for it/],
    [{ timeZone: 'UTC' }, /says timeZone, but no policy asks for it/],
    [{ [Object.keys(key)[0] as string]: { anchor: 15 } }, /says anchor, but no policy asks for it/],
    [{ since: new Date() }, /calendar has no member since/],
    ['garbage', /calendar must be \{ anchor, timeZone \}/],
    ['', /calendar must be \{ anchor, timeZone \}/],
    [null, /calendar must be \{ anchor, timeZone \}/],
  ])('refuses calendar: %j in every call, and takes nothing', async (calendar, message) => {
    const limiter = new RateLimiter({ policies, store: memoryStore({ clock: new ManualClock().now }) })
    const options = { calendar: calendar as CallerCalendars }
    const error = { code: 'HEADGATE_CALENDAR', message: expect.stringMatching(message) }
    for (const verb of verbs) await expect(limiter[verb](key, options), verb).rejects.toMatchObject(error)
    expect(() => limiter.consumeSync(key, options)).toThrow(expect.objectContaining(error))
    const { policies: verdicts } = await limiter.peek(key)
    for (const { used } of verdicts) expect(used).toBe(0)
  })

  test('admits calls whose calendar has no field, and calls of a plan, which are written for every plan', async () => {
    const limiter = new RateLimiter({ policies, store: memoryStore({ clock: new ManualClock().now }) })
    for (const verb of verbs) {
      for (const calendar of [undefined, {}, { anchor: undefined }]) {
        await limiter[verb](key, { calendar: calendar as CallerCalendars })
      }
      await limiter.withPlan(policies)[verb](key, { calendar: berlin })
      await limiter.withPlan('unlimited')[verb](key, { calendar: berlin })
      await new RateLimiter({ policies: 'unlimited' })[verb]('k', { calendar: berlin })
    }
  })

  test('admits calls with a calendar under an override, and tries them under a candidate', async () => {
    const scope = Object.keys(key)[0] as string
    const given = calendarWindow({ limit: 9, every: 'month', anchor: 'caller', timeZone: 'caller', scope })
    const limiter = new RateLimiter({ policies: [given], candidate: { policies: policy('5/1m', { scope }) } })
    await limiter.override('*', { policies: policy('7/1m', { scope }) })
    for (const verb of verbs) await limiter[verb](key[scope] as string, { calendar: berlin })
  })
})
