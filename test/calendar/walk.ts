import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { type Rule, windowsAt } from '../../src/calendar/boundaries.ts'
import { TimeZone } from '../../src/calendar/time-zone.ts'

const millisecondsOfDay = 86_400_000
const first = Date.UTC(2000, 0, 1) * 1000
const last = Date.UTC(2041, 0, 1) * 1000

export function dayOf(date: string): number {
  return Date.parse(`${date}T00:00Z`) / millisecondsOfDay
}

/** Rules of so many months, with anchors on several days of several months, as golden.py has them. */
function inMonths(months: number, zone: TimeZone): Rule[] {
  const anchors = (months === 1 ? ['2000-01'] : ['2000-01', '2000-02', '2000-05', '2000-12']).flatMap((month) =>
    ['01', '15', '29', '30', '31'].map((day) => `${month}-${day}`),
  )
  return anchors
    .filter((date) => date < '2000-02-30' || date > '2000-02-31')
    .map((date) => ({ months, days: 0, anchor: dayOf(date), dayOfMonth: Number(date.slice(8)), zone }))
}

/** The groups of rules that golden.txt has digests of. */
function rulesOf(zone: TimeZone): Rule[][] {
  const inDays = (days: number, date: string): Rule => ({ months: 0, days, anchor: dayOf(date), dayOfMonth: 1, zone })
  const weeks = ['1999-12-20', '1999-12-21', '1999-12-22', '1999-12-23', '1999-12-24', '1999-12-25', '1999-12-26']
  return [
    [inDays(1, '2000-01-01')],
    weeks.map((date) => inDays(7, date)),
    inMonths(1, zone),
    inMonths(3, zone),
    inMonths(12, zone),
  ]
}

/** The starts of all windows of these rules from 2000 to 2040. The first rule is that of single days. Each window is held to the one before. */
function walk(rules: readonly Rule[]): number[][] {
  const at = rules.map((rule) => windowsAt(rule, first))
  const starts = at.map(([, start]) => (start === first ? [start] : []))
  // All rules together, day by day, as they share what the zone remembers.
  for (let now = at[0]![2]; now < last; now = at[0]![2]) {
    for (const [index, rule] of rules.entries()) {
      const [, start, end, nextEnd] = at[index]!
      if (now < end) continue
      const windows = windowsAt(rule, now)
      if (windows[0] !== start || windows[1] !== end || windows[2] !== nextEnd) {
        expect(windows, `${rule.zone.id} after ${start}`).toEqual([start, end, nextEnd, windows[3]])
      }
      at[index] = windows
      starts[index]!.push(end)
    }
  }
  return starts
}

/** The digests of all boundaries in a zone, one for each group of rules, as golden.py makes them. */
export function digestsOf(id: string): string[] {
  const groups = rulesOf(TimeZone.of(id))
  const starts = walk(groups.flat())
  return groups.map((group) => {
    const lines = starts.splice(0, group.length).map((line) => line.map((start) => start / 1e6).join(' '))
    return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 16)
  })
}

/** The dates that do not have 24 hours, with the time in UTC at which they begin, and their minutes, as golden.py writes them. */
export function unevenDays(id: string): string[] {
  const zone = TimeZone.of(id)
  const days = []
  for (let day = dayOf('1999-12-30'); day < dayOf('2041-01-03'); day++) {
    const start = zone.startOf(day)
    const minutes = (zone.startOf(day + 1) - start) / 60_000
    if (minutes === 1440 || start < first / 1000 || start >= last / 1000) continue
    const date = new Date(day * millisecondsOfDay).toISOString().slice(0, 10)
    days.push(`${date} ${new Date(start).toISOString().replace('.000', '')} ${minutes}`)
  }
  return days
}
