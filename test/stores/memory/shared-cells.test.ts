import { describe, expect, test } from 'vitest'
import { Report } from '../../../src/algorithms/algorithm.ts'
import { carryRules, type StateRule } from '../../../src/algorithms/carry.ts'
import { PolicyEvaluation } from '../../../src/algorithms/evaluation.ts'
import { penalty } from '../../../src/algorithms/penalty.ts'
import { fixedWindow, type Policy, policy, smoothBursty, smoothWarmingUp, tokenBucket } from '../../../src/index.ts'
import { left, type State } from '../../../src/stores/memory/flat-states.ts'
import { lookUp } from '../../../src/stores/memory/look-up.ts'
import { MultiPlanPlaces, MultiPlanStates, OwnState } from '../../../src/stores/memory/multi-plan-states.ts'
import { closed, SharedCells, usedUp } from '../../../src/stores/memory/shared-cells.ts'
import { dice, type Roll } from '../../support/dice.ts'

const name = 'a'
const start = 1_767_225_600_000_000
const rules: readonly StateRule[] = [...carryRules, 'retune']

const definitions: Record<string, Policy> = {
  tokenBucket: policy('5/1s token-bucket', { name }),
  'tokenBucket, larger': policy('12/1s token-bucket', { name }),
  'tokenBucket, by interval': tokenBucket({ limit: 3, window: '1s', burst: 7, refill: 'interval', name }),
  fixedWindow: policy('5/1s fixed-window', { name }),
  'fixedWindow, from the first request': fixedWindow({ limit: 5, window: '1s', align: 'first-request', name }),
  slidingWindow: policy('5/1s', { name }),
  'slidingWindow, larger and longer': policy('9/2s', { name }),
  segmentedWindow: policy('5/1s segmented-window', { name }),
  slidingLog: policy('6/1s sliding-log', { name }),
  smoothBursty: smoothBursty({ rate: 5, maxBurst: '2s', name }),
  smoothWarmingUp: smoothWarmingUp({ rate: 5, warmup: '2s', name }),
}
const all = Object.values(definitions)

/** A state after some calls under that policy, with charges, the last of them before `now`. */
function used(policy: Policy, now: number, roll: Roll): OwnState {
  const { algorithm } = policy
  const s: number[] = new Array(algorithm.slots).fill(0)
  for (let call = 1 + roll(6), at = now - 1_000_000; call > 0; call--) {
    at += roll(150_000)
    const cost = 1 + roll(3)
    if (algorithm.wait(s, 0, at, cost) === 0 || roll(8) === 0) algorithm.take(s, 0, at, cost, 0)
  }
  return new OwnState(policy, s)
}

const report = new Report()

/** What the states mean to a call under that policy: its wait, and what remains. */
function meaning(policy: Policy, states: readonly State[], now: number, rule: StateRule, cost: number) {
  const weighing = new PolicyEvaluation(policy)
  lookUp(weighing, states, now, rule)
  const { s, i, algorithm } = weighing
  algorithm.report(s, i, now, report)
  return { wait: algorithm.wait(s, i, now, cost), remaining: report.remaining }
}

describe.each(rules)('cells of several definitions, %s', (rule) => {
  test.each(Object.entries(definitions))('are at least as strict as each state in them: %s', (_name, caller) => {
    const roll = dice(17)
    for (let round = 0; round < 60; round++) {
      const cells = new SharedCells()
      cells.resize(2)
      const now = start + roll(3_000_000)
      const keys = Array.from({ length: 1 + roll(6) }, () => used(all[roll(all.length)] as Policy, now, roll))
      for (const key of keys) for (const cell of [0, 1]) cells.merge([key], cell, now)
      for (const key of keys)
        cells.merge([used(all[roll(all.length)] as Policy, now, roll)], roll(2), now + Number(!key))
      for (let later = now; later < now + 4_000_000; later += 1 + roll(700_000)) {
        const cost = 1 + roll(4)
        const shared = meaning(caller, cells.lighter(0, 1, later), later, rule, cost)
        for (const key of keys) {
          const own = meaning(caller, [key], later, rule, cost)
          expect(shared.wait).toBeGreaterThanOrEqual(own.wait)
          if (!caller.algorithm.kind.startsWith('smooth')) expect(shared.remaining).toBeLessThanOrEqual(own.remaining)
        }
      }
    }
  })
})

