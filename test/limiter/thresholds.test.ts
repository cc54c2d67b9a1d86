import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, test } from 'vitest'
import { thresholdsOf } from '../../src/algorithms/index.ts'
import { calendarWindow, quota } from '../../src/calendar/index.ts'
import { fixedWindow, lruStore, memoryStore, type Policy, RateLimiter, type ThresholdEvent } from '../../src/index.ts'
import { compareAndSetStore } from '../../src/stores/compare-and-set.ts'
import type { Store } from '../../src/stores/contract/index.ts'
import { faultyStore, ManualClock } from '../../src/testing/index.ts'
import fc from '../support/fast-check.ts'

const day = 86_400_000

const stores: readonly (readonly [name: string, make: (clock: ManualClock) => Store])[] = [
  ['memory', (clock) => memoryStore({ clock: clock.now })],
  ['lru', (clock) => lruStore({ clock: clock.now })],
  ['records', (clock) => recordStore(clock)],
]

/** A compare-and-set store over a map, whose clock is `clock`. */
function recordStore(clock: ManualClock): Store {
  const texts = new Map<string, string>()
  return compareAndSetStore({
    clock: clock.now,
    read: (key) => {
      const text = texts.get(key)
      return text === undefined ? undefined : { text, version: text }
    },
    swap: (key, text, version) => {
      if (texts.get(key) !== version) return false
      texts.set(key, text)
      return true
    },
  })
}

interface Told {
  readonly limiter: RateLimiter
  readonly clock: ManualClock
  /** What the hook got since the last look: `key threshold@used`. */
  told(): string[]
}

function limiterOf(policies: Policy | Policy[], make = stores[0]?.[1] as (clock: ManualClock) => Store): Told {
  const clock = new ManualClock(Date.UTC(2026, 10, 23))
  const events: ThresholdEvent[] = []
  const limiter = new RateLimiter({
    name: 'api',
    policies,
    store: make(clock),
    onThreshold: (event) => void events.push(event),
  })
  const told = () => events.splice(0).map(({ key, threshold, used }) => `${key} ${threshold}@${used}`)
  return { limiter, clock, told }
}

const month = calendarWindow({ limit: 10, every: 'month', thresholds: [1, 0.8] })

describe.each(stores)('thresholds in %s', (_name, make) => {
  test('are told in the call that reaches them, once in each window', async () => {
    const { limiter, clock, told } = limiterOf(month, make)
    await limiter.consume('ann', { cost: 7 })
    expect(told()).toEqual([])
    await limiter.consume('ann')
    expect(told()).toEqual(['ann 0.8@8'])
    await limiter.consume('ann')
    expect(told()).toEqual([])
    await limiter.consume('bob', { cost: 10 })
    expect(told()).toEqual(['bob 0.8@10', 'bob 1@10'])
    clock.advance(8 * day)
    await limiter.consume('ann', { cost: 9 })
    expect(told()).toEqual(['ann 0.8@9'])
  })

  test('are not told again after units came back, also after all came back', async () => {
    const { limiter, told } = limiterOf(month, make)
    await limiter.consume('ann', { cost: 8 })
    expect(told()).toEqual(['ann 0.8@8'])
    await limiter.refund('ann', { cost: 8 })
    await limiter.consume('ann', { cost: 9 })
    const reservation = await limiter.reserve('ann')
    expect(told()).toEqual(['ann 1@10'])
    await reservation.cancel()
    await limiter.consume('ann')
    expect(told()).toEqual([])
  })

  test('are not told by a refused call, also if the policy counts it', async () => {
    const counting = calendarWindow({ limit: 10, every: 'month', thresholds: [0.8], countRefused: true })
    const { limiter, told } = limiterOf(counting, make)
    await limiter.consume('ann', { cost: 7 })
    expect((await limiter.consume('ann', { cost: 4 })).allowed).toBe(false)
    expect(told()).toEqual([])
    await limiter.refund('ann')
    await limiter.consume('ann')
    expect(told()).toEqual(['ann 0.8@10'])
  })

  test('are told by charges and by settlements that take more units', async () => {
    const { limiter, told } = limiterOf(month, make)
    const reservation = await limiter.reserve('ann', { cost: 2 })
    await reservation.settle(8)
    expect(told()).toEqual(['ann 0.8@8'])
    await limiter.charge('ann', { cost: 30 })
    expect(told()).toEqual(['ann 1@38'])
  })

  test('are told for each policy and each scope by its own key', async () => {
    const user = calendarWindow({ limit: 2, every: 'day', scope: 'user', thresholds: [0.5] })
    const team = calendarWindow({ limit: 4, every: 'month', scope: 'team', thresholds: [0.5] })
    const { limiter, told } = limiterOf([user, team], make)
    await limiter.consume({ user: 'ann', team: 'red' })
    expect(told()).toEqual(['ann 0.5@1'])
    await limiter.consume({ user: 'bob', team: 'red' })
    expect(told()).toEqual(['bob 0.5@1', 'red 0.5@2'])
  })

  test('of a fixed window are told once in each window on the clock', async () => {
    const { limiter, clock, told } = limiterOf(fixedWindow({ limit: 4, window: '1m', thresholds: [0.5] }), make)
    clock.advance(59_999)
    await limiter.consume('ann', { cost: 2 })
    expect(told()).toEqual(['ann 0.5@2'])
    clock.advance(1)
    expect((await limiter.consume('ann', { cost: 4 })).allowed).toBe(true)
    expect((await limiter.consume('ann')).retryAfter).toBe(60_000)
    expect(told()).toEqual(['ann 0.5@4'])
  })

  test('are not told again in the same window after an upgrade, and later ones are told of the new quota', async () => {
    const { limiter, told } = limiterOf(month, make)
    await limiter.consume('ann', { cost: 9 })
    expect(told()).toEqual(['ann 0.8@9'])
    const pro = limiter.withPlan(calendarWindow({ limit: 100, every: 'month', thresholds: [0.5, 0.8, 0.9] }))
    await pro.consume('ann', { cost: 80 })
    expect(told()).toEqual([])
    await pro.consume('ann')
    expect(told()).toEqual(['ann 0.9@90'])
  })

  test('are told by a charge under another plan, whose state stays as it was', async () => {
    const { limiter, told } = limiterOf(month, make)
    await limiter.consume('ann', { cost: 4 })
    const half = limiter.withPlan(calendarWindow({ limit: 20, every: 'month', thresholds: [0.5] }))
    await half.charge('ann', { cost: 8 })
    await half.charge('ann', { cost: 1 })
    expect(told()).toEqual(['ann 0.5@10']) // units above the old limit do not count under the new plan
    await limiter.refund('ann', { cost: 6 })
    await limiter.consume('ann', { cost: 3 })
    expect(told()).toEqual(['ann 0.8@10', 'ann 1@10'])
  })
})

