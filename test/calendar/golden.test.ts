/*
 * The boundaries of every time zone from 2000 to 2040, compared with golden.txt, which golden.py has made from other data. If a
 * newer version of the time zone database changes a zone, that zone fails. Then let golden.py read that version too.
 */
import { describe, expect, test } from 'vitest'
import { day, inDepth } from '../support/depth.ts'
import { isCovered, named, rightAt, zones } from './golden.ts'
import { digestsOf, unevenDays } from './walk.ts'

/** The version of the time zone database in this runtime. */
const version = process.versions.tz!

/** Zones that are newer than the data of this runtime, or that `Intl` leaves out. */
function isKnown(id: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: id }) !== undefined
  } catch {
    return false
  }
}

const known = [...zones].filter(([id]) => isKnown(id))

/** All zones take about a minute, so each day plays four, from four parts of the world. */
const played = known.filter((_, index) => inDepth || index % 150 === day % 150)

test('golden.txt has every zone of this runtime', () => {
  const missing = Intl.supportedValuesOf('timeZone').filter((id) => !zones.has(id))
  if (isCovered(version)) expect(missing).toEqual([])
})

test('this runtime has every zone of golden.txt, but for newer ones', () => {
  const missing = [...zones].filter(([id]) => !isKnown(id))
  expect(missing.filter(([, [first]]) => first!.since <= version)).toEqual([])
})

// The clocks of Vancouver stay at UTC-7 from version 2026b on. Those of Berlin are the same in all versions.
test.each([
  ['2025a', 'America/Vancouver', undefined],
  ['2025b', 'America/Vancouver', ['2025b']],
  ['2025c', 'America/Vancouver', ['2025b', '2026b']],
  ['2026b', 'America/Vancouver', ['2026b']],
  ['2026c', 'America/Vancouver', ['2026b']],
  ['2099a', 'America/Vancouver', undefined],
  ['2025a', 'Europe/Berlin', ['2025b']],
  ['2026c', 'Europe/Berlin', ['2025b']],
  ['2099a', 'Europe/Berlin', ['2025b']],
])('at version %s, %s may have the digests since %j', (at, id, since) => {
  const history = zones.get(id)!
  const right = rightAt(at, history)
  const found = history.filter(({ lines }) => right?.includes(lines)).map((entry) => entry.since)
  expect(right === undefined ? undefined : found).toEqual(since)
})

describe(`with version ${version} of the time zone database`, () => {
  test.each([...named])('the days of %s without 24 hours', (id, history) => {
    const right = rightAt(version, history)
    if (right !== undefined) expect(right).toContainEqual(unevenDays(id))
  })

  test.each(played)('days, weeks, months, quarters and years in %s', { timeout: 60_000 }, (id, history) => {
    const digests = digestsOf(id)
    const right = rightAt(version, history)
    if (right !== undefined) expect(right).toContainEqual(digests)
  })
})
