import { expect, test } from 'vitest'
import { fairness } from '../engine/fairness.mjs'
import { policyFrom } from '../engine/policy-from.mjs'
import { randomOf } from '../engine/random.mjs'
import { simulate, workloadOf } from '../engine/simulate.mjs'
import { resultOf, runLab } from './support/run-lab.mjs'

const terms = { rate: 20, duration: 60_000, clients: 4, seed: 7 }

function play(name, text, { fleet = {}, ...more } = {}) {
  const made = policyFrom(text)
  return simulate(workloadOf(name, { ...terms, ...more }, made), made, fleet)
}

test('steady: 5 a second of each client meet a limit of 3 a second', async () => {
  const { requests, admitted, fairness, leastOfAClient, mostOfAClient } = await play('steady', '3/1s fixed-window')
  expect([requests, admitted, fairness, leastOfAClient, mostOfAClient]).toEqual([1200, 720, 1, 180, 180])
})

test.each([
  ['10/1s fixed-window', 20],
  ['10/1s sliding-log', 10],
  ['10/1s segmented-window', 10],
  ['10/1s burst 10', 10],
])('boundary attack: %s admits at most %i in any window', async (text, most) => {
  expect((await play('boundary', text)).mostInAnyWindow).toBe(most)
})

test('steady: each client meets the quota of a day', async () => {
  const { requests, admitted, mostOfAClient } = await play('steady', '100/day', { duration: 600_000 })
  expect([requests, admitted, mostOfAClient]).toEqual([12_000, 400, 100])
})

test('bursts: a bucket admits its burst, and what it refills in 10 s', async () => {
  const { requests, admitted } = await play('bursts', '1/1s burst 5', { clients: 1 })
  expect([requests, admitted]).toEqual([1200, 30])
})

test('flash crowd: clients of the crowd come in the middle third, at ten times the rate', async () => {
  const made = policyFrom('1000/1s')
  const { requests } = workloadOf('flash-crowd', terms, made)
  const crowd = requests.filter(({ time }) => time >= 20_000 && time < 40_000).length
  expect(crowd / (requests.length - crowd)).toBeGreaterThan(4.5)
  expect(crowd / (requests.length - crowd)).toBeLessThan(6.5)
})

test('retries at exactly retryAfter come together, and jitter spreads them', async () => {
  const fleet = { sharedKey: true }
  const exact = await play('retry', '10/1s fixed-window', { clients: 100, fleet })
  const spread = await play('retry-jitter', '10/1s fixed-window', { clients: 100, fleet })
  // 100, then 90 in the next second, and so on: 550 requests. Each of the ten seconds admits ten.
  expect([exact.requests, exact.admitted, exact.waited.max]).toEqual([550, 100, 9000])
  expect([spread.admitted, spread.clients]).toEqual([100, 100])
  expect(Math.max(...spread.overTime.refused.slice(1))).toBeLessThan(Math.max(...exact.overTime.refused.slice(1)))
})

test('driver: the seconds of its phases at a limit of 10 a second are those of examples/driver', async () => {
  const { admitted, overTime } = await play('driver', '10/1s fixed-window', { duration: 1_000_000 })
  expect(admitted).toBe(2130)
  // 10 s each for the first four phases, then 20, 25, 50 and 100 s at 10 a second.
  expect((overTime.times.at(-1) + overTime.width) / 1000).toBeCloseTo(235, -1)
})

test('driver: the command plays all of its phases, unless told how long', async () => {
  const args = ['simulate', '--workload', 'driver', '--policy', '10/1s fixed-window']
  expect((await resultOf(args)).policies[0].admitted).toBe(2130)
  expect((await resultOf([...args, '--seconds', '20'])).policies[0].admitted).toBeLessThan(50)
})

test('the report names a rate only if the workload has it', async () => {
  const terms = async (name) => {
    const { stdout } = await runLab(['simulate', '--workload', name, '--policy', '10/1s', '--clients', '3'])
    return /^The workload: (.*)$/m.exec(stdout)?.[1]
  }
  expect(await terms('steady')).toBe('20 requests a second of 3 clients for 1 m')
  expect(await terms('retry')).toBe('3 clients, at most 1 m')
})

test('the same seed makes the same requests, another seed others', async () => {
  const [one, same, other] = await Promise.all([7, 7, 8].map((seed) => play('poisson', '3/1s', { seed })))
  expect(same).toEqual(one)
  expect(other).not.toEqual(one)
})

test.each([
  ['memory', 4 * 600],
  ['lru', 4 * 600],
  ['shared', 600],
])('four processes with the store %s admit %i', async (store, admitted) => {
  const fleet = { processes: 4, store }
  const played = await play('steady', '10/1s fixed-window', { rate: 100, clients: 1, fleet })
  expect(played.admitted).toBe(Math.min(admitted, played.requests))
})

test('a log is a workload: the same requests give what the replay gives', async () => {
  const log = Array.from(
    { length: 50 },
    (_, n) => `{"ts":${1772701687 + Math.floor(n / 7)},"ip":"198.51.100.${n % 2}"}\n`,
  ).join('')
  const simulated = await resultOf(['simulate', '--workload', 'log', '--policy', '2/1s fixed-window', '-'], log)
  const replayed = await resultOf(['replay', '--policy', '2/1s fixed-window', '-'], log)
  expect(simulated.policies[0].admitted).toBe(replayed.policies[0].admitted)
})

test("Jain's index", () => {
  expect([fairness([3, 3, 3]), fairness([4, 0, 0, 0]), fairness([])]).toEqual([1, 0.25, 1])
})

test('the random numbers are those of mulberry32', () => {
  const random = randomOf(1)
  expect([random(), random()]).toEqual([0.6270739405881613, 0.002735721180215478])
})