type Step = readonly [
  verb: 'consume' | 'refund' | 'charge' | 'reserve' | 'settle',
  key: number,
  units: number,
  pause: number,
]

const steps = fc.array(
  fc.tuple(
    fc.constantFrom('consume', 'refund', 'charge', 'reserve', 'settle'),
    fc.nat(2),
    fc.nat(7),
    fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(day) }),
  ) as fc.Arbitrary<Step>,
  { minLength: 20, maxLength: 80 },
)

describe.each(stores)('law of thresholds in %s', (_name, make) => {
  test('whatever the order of calls: one event for each key, window and threshold that an admitted call reaches', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (sequence, counts) => {
        const limit = 10
        const daily = calendarWindow({ limit, every: 'day', thresholds: [0.25, 0.8, 1], countRefused: counts })
        const { limiter, clock, told } = limiterOf(daily, make)
        const open: { key: string; cost: number; window: number; settle(units: number): Promise<void> }[] = []
        const expected = new Set<string>()
        for (const [verb, number, units, pause] of sequence) {
          clock.advance(pause)
          const key = `k${number}`
          const window = Math.floor(clock.milliseconds / day)
          const usedBefore = (await limiter.peek(key)).policies[0]?.used ?? 0
          const took = await run(verb, key, units, window)
          const { used = 0 } = (await limiter.peek(key)).policies[0] ?? {}
          const reached = [0.25, 0.8, 1].filter((part) => took && used >= Math.ceil(part * limit))
          const news = reached.map((part) => `${window} ${key} ${part}`).filter((each) => !expected.has(each))
          for (const each of news) expected.add(each)
          expect(told(), `${verb} ${units} of ${key}, ${usedBefore} used`).toEqual(
            news.map((each) => `${each.split(' ').slice(1).join(' ')}@${used}`),
          )
        }

        /** Runs a step. Returns true if it took units of the key. */
        async function run(verb: Step[0], key: string, units: number, window: number): Promise<boolean> {
          const cost = units + 1
          if (verb === 'consume') return (await limiter.consume(key, { cost })).allowed
          if (verb === 'charge') return (await limiter.charge(key, { cost })).allowed
          if (verb === 'reserve') {
            const reservation = await limiter.reserve(key, { cost })
            const settle = (actual: number) => reservation.settle(actual)
            if (reservation.allowed) open.push({ key, cost, window, settle })
            return reservation.allowed
          }
          const at = open.findIndex((reservation) => reservation.key === key)
          const [reservation] = verb === 'refund' || at < 0 ? [] : open.splice(at, 1)
          if (verb === 'refund') await limiter.refund(key, { cost })
          await reservation?.settle(units)
          return reservation !== undefined && reservation.window === window && units > reservation.cost
        }
      }),
      { numRuns: 150 },
    )
  })
})

