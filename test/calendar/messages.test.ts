import { describe, expect, test } from 'vitest'
import { calendarWindow, quota } from '../../src/calendar/index.ts'
import { fixedWindow, memoryStore, type Policy, RateLimiter } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

const monthly = { limit: 9, every: 'month' } as const

function message(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    expect(error).toMatchObject({ name: 'HeadgateError' })
    return (error as Error).message
  }
  return 'no error'
}

function limiterOf(policies: readonly Policy[]) {
  return new RateLimiter({ policies, store: memoryStore({ clock: new ManualClock().now }) })
}

describe('an anchor that is a number', () => {
  const seconds = 1_736_899_200

  test.each<[number, string]>([
    [seconds, '1736899200 * 1000'],
    [-seconds, '-1736899200 * 1000'],
    [1e11 - 1, '99999999999 * 1000'],
    [32, '15'],
    [0, '15'],
    [-1, '15'],
    [1.5, '15'],
    [Number.NaN, '15'],
    [1e17, '15'],
  ])('%d is no moment, because it may be seconds', (anchor, fix) => {
    const words = `must be a day from 1 to 31, a date or a moment (a number in milliseconds, not in seconds), got ${anchor}.`
    const error = `calendarWindow: anchor ${words} Write anchor: ${fix}.`
    expect(message(() => calendarWindow({ ...monthly, anchor }))).toBe(error)
    expect(message(() => calendarWindow({ limit: 9, every: 'year', anchor }))).toMatch(/milliseconds, not in seconds/)
    const limiter = limiterOf([calendarWindow({ ...monthly, anchor: 'caller' })])
    const call = () => limiter.consumeSync('ann', { calendar: { anchor } })
    expect(message(call)).toBe(`calendar.anchor ${words} Write calendar: { anchor: ${fix} }.`)
  })

  test('a Date and a text of these years are moments, also where the same number is none', () => {
    const anchors = [new Date(seconds), '1970-01-21', '1970-01-21T02:28:19Z', seconds * 1000, -seconds * 1000, 1e11]
    for (const anchor of anchors) {
      expect(calendarWindow({ ...monthly, anchor }).name).toBe('month')
      const zoned = limiterOf([calendarWindow({ ...monthly, anchor, timeZone: 'caller' })])
      expect(zoned.consumeSync('ann', { calendar: { timeZone: 'UTC' } }).allowed).toBe(true)
      const limiter = limiterOf([calendarWindow({ ...monthly, anchor: 'caller' })])
      expect(limiter.consumeSync('ann', { calendar: { anchor } }).allowed).toBe(true)
      const same = () => limiter.consumeSync('ann', { calendar: { anchor: seconds } })
      expect(message(same)).toMatch(/^calendar\.anchor must be .* not in seconds/)
    }
  })
})

test.each<[unknown, string, string]>([
  [[80, 100], '[80, 100]', '[0.8, 1]'],
  [[50, 99.9], '[50, 99.9]', '[0.5, 0.999]'],
  [[0.5, 80], '[0.5, 80]', '[0.8, 1]'],
  [[80, 120], '[80, 120]', '[0.8, 1]'],
  [[0.5, 0.5], '[0.5, 0.5]', '[0.8, 1]'],
  [['80%'], '["80%"]', '[0.8, 1]'],
  [[], '[]', '[0.8, 1]'],
  [[1, 2, 3, 4, 5, 6, 7, 8, 900], '[1, 2, 3, 4, 5, 6, 7, 8, ...]', '[0.8, 1]'],
  [0.8, '0.8', '[0.8, 1]'],
])('thresholds: %j shows the values, and the parts if they are percent', (thresholds, got, fix) => {
  const words =
    'thresholds must be a list of 1 to 20 different parts of the quota, above 0 and at most 1, with up to 6 decimals, ' +
    `got ${got}. Write thresholds: ${fix}.`
  const given = { thresholds: thresholds as number[] }
  expect(message(() => calendarWindow({ ...monthly, ...given }))).toBe(`calendarWindow: ${words}`)
  expect(message(() => fixedWindow({ limit: 9, window: '1d', ...given }))).toMatch(words)
})

