import { describe, expect, test } from 'vitest'
import { type Rule, windowsAt } from '../../src/calendar/boundaries.ts'
import { TimeZone } from '../../src/calendar/time-zone.ts'
import fc from '../support/fast-check.ts'
import { dayOf } from './walk.ts'

const millisecondsOfDay = 86_400_000

function months(count: number, anchor: string, zone = 'UTC', dayOfMonth = Number(anchor.slice(8))): Rule {
  return { months: count, days: 0, anchor: dayOf(anchor), dayOfMonth, zone: TimeZone.of(zone) }
}

function days(count: number, anchor: string, zone = 'UTC'): Rule {
  return { months: 0, days: count, anchor: dayOf(anchor), dayOfMonth: 1, zone: TimeZone.of(zone) }
}

/** The four boundaries at a moment, as times in UTC without what is zero. */
function shown(rule: Rule, moment: string): string {
  return windowsAt(rule, Date.parse(moment) * 1000)
    .map((time) => new Date(time / 1000).toISOString().replace(/(T00:00)?:00\.000Z$/, ''))
    .join(' ')
}

describe('the windows at a moment', () => {
  test.each([
    ['day', days(1, '2026-01-01'), '2026-11-23T12:00Z', '2026-11-22 2026-11-23 2026-11-24 2026-11-25'],
    ['week from Monday', days(7, '2024-01-01'), '2026-11-25T12:00Z', '2026-11-16 2026-11-23 2026-11-30 2026-12-07'],
    ['week from Sunday', days(7, '2023-12-31'), '2026-11-25T12:00Z', '2026-11-15 2026-11-22 2026-11-29 2026-12-06'],
    ['anchor in the future', days(7, '2030-01-06'), '2026-11-25T12:00Z', '2026-11-15 2026-11-22 2026-11-29 2026-12-06'],
    ['month', months(1, '2026-01-01'), '2026-11-23T12:00Z', '2026-10-01 2026-11-01 2026-12-01 2027-01-01'],
    [
      'month from the 15th',
      months(1, '2026-01-15'),
      '2026-11-14T12:00Z',
      '2026-09-15 2026-10-15 2026-11-15 2026-12-15',
    ],
    [
      'the 31st does not drift',
      months(1, '2026-01-31'),
      '2026-03-01T00:00Z',
      '2026-01-31 2026-02-28 2026-03-31 2026-04-30',
    ],
    [
      'the 30th does not drift',
      months(1, '2026-01-30'),
      '2024-02-29T00:00Z',
      '2024-01-30 2024-02-29 2024-03-30 2024-04-30',
    ],
    [
      'the 29th of a short February',
      months(1, '2026-01-29'),
      '2026-02-28T00:00Z',
      '2026-01-29 2026-02-28 2026-03-29 2026-04-29',
    ],
    ['quarter', months(3, '2026-01-01'), '2026-11-23T12:00Z', '2026-07-01 2026-10-01 2027-01-01 2027-04-01'],
    [
      'quarter from February',
      months(3, '2026-02-01'),
      '2026-11-23T12:00Z',
      '2026-08-01 2026-11-01 2027-02-01 2027-05-01',
    ],
    [
      'quarter from 30 November',
      months(3, '2025-11-30'),
      '2026-03-01T00:00Z',
      '2025-11-30 2026-02-28 2026-05-30 2026-08-30',
    ],
    ['year', months(12, '2026-01-01'), '2026-11-23T12:00Z', '2025-01-01 2026-01-01 2027-01-01 2028-01-01'],
    [
      'year from 29 February',
      months(12, '2024-02-29'),
      '2027-02-28T00:00Z',
      '2026-02-28 2027-02-28 2028-02-29 2029-02-28',
    ],
    ['5 months', months(5, '2026-01-31'), '2026-11-29T00:00Z', '2026-01-31 2026-06-30 2026-11-30 2027-04-30'],
    ['before 1970', months(1, '2026-01-01'), '1970-01-15T00:00Z', '1969-12-01 1970-01-01 1970-02-01 1970-03-01'],
    [
      'only the day of an anchor matters',
      months(1, '1999-04-30', 'UTC', 31),
      '2026-01-31T00:00Z',
      '2025-12-31 2026-01-31 2026-02-28 2026-03-31',
    ],
  ])('%s', (_, rule, moment, expected) => expect(shown(rule, moment)).toBe(expected))

  test('the first microsecond of a window is inside, its end is outside', () => {
    const rule = days(1, '2026-01-01', 'Asia/Tokyo')
    const start = Date.parse('2026-11-22T15:00Z') * 1000
    const day = millisecondsOfDay * 1000
    expect(windowsAt(rule, start - 1)).toEqual([start - 2 * day, start - day, start, start + day])
    expect(windowsAt(rule, start)).toEqual([start - day, start, start + day, start + 2 * day])
    expect(windowsAt(rule, start + 1)).toEqual([start - day, start, start + day, start + 2 * day])
    expect(windowsAt(rule, start - 1)).toEqual([start - 2 * day, start - day, start, start + day])
  })

  test('a date that does not exist has no window', () => {
    const rule = days(1, '2026-01-01', 'Pacific/Apia')
    const before = '2011-12-28T10:00 2011-12-29T10:00 2011-12-30T10:00 2011-12-31T10:00'
    expect(shown(rule, '2011-12-30T09:59:59.999Z')).toBe(before)
    const after = '2011-12-29T10:00 2011-12-30T10:00 2011-12-31T10:00 2012-01-01T10:00'
    expect(shown(rule, '2011-12-30T10:00Z')).toBe(after)
    const later = '2011-12-30T10:00 2011-12-31T10:00 2012-01-01T10:00 2012-01-02T10:00'
    expect(shown(rule, '2011-12-31T10:00Z')).toBe(later)
    const weeks = days(7, '2011-12-30', 'Pacific/Apia')
    expect(shown(weeks, '2011-12-30T10:00Z')).toBe(
      '2011-12-23T10:00 2011-12-30T10:00 2012-01-05T10:00 2012-01-12T10:00',
    )
  })

  test('a window that has begun goes on if the clocks go back over midnight', () => {
    const rule = days(1, '2026-01-01', 'America/St_Johns')
    const window = '2010-11-06T02:30 2010-11-07T02:30 2010-11-08T03:30 2010-11-09T03:30'
    expect(shown(rule, '2010-11-07T02:30Z')).toBe(window)
    // The clocks show 23:01 of the day before.
    expect(shown(rule, '2010-11-08T12:00Z')).not.toBe(window)
    expect(shown(rule, '2010-11-07T02:31Z')).toBe(window)
    expect(shown(rule, '2010-11-07T03:30Z')).toBe(window)
  })
})