describe('more definitions than there are cells for', () => {
  const now = start + 30_000_000
  const plan = (limit: number) => policy(`${limit}/1m fixed-window`, { name })

  function crowded() {
    const cells = new SharedCells()
    cells.resize(1)
    for (let limit = 100; limit < 164; limit++) cells.merge([used(plan(limit), now, dice(limit))], 0, now)
    return cells
  }

  test('a cell is closed to every policy until all of what it has of the others is like new', () => {
    const cells = crowded()
    expect(cells.lighter(0, 0, now)).toHaveLength(64)
    expect(cells.lighter(0, 0, now).map((state) => state.policy)).not.toContain(closed)
    cells.merge([used(plan(5000), now, dice(3))], 0, now)
    expect(cells.lighter(0, 0, now).at(-1)?.policy).toBe(closed)
    for (const caller of all) {
      for (const rule of rules) {
        expect(meaning(caller, cells.lighter(0, 0, now), now, rule, 1).wait, caller.algorithm.kind).toBeGreaterThan(0)
        expect(meaning({ ...caller, name: 'other' }, cells.lighter(0, 0, now), now, rule, 1).wait).toBeGreaterThan(0)
      }
    }
    const end = start + 60_000_000
    expect(cells.lighter(0, 0, end - 1).map((state) => state.policy)).toContain(closed)
    expect(cells.lighter(0, 0, end)).toEqual([])
  })

  test('definitions that nothing is left of make room', () => {
    const cells = crowded()
    expect(cells.prune(0, now + 120_000_000)).toBe(false)
    cells.merge([used(plan(5000), now + 120_000_000, dice(3))], 0, now + 120_000_000)
    expect(cells.lighter(0, 0, now + 120_000_000).map((state) => state.policy.limit)).toEqual([5000])
  })

  test('a penalty is not closed: who is blocked stays so, and nobody else is', () => {
    const cells = crowded()
    cells.merge([used(plan(5000), now, dice(3))], 0, now)
    const blocks = penalty({ after: 1, within: '1s', block: '5s', name: 'penalty' }, 'default', false)
    expect(meaning(blocks, cells.lighter(0, 0, now), now, 'keep', 1).wait).toBe(0)
    const blocked = new OwnState(blocks, new Array(5).fill(0))
    blocks.algorithm.count(blocked.s, 0, now, 1)
    cells.merge([blocked], 0, now)
    expect(meaning(blocks, cells.lighter(0, 0, now), now, 'keep', 1).wait).toBe(5_000_000)
  })

  test.each(Object.entries(definitions))(
    'a state that is used up has nothing left, to the unit: %s',
    (_, { algorithm }) => {
      const s = usedUp(algorithm, now)
      algorithm.report(s, 0, now, report)
      expect(report.remaining).toBe(0)
      expect(algorithm.wait(s, 0, now, 1)).toBeGreaterThan(0)
      expect(algorithm.wait(s, 0, now, 1)).toBeLessThanOrEqual(3_000_000)
    },
  )
})

test('places are given for as many bytes as there are, whatever is in them', () => {
  const places = new MultiPlanPlaces()
  const full = Array.from({ length: 500 }, (_, n) => {
    return used(policy(`${n + 1000}/1m segmented-window`, { name: `${n}` }), start, dice(n + 1))
  })
  places.resize(10_000)
  let rows = 0
  while (places.fits(full)) places.copy(full, rows++, start)
  // 16 bytes of each place; 48 of a row; 104 and 8 for each of 13 numbers of a state
  expect(rows).toBe(Math.floor((112 * 2 ** 20 - 16 * 10_000) / (48 + 500 * (104 + 8 * 13))))
  const [one] = places.read(0)
  expect(left([one as State], start)).toBeLessThan(1)
  places.clear(0)
  expect(places.fits(full)).toBe(true)
})

test('a state that keys shared is known as such until it is written, wherever it goes', () => {
  const places = new MultiPlanPlaces()
  places.resize(3)
  places.copy([used(policy('5/1m'), start, dice(9))], 0, start)
  places.reopen(0)
  places.copy(places.read(0), 1, start)
  places.copy(places.read(1), 2, start)
  const [state] = places.read(2)
  expect(state?.shared).toBe(true)
  places.keep([Object.assign(new PolicyEvaluation(policy('5/1m')), { s: state?.s, wrote: true })], 2, start)
  expect(places.read(2).map(({ shared }) => shared)).toEqual([false])
})

test('of other names what is like new goes when something is written, unless the call asked for it', () => {
  const [one, other, third] = ['one', 'other', 'third'].map((each) => policy('5/1s', { name: each })) as Policy[]
  const wrote = (each: Policy | undefined) =>
    Object.assign(new PolicyEvaluation(each as Policy), { s: used(each as Policy, start, dice(9)).s, wrote: true })
  const states = new MultiPlanStates()
  states.keep([wrote(one), wrote(other)], 1, start)
  states.keep([wrote(third)], 1, start)
  expect(states.read(1)).toHaveLength(3)
  const later = start + 60_000_000
  states.keep([wrote(third), Object.assign(new PolicyEvaluation(one as Policy), { wrote: false })], 1, later)
  expect(states.read(1).map((state) => state.policy.name)).toEqual(['one', 'third'])
})