describe('a call without what its policies ask for', () => {
  const both = calendarWindow({ ...monthly, name: 'plan', anchor: 'caller', timeZone: 'caller' })
  const zone = calendarWindow({ limit: 9, every: { months: 2 }, anchor: '2026-01-01', timeZone: 'caller' })

  test.each<[Policy, object | undefined, string]>([
    [
      both,
      undefined,
      "The policy \"plan\" has anchor: 'caller' and timeZone: 'caller', and the call does not say them. ",
    ],
    [both, { anchor: 1 }, 'The policy "plan" has timeZone: \'caller\', and the call does not say it. '],
    [zone, {}, 'The policy "2-months" has timeZone: \'caller\', and the call does not say it. '],
  ])(
    '$0.name, and the call says $1: all missing parts, and the fix for every method',
    async (policy, calendar, words) => {
      const limiter = limiterOf([policy])
      const parts = policy === both ? 'anchor, timeZone' : 'timeZone'
      const fix = `Give the call calendar: { ${parts} }, or let the option calendar of a middleware return it.`
      for (const verb of ['consume', 'peek', 'usage', 'refund', 'charge', 'reserve'] as const) {
        const error = { code: 'HEADGATE_CALENDAR', message: words + fix }
        await expect(limiter[verb]('ann', calendar && { calendar })).rejects.toMatchObject(error)
      }
    },
  )
})

test.each<[string, object]>([
  ['since', { since: '2026-02-15' }],
  ['since', { since: new Date() }],
  ['anker', { anker: 15 }],
  ['timezone', { timezone: 'UTC' }],
])('calendar has no member %s: the members, and the scopes of the limiter', (member, calendar) => {
  const anchor = 'caller'
  const limiter = limiterOf([
    calendarWindow({ ...monthly, anchor }),
    fixedWindow({ limit: 9, window: '1d', scope: 'user' }),
  ])
  const call = () => limiter.consumeSync({ default: 'a', user: 'b' }, { calendar: calendar as never })
  expect(message(call)).toBe(
    `calendar has no member ${member}. It has anchor and timeZone, or for each scope ("default", "user") an object with these. ` +
      'Write calendar: { anchor: customer.since }.',
  )
})

test.each<[object, RegExp]>([
  [{ anchor: 32, timeZone: 'UTC' }, /^calendar\.anchor must be .* got 32\./],
  [
    { anchor: 'soon', timeZone: 'UTC' },
    /^calendar\.anchor must be .* got "soon"\. Write calendar: \{ anchor: 15 \}\.$/,
  ],
  [
    { anchor: 1, timeZone: 'Mars' },
    /^calendar\.timeZone must be .* got "Mars"\. .* such as timeZone: 'Europe\/Berlin'\.$/,
  ],
])('a call with calendar %j: the message names the member of the call', (calendar, words) => {
  const limiter = limiterOf([calendarWindow({ ...monthly, anchor: 'caller', timeZone: 'caller' })])
  expect(message(() => limiter.consumeSync('ann', { calendar }))).toMatch(words)
})

const example = "Write every: 'week', weekStart: 'sunday'."
test.each<[object, string]>([
  [monthly, `left out, because only weeks have it, got "monday". ${example}`],
  [
    { limit: 9, every: 'week', anchor: '2026-01-04' },
    `left out, because weeks begin with the day of the anchor, got "monday". ${example}`,
  ],
])('%j takes no weekStart', (options, words) => {
  const made = () => calendarWindow({ ...options, weekStart: 'monday' } as never)
  expect(message(made)).toBe(`calendarWindow: weekStart must be ${words}`)
})

test.each<[string, unknown, string]>([
  ['a day', 15, '15'],
  ['a date', new Date(), 'an object'],
  ['null', null, 'null'],
  ['a list', [15], 'an array'],
  ['a function', () => 15, 'a function'],
  ['a symbol', Symbol('day'), 'Symbol(day)'],
  ['a Map', new Map([['anchor', 15]]), 'an object'],
])('%s beside the text of a quota is an error, and not a quota from the first of the month', (_name, options, got) => {
  for (const text of ['5/month', '5/month Europe/Berlin']) {
    const call = () => quota(text, options as never)
    expect(call).toThrow(expect.objectContaining({ code: 'HEADGATE_POLICY' }))
    expect(message(call)).toBe(
      `quota takes a text and an object of options, got ${got}. Write quota('1000/month', { anchor: 15 }).`,
    )
  }
})

test.each([
  ['5/month', 'limit', 9],
  ['5/month', 'every', 'day'],
  ['5/month Europe/Berlin', 'timeZone', 'UTC'],
])('an option that the text %j has already is an error: %s', (text, name, value) => {
  expect(message(() => quota(text, { [name]: value } as never))).toBe(
    `quota: ${name} is in the text "${text}" and in the options. Write it once.`,
  )
})

test('a number of months is shown as it is written', () => {
  expect(message(() => calendarWindow({ limit: 9, every: { months: 5 } }))).toBe(
    'calendarWindow: anchor must be a date, because a year is no multiple of 5 months, got undefined. ' +
      "Write every: { months: 5 }, anchor: '2026-01-01'.",
  )
  expect(message(() => calendarWindow({ limit: 9, every: { months: 24 } }))).toMatch(
    /1 to 12 \}, got \{ months: 24 \}\./,
  )
  expect(message(() => calendarWindow({ limit: 9, every: { months: {} } as never }))).toMatch(
    /got \{ months: an object \}/,
  )
})
