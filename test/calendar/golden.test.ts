/* The boundaries of every time zone from 2000 to 2040, compared with golden.txt, which golden.py has made from other data. */
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
  expect(known.length).toBeGreaterThan(590)
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
