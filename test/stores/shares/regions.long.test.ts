import { readFileSync } from 'node:fs'
import { beforeEach, expect, test, vi } from 'vitest'
import { seededRandom } from '../../support/seeded-random.ts'
import { beyondBucket, mostIn, poisson, VirtualFleet } from '../../support/virtual-fleet.ts'

/* A fleet in three regions. The store is in the first one, and 80 ms away from the others. */

beforeEach(() => {
  const draw = seededRandom(11)
  vi.spyOn(Math, 'random').mockImplementation(() => draw(2 ** 31) / 2 ** 31)
})

const docs = readFileSync(new URL('../../../docs/scale.md', import.meta.url), 'utf8')
const limit = 4000
const seconds = 10
const roundTrip = (process: number) => (process % 3 === 0 ? 2 : 80)
const percent = (units: number) => `${((100 * units) / limit).toFixed(1)} %`

test.each([
  [10, 100],
  [100, 100],
  [1000, 100],
  [1000, 1000],
])('%i processes that report every %i ms: as docs/scale.md says', { timeout: 300_000 }, async (processes, period) => {
  const cells: string[] = []
  for (const factor of [0.8, 5]) {
    const fleet = new VirtualFleet({ policies: `${limit}/1s token-bucket`, processes, period, roundTrip })
    for (let process = 0; process < processes; process++) fleet.request(process % 1000, process, 'other')
    const weights = Array.from({ length: processes }, () => 1)
    poisson(fleet, { rate: factor * limit, from: 60_000, until: 60_000 + seconds * 1000, weights })
    await fleet.until(62_000 + seconds * 1000)
    const { admitted, calls } = fleet.outcome
    const times = admitted.filter((time) => time >= 60_000)
    const beyond = beyondBucket(times, limit, limit / 1000)
    expect(beyond).toBeLessThanOrEqual(mostIn(times, 2 * (period + 80)))
    const offered = factor * limit * seconds
    const due = Math.min(offered, limit * (seconds + 1))
    const missing = Math.max(0, due - times.length - 0.02 * offered)
    cells.push(percent(beyond), percent(missing / seconds), ((1000 * calls) / offered).toFixed(0))
  }
  expect(docs).toContain(`| ${processes} | ${period} ms | ${cells.join(' | ')} |`)
})