test('the channel gets the event that the hook gets', async () => {
  const seen: unknown[] = []
  const listener = (event: unknown) => void seen.push(event)
  subscribe('headgate:threshold', listener)
  try {
    const { limiter } = limiterOf(quota('10/month', { thresholds: [0.5] }))
    await limiter.consume('ann', { cost: 6 })
  } finally {
    unsubscribe('headgate:threshold', listener)
  }
  const resetAt = Date.UTC(2026, 11, 1)
  const used = { threshold: 0.5, used: 6, limit: 10, resetAt }
  expect(seen).toEqual([{ limiter: 'api', policy: 'month', key: 'ann', scope: 'default', ...used }])
})

test('the verdict of the call has the thresholds, and no other verdict has', async () => {
  const { limiter } = limiterOf(month)
  const reached = async (cost: number) => (await limiter.consume('ann', { cost })).policies.map((each) => each.reached)
  expect([await reached(9), await reached(1), await reached(1)]).toEqual([[[0.8]], [[1]], [undefined]])
})

test('a hook that throws or rejects changes no decision', async () => {
  for (const onThreshold of [() => Promise.reject(new Error('down')), () => void JSON.parse('{')]) {
    const limiter = new RateLimiter({ policies: quota('2/month', { thresholds: [0.5] }), onThreshold })
    expect((await limiter.consume('ann')).allowed).toBe(true)
  }
})

test('a memory store that is full forgets no threshold that was told', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 23))
  const told: string[] = []
  const limiter = new RateLimiter({
    policies: calendarWindow({ limit: 10, every: 'month', thresholds: [0.5] }),
    store: memoryStore({ clock: clock.now, maxKeys: 2 }),
    onThreshold: ({ key }) => void told.push(key),
  })
  for (let n = 0; n < 300; n++) {
    const key = `k${n % 30}`
    await limiter.consume(key, { cost: 5 })
    await limiter.refund(key, { cost: 5 })
  }
  expect(told.length).toBe(new Set(told).size)
})

test('while the store fails, the process tells nothing; the charge tells when the store counts again', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 23))
  const faulty = faultyStore(memoryStore({ clock: clock.now }))
  const told: string[] = []
  const limiter = new RateLimiter({
    name: 'api',
    policies: calendarWindow({ limit: 10, every: 'month', thresholds: [0.5, 1] }),
    store: faulty,
    onThreshold: ({ key, threshold, used }) => void told.push(`${key} ${threshold}@${used}`),
  })
  await limiter.consume('ann', { cost: 4 })
  faulty.fail('error')
  const decision = await limiter.consume('ann', { cost: 6 })
  expect([decision.source, decision.policies[0]?.reached, told]).toEqual(['fallback', undefined, []])
  faulty.heal()
  await limiter.consume('ann')
  expect(told).toEqual(['ann 0.5@10', 'ann 1@10'])
})

test.each<[string, unknown]>([
  ['no list', 0.8],
  ['an empty list', []],
  ['a part of 0', [0]],
  ['a part above 1', [1.1]],
  ['a part with too many decimals', [1 / 3]],
  ['a part twice', [0.5, 0.5]],
  ['a text', ['0.8']],
  ['too many', Array.from({ length: 21 }, (_, n) => (n + 1) / 100)],
])('thresholds refuses %s with HEADGATE_OPTION', (_name, thresholds) => {
  const given = { limit: 10, thresholds: thresholds as number[] }
  const error = expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringContaining('thresholds') })
  expect(() => calendarWindow({ ...given, every: 'month' })).toThrow(error)
  expect(() => fixedWindow({ ...given, window: '1m' })).toThrow(error)
})

test('a fixed window with thresholds starts on the clock, and is not shorter than a second', () => {
  const given = { limit: 10, thresholds: [1] }
  for (const options of [{ window: '1m', align: 'first-request' as const }, { window: '999ms' }]) {
    expect(() => fixedWindow({ ...given, ...options })).toThrow(
      expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringMatching(/window of at least 1 s/) }),
    )
  }
  expect(fixedWindow({ limit: 10, window: '1m' }).algorithm.kind).toBe('intervalBucket')
})

test('the units of a threshold are exact for every limit', () => {
  const part = (limit: number, each: number) => {
    const [threshold] = thresholdsOf(calendarWindow({ limit, every: 'day', thresholds: [each] }))
    return threshold?.units
  }
  expect(part(100, 0.07)).toBe(7)
  expect(part(3, 0.333334)).toBe(2)
  expect(part(2 ** 52, 1)).toBe(2 ** 52)
  expect(part(2 ** 52 - 1, 0.000_001)).toBe(4_503_599_628)
  expect(thresholdsOf(calendarWindow({ limit: 0, every: 'day', thresholds: [1] }))).toEqual([])
})
