import { expect, test } from 'vitest'
import { calendarWindow, type Period } from '../../src/calendar/index.ts'
import fc from '../support/fast-check.ts'

const periods: Period[] = ['week', 'month', 'quarter', 'year', { months: 5 }]
const zones = ['UTC', 'Europe/Berlin', 'America/Havana', 'Pacific/Apia', 'Asia/Kolkata']
const anyDate = fc.date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
const anyTime = fc.integer({ min: Date.parse('2000-01-01'), max: Date.parse('2040-01-01') }).map((ms) => ms * 1000)

/** A customer's anchor as a Date, as a date in text and as a moment in text. */
const anyAnchor = fc
  .tuple(anyDate, fc.nat(2))
  .map(([date, form]) => (form === 0 ? date : form === 1 ? date.toISOString().slice(0, 10) : date.toISOString()))
  .filter((anchor) => Math.abs(Number(new Date(anchor))) >= 86_400_000)

test('customers of one policy get the windows of policies with their own anchors and time zones', () => {
  const customers = fc.array(fc.record({ anchor: anyAnchor, timeZone: fc.constantFrom(...zones), now: anyTime }), {
    minLength: 2,
    maxLength: 12,
  })
  fc.assert(
    fc.property(fc.constantFrom(...periods), customers, (every, all) => {
      const { calendar } = calendarWindow({ limit: 10, every, anchor: 'caller', timeZone: 'caller' })
      for (const { anchor, timeZone, now } of [...all, ...all]) {
        const own = calendarWindow({ limit: 10, every, anchor, timeZone })
        expect(calendar?.windowsAt(now, { anchor, timeZone })).toEqual(own.calendar?.windowsAt(now, undefined))
      }
    }),
    { numRuns: 100 },
  )
})

test('a date in text is an anchor if there is such a day', () => {
  const isDay = (text: string) => {
    const ms = Date.parse(`${text}T00:00:00Z`)
    return !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, 10) === text
  }
  const digits = (value: number, length: number) => String(value).padStart(length, '0')
  const anyText = fc
    .tuple(fc.integer({ min: 1, max: 9999 }), fc.nat(13), fc.nat(32), fc.constantFrom('-', '-', '-', '/'))
    .map(([year, month, day, dash]) => `${digits(year, 4)}-${digits(month, 2)}${dash}${digits(day, 2)}`)
  fc.assert(
    fc.property(anyText, (anchor) => {
      const make = () => calendarWindow({ limit: 10, every: 'month', anchor })
      if (isDay(anchor)) expect(make).not.toThrow()
      else expect(make).toThrow(expect.objectContaining({ code: 'HEADGATE_CALENDAR' }))
    }),
    { numRuns: 500 },
  )
})
