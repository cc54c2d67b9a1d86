import { describe, expect, test } from 'vitest'
import { TimeZone } from '../../src/calendar/time-zone.ts'
import fc from '../support/fast-check.ts'
import { dayOf } from './walk.ts'

function startOf(id: string, date: string): string {
  return new Date(TimeZone.of(id).startOf(dayOf(date))).toISOString().replace(':00.000Z', 'Z')
}

function dateAt(id: string, moment: string): string {
  return new Date(TimeZone.of(id).dateAt(Date.parse(moment)) * 86_400_000).toISOString().slice(0, 10)
}

describe('the first moment of a date', () => {
  test.each([
    ['in UTC', 'UTC', '2026-11-23', '2026-11-23T00:00Z'],
    ['before 1970', 'UTC', '1969-12-31', '1969-12-31T00:00Z'],
    ['in winter', 'Europe/Berlin', '2026-01-15', '2026-01-14T23:00Z'],
    ['in summer', 'Europe/Berlin', '2026-07-15', '2026-07-14T22:00Z'],
    ['on the day that has 23 hours', 'Europe/Berlin', '2026-03-29', '2026-03-28T23:00Z'],
    ['on the day that has 25 hours', 'Europe/Berlin', '2026-10-25', '2026-10-24T22:00Z'],
    ['with half an hour of summer time', 'Australia/Lord_Howe', '2026-10-05', '2026-10-04T13:00Z'],
    ['with two hours of summer time', 'Antarctica/Troll', '2026-03-30', '2026-03-29T22:00Z'],
    ['with an offset of seconds', 'Africa/Monrovia', '1971-06-01', '1971-06-01T00:44:30.000Z'],

    // 23:59 -> 01:00. The date begins at 01:00.
    ['if midnight is skipped', 'America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00Z'],
    ['if midnight is skipped', 'Asia/Beirut', '2022-03-27', '2022-03-26T22:00Z'],
    ['if midnight is skipped', 'Africa/Cairo', '2023-04-28', '2023-04-27T22:00Z'],
    // 23:30 -> 00:30. The date begins at 00:30.
    ['if a gap contains midnight', 'America/Toronto', '1919-03-31', '1919-03-31T04:30Z'],
    // 00:01 -> 01:01
    ['if a gap begins after midnight', 'America/St_Johns', '2010-03-14', '2010-03-14T03:30Z'],
    // 00:59 -> 00:00
    ['if midnight happens twice', 'America/Havana', '2020-11-01', '2020-11-01T04:00Z'],
    // 23:59 -> 23:00: only the hour before midnight happens twice.
    ['if the last hour happens twice', 'America/Sao_Paulo', '2018-02-18', '2018-02-18T03:00Z'],
    ['if the last hour happens twice', 'Asia/Beirut', '2022-10-30', '2022-10-29T22:00Z'],
    // 00:01 -> 23:01: the date begins, ends after a minute, and begins again.
    ['if a date begins twice', 'America/St_Johns', '2010-11-07', '2010-11-07T02:30Z'],
    // 2011-12-29 23:59 -> 2011-12-31 00:00
    ['if the date does not exist', 'Pacific/Apia', '2011-12-30', '2011-12-30T10:00Z'],
    ['after a date that does not exist', 'Pacific/Apia', '2011-12-31', '2011-12-30T10:00Z'],
    ['if the date does not exist', 'Pacific/Kwajalein', '1993-08-21', '1993-08-21T12:00Z'],
  ])('%s: %s %s', (_, id, date, expected) => expect(startOf(id, date)).toBe(expected))

  test('is the first millisecond of that date or a later one, in every zone', () => {
    const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone')).map((id) => TimeZone.of(id))
    fc.assert(
      fc.property(zone, fc.integer({ min: dayOf('1970-01-02'), max: dayOf('2100-01-01') }), (of, day) => {
        const start = of.startOf(day)
        expect(of.dateAt(start)).toBeGreaterThanOrEqual(day)
        expect(of.dateAt(start - 1)).toBeLessThan(day)
      }),
      { numRuns: 300 },
    )
  })
})

describe('the date at a moment', () => {
  test.each([
    ['UTC', '2026-11-23T00:00:00Z', '2026-11-23'],
    ['UTC', '2026-11-22T23:59:59.999Z', '2026-11-22'],
    ['UTC', '1969-12-31T23:59:59.999Z', '1969-12-31'],
    ['Asia/Kolkata', '2026-11-22T18:29:59.999Z', '2026-11-22'],
    ['Asia/Kolkata', '2026-11-22T18:30:00Z', '2026-11-23'],
    ['Pacific/Apia', '2011-12-30T09:59:59.999Z', '2011-12-29'],
    ['Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-31'],
    ['America/St_Johns', '2010-11-07T02:30:59.999Z', '2010-11-07'],
    ['America/St_Johns', '2010-11-07T02:31:00Z', '2010-11-06'],
    ['America/St_Johns', '2010-11-07T03:30:00Z', '2010-11-07'],
  ])('%s at %s: %s', (id, moment, expected) => expect(dateAt(id, moment)).toBe(expected))
})

describe('the name of a zone', () => {
  test('is kept as it was given, and gives the same zone again', () => {
    expect(TimeZone.of('Asia/Calcutta').id).toBe('Asia/Calcutta')
    expect(TimeZone.of('Asia/Kolkata').id).toBe('Asia/Kolkata')
    expect(TimeZone.of('Asia/Kolkata')).toBe(TimeZone.of('Asia/Kolkata'))
  })

  test.each([
    'Europe/Berln',
    '',
    ' ',
    'local',
    'Factory',
    `${'x'.repeat(1e5)}`,
    undefined,
    null,
    2,
    ['UTC'],
    Symbol('UTC'),
  ])('is refused if the runtime does not know it: %j', (id) => {
    expect(() => TimeZone.of(id as string)).toThrow(
      expect.objectContaining({
        code: 'HEADGATE_CALENDAR',
        message: expect.stringMatching(
          /^timeZone must be a time zone that this runtime knows, got .{1,70}\. Write .*'Europe\/Berlin'\.$/,
        ),
      }),
    )
  })

  test('may be an offset where the runtime accepts one', () => {
    const accepts = Number(process.versions.node.split('.')[0]) >= 22
    if (accepts) expect(startOf('+05:45', '2026-11-23')).toBe('2026-11-22T18:15Z')
    else expect(() => TimeZone.of('+05:45')).toThrow(expect.objectContaining({ code: 'HEADGATE_CALENDAR' }))
  })
})