const ids = Intl.supportedValuesOf('timeZone')
const anyDate = fc.integer({ min: dayOf('1900-01-01'), max: dayOf('2100-12-31') })
const anyRule: fc.Arbitrary<Rule> = fc
  .record({ id: fc.constantFrom('UTC', ...ids), anchor: anyDate, dayOfMonth: fc.integer({ min: 1, max: 31 }) })
  .chain(({ id, ...rest }) =>
    fc
      .oneof(
        fc.record({ months: fc.integer({ min: 1, max: 24 }), days: fc.constant(0) }),
        fc.record({ months: fc.constant(0), days: fc.integer({ min: 1, max: 400 }) }),
      )
      .map((length) => ({ ...rest, ...length, zone: TimeZone.of(id) })),
  )
const anyTime = fc.integer({ min: Date.UTC(1970, 0) * 1000, max: Date.UTC(2150, 0) * 1000 })

/** True if windows of this rule begin on this date. Counts in years, months and days, as Date has them. */
function beginsOn({ months, days, anchor, dayOfMonth }: Rule, day: number): boolean {
  if (months === 0) return (day - anchor) % days === 0
  const [date, first] = [day, anchor].map((each) => new Date(each * millisecondsOfDay))
  const apart = (date!.getUTCFullYear() - first!.getUTCFullYear()) * 12 + date!.getUTCMonth() - first!.getUTCMonth()
  const lastOfMonth = new Date(Date.UTC(date!.getUTCFullYear(), date!.getUTCMonth() + 1, 0)).getUTCDate()
  return apart % months === 0 && date!.getUTCDate() === Math.min(dayOfMonth, lastOfMonth)
}

describe('for every zone, rule and moment', () => {
  test('the moment is inside, and the numbers are whole and rise', () => {
    fc.assert(
      fc.property(anyRule, anyTime, (rule, now) => {
        const windows = windowsAt(rule, now)
        const [previous, start, end, nextEnd] = windows
        expect(windows.every(Number.isSafeInteger)).toBe(true)
        expect([previous < start, start <= now, now < end, end < nextEnd]).toEqual([true, true, true, true])
      }),
      { numRuns: 500 },
    )
  })

  test('every other moment of a window has the same windows, and the next window begins at its end', () => {
    fc.assert(
      fc.property(anyRule, anyTime, fc.double({ min: 0, max: 1, noNaN: true }), (rule, now, part) => {
        const windows = windowsAt(rule, now)
        const [previous, start, end, nextEnd] = windows
        expect(windowsAt(rule, end).slice(0, 3)).toEqual([start, end, nextEnd])
        expect(windowsAt(rule, start - 1).slice(1)).toEqual([previous, start, end])
        for (const other of [start, end - 1, Math.min(start + Math.floor((end - start) * part), end - 1)]) {
          windowsAt(rule, other < now ? nextEnd : previous)
          expect(windowsAt(rule, other)).toEqual(windows)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('windows begin where a date of the rule begins, and no such date begins inside', () => {
    fc.assert(
      fc.property(anyRule, anyTime, (rule, now) => {
        const { zone } = rule
        const [, start, end] = windowsAt(rule, now)
        const around = (time: number) => [-1, 0, 1].map((days) => zone.dateAt(time / 1000) + days)
        for (const time of [start, end]) {
          expect(
            around(time)
              .filter((day) => beginsOn(rule, day))
              .map((day) => zone.startOf(day) * 1000),
          ).toContain(time)
        }
        for (let day = zone.dateAt(start / 1000) - 1; day <= zone.dateAt(end / 1000) + 1; day++) {
          if (!beginsOn(rule, day)) continue
          const begin = zone.startOf(day) * 1000
          expect(begin <= start || begin >= end, `${begin} is between ${start} and ${end}`).toBe(true)
        }
      }),
      { numRuns: 100 },
    )
  })

  test('rules of one zone do not disturb each other', () => {
    fc.assert(
      fc.property(
        fc.array(anyRule, { minLength: 2, maxLength: 8 }),
        fc.constantFrom(...ids),
        anyTime,
        (rules, id, now) => {
          const zone = TimeZone.of(id)
          const each = rules.map((rule) => ({ ...rule, zone }))
          const first = each.map((rule) => windowsAt(rule, now))
          expect(each.map((rule) => windowsAt({ ...rule }, now))).toEqual(first)
          for (const [index, rule] of each.entries()) {
            const begins = [-1, 0, 1].map((days) => zone.dateAt(first[index]![1] / 1000) + days)
            expect(begins.some((day) => beginsOn(rule, day))).toBe(true)
          }
        },
      ),
      { numRuns: 100 },
    )
  })
})
