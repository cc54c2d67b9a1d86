import { beforeEach, expect, test, vi } from 'vitest'
import { day, inDepth } from '../../support/depth.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import { beyondBucket, mostIn, poisson, VirtualFleet } from '../../support/virtual-fleet.ts'

beforeEach(() => {
  const draw = seededRandom(11)
  vi.spyOn(Math, 'random').mockImplementation(() => draw(2 ** 31) / 2 ** 31)
})

const period = 100
const roundTrip = 2
const seconds = 20

/** How often the policy is exceeded, at most, by calls at these times. */
const policies: readonly (readonly [
  policy: string,
  perSecond: number,
  beyond: (times: readonly number[]) => number,
])[] = [
  ['1000/1s token-bucket', 1000, (times) => beyondBucket(times, 1000, 1)],
  ['1000/10s sliding-log', 100, (times) => mostIn(times, 10_000) - 1000],
  [
    '1000/10s fixed-window',
    100,
    (times) =>
      mostIn(
        times.map((time) => Math.floor(time / 10_000) * 10_000),
        1,
      ) - 1000,
  ],
  ['100/10s sliding-log', 10, (times) => mostIn(times, 10_000) - 100],
]
const demands = {
  even: [1, 1, 1, 1, 1, 1, 1, 1],
  skewed: [64, 32, 16, 8, 4, 2, 1, 1],
  'at one process': [1, 0, 0, 0, 0, 0, 0, 0],
}
const cases = policies.flatMap(([policy, perSecond, beyond]) =>
  Object.entries(demands).flatMap(([name, weights]) =>
    [0.5, 0.9, 1.5, 5].map((factor) => ({ policy, beyond, name, weights, factor, rate: perSecond * factor })),
  ),
)

/** Another fifth each day. In depth, every demand and every factor under each policy. */
const some = cases.filter((_, n) => inDepth || n % 5 === day % 5)

test.each(some)('$policy, demand $name, $factor of the limit: the bound holds', async (terms) => {
  const { policy, beyond, weights, factor, rate } = terms
  const fleet = new VirtualFleet({ policies: policy, processes: 8, period, roundTrip: () => roundTrip })
  poisson(fleet, { rate, until: seconds * 1000, weights })
  await fleet.until(seconds * 1000 + 1000)
  const { admitted, refused, calls } = fleet.outcome
  expect(beyond(admitted)).toBeLessThanOrEqual(mostIn(admitted, 2 * (period + roundTrip)))
  if (factor === 0.5) expect(refused).toBe(0)
  // A report a period. Beyond the limit, also what the store admits, and one refusal, or as many as are under way at once.
  const reports = 8 * (seconds * 10 + 11)
  expect(calls).toBeLessThanOrEqual(factor < 1 ? reports : 3 * reports + admitted.length)
})

test('what a process no longer uses goes to the others', async () => {
  const fleet = new VirtualFleet({ policies: '100/1s token-bucket', processes: 2, period, roundTrip: () => roundTrip })
  poisson(fleet, { rate: 400, until: 5000, weights: [1, 1] })
  poisson(fleet, { rate: 400, from: 5000, until: 15_000, weights: [1, 0] })
  await fleet.until(16_000)
  const late = fleet.outcome.admitted.filter((time) => time >= 7000 && time < 15_000)
  expect(late.length).toBeGreaterThan(8 * 100 * 0.95)
  expect(late.length).toBeLessThanOrEqual(8 * 100 + 100)
})

test('a crowd at once gets the limit, and at most a unit of each process more', async () => {
  const fleet = new VirtualFleet({ policies: '80/1h sliding-log', processes: 8, period, roundTrip: () => roundTrip })
  for (let process = 0; process < 8; process++) fleet.request(0, process, 'other')
  for (let n = 0; n < 4000; n++) fleet.request(1000, n % 8)
  for (let n = 0; n < 4000; n++) fleet.request(2000 + n, n % 8)
  await fleet.until(10_000)
  const { length } = fleet.outcome.admitted.filter((time) => time >= 1000)
  expect(length).toBeGreaterThanOrEqual(80)
  expect(length).toBeLessThanOrEqual(88)
})

test.each([5, 10, 20, 50])('calls of cost %d get the limit, not less', async (cost) => {
  const fleet = new VirtualFleet({ policies: '100/1s token-bucket', processes: 8, period, roundTrip: () => roundTrip })
  for (let process = 0; process < 8; process++) fleet.request(0, process, 'other')
  poisson(fleet, { rate: 400 / cost, from: 1000, until: 21_000, weights: [1, 1, 1, 1, 1, 1, 1, 1], cost })
  await fleet.until(22_000)
  const { admitted } = fleet.outcome
  expect(admitted.length).toBeGreaterThan(20 * 100 * 0.95)
  expect(beyondBucket(admitted, 100, 0.1)).toBeLessThanOrEqual(mostIn(admitted, 2 * (period + roundTrip)))
})

test.each([[[100, 1000]], [[100, 100, 100, 100, 1000, 1000, 1000, 1000]]])(
  'processes of two builds that report every %j ms share the limit',
  async (periods) => {
    const fleet = new VirtualFleet({
      policies: '4000/1s token-bucket',
      processes: periods.length,
      period: periods,
      roundTrip: () => roundTrip,
    })
    for (const process of periods.keys()) fleet.request(0, process, 'other')
    poisson(fleet, { rate: 12_000, from: 3000, until: 13_000, weights: periods.map(() => 1) })
    await fleet.until(15_000)
    const { admitted } = fleet.outcome
    expect(admitted.length).toBeGreaterThan(10 * 4000 * 0.9)
    expect(admitted.length).toBeLessThan(4000 + 10 * 4000 * 1.1)
  },
)
