/* Looks for the client that gets most beyond the limit, and compares it with the bound of docs/scale.md. */
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { fixedWindow, type Policy, slidingLog, tokenBucket } from '../../../../src/index.ts'
import { inDepth } from '../../../support/depth.ts'
import { seededRandom } from '../../../support/seeded-random.ts'
import { attack } from '../../../support/share-attack.ts'
import { beyondBucket, mostIn, VirtualFleet } from '../../../support/virtual-fleet.ts'

beforeEach(() => {
  seed(11)
  vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
})

function seed(number: number): void {
  const draw = seededRandom(number)
  vi.spyOn(Math, 'random').mockImplementation(() => draw(2 ** 31) / 2 ** 31)
}

const period = 100
const roundTrip = 2
const limit = 400

/** The bound of docs/scale.md: this much beyond the limit. */
function bound(processes: number, perSecond: number, faults = false): number {
  return (faults ? 2 : 1.5) * limit + processes + (perSecond * 2 * (period + roundTrip)) / 1000
}

const policies: readonly (readonly [
  name: string,
  policy: Policy,
  perSecond: number,
  beyond: (times: readonly number[]) => number,
])[] = [
  ['bucket', tokenBucket({ limit: 100, burst: limit, window: '1s' }), 100, (times) => beyondBucket(times, limit, 0.1)],
  ['fixed window', fixedWindow({ limit, window: '1h' }), 0, (times) => times.length - limit],
  ['log', slidingLog({ limit, window: '4s' }), 100, (times) => mostIn(times, 4000) - limit],
]
/** A few find most of what the others do, such as processes that are woken one after the other, each with more demand. */
const seeds = inDepth ? Array.from({ length: 40 }, (_, n) => n + 1) : [6, 14, 17, 23]
const runs = policies.flatMap((policy) => [12, 3, 40].map((processes) => [...policy, processes] as const))
const some = runs.filter((_, n) => inDepth || n % 3 === 0 || n === 2)

describe.each([false, true])('with faults: %s', (faults) => {
  test.each(some)(
    '%s: no attack exceeds the bound',
    { timeout: 600_000 },
    async (_, policy, perSecond, beyond, processes) => {
      const found: number[] = []
      for (const number of seeds) {
        seed(number)
        const terms = { policies: policy, processes, period, roundTrip, flood: limit, length: 6000 }
        const { admitted, fleet } = await attack({ ...terms, faults, seed: number })
        found.push(beyond(admitted))
        // Without faults, the store has counted what was admitted, no more and no less.
        if (!faults && perSecond === 0) expect(await fleet.used()).toBe(admitted.length)
      }
      expect(Math.max(...found)).toBeLessThanOrEqual(bound(processes, perSecond, faults))
    },
  )
})

describe.each([
  ['600 ms', 600],
  ['one report', period],
  ['half a report', period / 2],
])('a client that turns through 12 processes and stays %s', (_, stay) => {
  test('gets the rate, and not one for each process', async () => {
    const perSecond = 100
    const policy = tokenBucket({ limit: perSecond, burst: 1000, window: '1s' })
    const fleet = new VirtualFleet({ policies: policy, processes: 12, period, roundTrip: () => roundTrip })
    for (let place = 0; place < 12; place++) fleet.request(0, place, 'other')
    const seconds = 45
    for (let time = 1000; time < seconds * 1000; time += 1) {
      fleet.request(time, Math.floor(time / stay) % 12)
    }
    await fleet.until(seconds * 1000 + 1000)
    const { admitted } = fleet.outcome
    expect(beyondBucket(admitted, 1000, perSecond / 1000)).toBeLessThanOrEqual(1000)
    const late = admitted.filter((time) => time > 30_000).length / 15
    expect(late).toBeLessThan(1.1 * perSecond)
    expect(late).toBeGreaterThan(0.7 * perSecond)
  })
})

test('a share moves to the process that gets all calls in about half a second', async () => {
  const policy = tokenBucket({ limit: 1000, burst: 4000, window: '1s' })
  const fleet = new VirtualFleet({ policies: policy, processes: 8, period, roundTrip: () => roundTrip })
  for (let time = 0; time < 10_000; time += 0.5) fleet.request(time, Math.floor(time * 2) % 8)
  for (let time = 10_000; time < 12_000; time += 0.5) fleet.request(time, 3)
  await fleet.until(13_000)
  const each = [0, 200, 400, 600, 800, 1000].map((from) => {
    return fleet.outcome.admitted.filter((time) => time >= 10_000 + from && time < 10_200 + from).length
  })
  expect(each[2]).toBeGreaterThan(190) // from 0.4 s on
  for (const units of each.slice(3)) expect(units).toBeGreaterThan(190)
})
