/* Policies that are tried beside the current policies, and change nothing. */
import { channel } from 'node:diagnostics_channel'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import {
  concurrency,
  fixedWindow,
  lruStore,
  memoryStore,
  type PolicyLike,
  RateLimiter,
  type RateLimiterOptions,
  type Store,
} from '../../src/index.ts'
import type { CandidateEvent } from '../../src/limiter/index.ts'
import { withFailover } from '../../src/store.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { playCandidate } from '../support/candidate.ts'

const hour = (limit: number, more: object = {}) => fixedWindow({ name: 'hour', limit, window: '1h', ...more })

function limiterWith(candidate: RateLimiterOptions['candidate'], more: Partial<RateLimiterOptions> = {}) {
  return new RateLimiter({
    name: 'api',
    policies: hour(3),
    store: memoryStore({ clock: new ManualClock().now }),
    candidate,
    ...more,
  })
}

const channelName = 'headgate:limiter:candidate'
const listeners: ((event: unknown) => void)[] = []
afterEach(() => {
  for (const listener of listeners.splice(0)) channel(channelName).unsubscribe(listener)
})
function events(): CandidateEvent[] {
  const seen: CandidateEvent[] = []
  const listener = (event: unknown) => void seen.push(event as CandidateEvent)
  listeners.push(listener)
  channel(channelName).subscribe(listener)
  return seen
}

test.each([
  ['a memory store', (clock: ManualClock) => memoryStore({ clock: clock.now })],
  ['an LRU store', (clock: ManualClock) => lruStore({ clock: clock.now })],
] as const)('decides as two limiters that count alone, on %s', async (_, create) => {
  let differing = 0
  for (let seed = 1; seed <= 20; seed++) {
    const clock = new ManualClock()
    const { newlyRefused, noLongerRefused } = await playCandidate(create(clock), clock, seed, 100)
    if (newlyRefused > 0 && noLongerRefused > 0) differing++
  }
  expect(differing).toBeGreaterThan(10)
})

test('the example: what it refuses is counted, and refuses nobody', async () => {
  const limiter = limiterWith(hour(2))
  const seen = events()
  for (let n = 0; n < 4; n++) limiter.consumeSync('ann')
  expect(limiter.health().candidate).toEqual({ compared: 4, newlyRefused: 1, noLongerRefused: 0, undecided: 0 })
  expect(await limiter.peek('ann')).toMatchObject({ allowed: false, limit: 3 })
  expect(await limiter.candidate?.usage('ann')).toMatchObject({ policies: [{ used: 2, limit: 2 }] })
  expect(limiter.candidate?.name).toBe('api~candidate')
  expect(seen.map(({ decision, candidate }) => [decision.allowed, candidate.allowed])).toEqual([
    [true, true],
    [true, true],
    [true, false],
    [false, false],
  ])
  expect(seen[2]).toMatchObject({
    limiter: 'api',
    instance: limiter,
    key: 'ann',
    cost: 1,
    decision: { limit: 3 },
    candidate: { limit: 2 },
  })
})

test('calls that the current policies refuse, and a limiter without a candidate', async () => {
  const limiter = limiterWith({ policies: hour(4) })
  for (let n = 0; n < 5; n++) await limiter.consume('ann')
  expect(limiter.health().candidate).toEqual({ compared: 5, newlyRefused: 0, noLongerRefused: 1, undecided: 0 })
  const alone = limiterWith(undefined)
  expect(alone.candidate).toBeUndefined()
  expect(alone.health()).not.toHaveProperty('candidate')
})

test('a penalty is that of the current policies, unless the candidate has one', async () => {
  const penalty = { after: 1, within: '1h', ban: '1d' }
  const namesOf = (limiter: RateLimiter | undefined) => limiter?.policies.map(({ name }) => name)
  expect(namesOf(limiterWith(hour(2), { penalty }).candidate)).toEqual(['hour', 'penalty'])
  expect(namesOf(limiterWith({ policies: hour(2), penalty: false }, { penalty }).candidate)).toEqual(['hour'])
  const plan = limiterWith(undefined, { penalty }).withPlan({ policies: hour(5), penalty: false, candidate: hour(2) })
  expect(namesOf(plan.candidate)).toEqual(['hour'])
})

test('each plan has a candidate of its own; a changed candidate keeps the used units', async () => {
  const limiter = limiterWith(hour(2))
  expect(limiter.withPlan(hour(9)).candidate).toBeUndefined()
  const first = limiter.withPlan({ policies: hour(9), candidate: [hour(5)] })
  expect(limiter.withPlan({ policies: hour(9), candidate: [hour(5)] })).toBe(first)
  await first.consume('ann', { cost: 4 })
  const plan: { policies: PolicyLike; candidate: PolicyLike[] } = { policies: hour(9), candidate: [hour(6)] }
  const second = limiter.withPlan(plan)
  await second.consume('ann', { cost: 2 })
  expect(await second.candidate?.peek('ann')).toMatchObject({ allowed: false, limit: 6, remaining: 0 })
  expect(await second.peek('ann')).toMatchObject({ limit: 9, remaining: 3 })
  plan.candidate[0] = hour(8)
  expect(await limiter.withPlan(plan).candidate?.peek('ann')).toMatchObject({ limit: 8, remaining: 2 })
  expect(limiter.health().candidate?.compared).toBe(2)
})

test('overrides apply to the candidate too, and thresholds of a candidate are told nobody', async () => {
  const told: unknown[] = []
  const month = (limit: number) => calendarWindow({ name: 'month', limit, every: 'month', thresholds: [0.5] })
  const onThreshold = ({ limiter }: { limiter: string }) => void told.push(limiter)
  const limiter = limiterWith(month(8), { policies: month(100), onThreshold })
  await limiter.override('ann', { limit: 1000 })
  for (let n = 0; n < 10; n++) for (const key of ['ann', 'bob']) await limiter.consume(key)
  expect(limiter.health().candidate).toMatchObject({ compared: 20, newlyRefused: 2 })
  expect(await limiter.candidate?.peek('ann')).toMatchObject({ limit: 1000, remaining: 990 })
  expect(told).toEqual([])
})

test('forget, clear and reset are for the states of both', async () => {
  const limiter = limiterWith(hour(2))
  const left = async (key: string) =>
    [await limiter.peek(key), await limiter.candidate?.peek(key)].map((each) => each?.remaining)
  for (const key of ['ann', 'bob', 'eve']) await limiter.consume(key)
  expect(await left('ann')).toEqual([2, 1])
  await limiter.forget(['ann'])
  await limiter.reset('bob')
  expect([await left('ann'), await left('bob'), await left('eve')]).toEqual([
    [3, 2],
    [3, 2],
    [2, 1],
  ])
  await limiter.clear()
  expect(await left('eve')).toEqual([3, 2])
})

test('a candidate keeps no units in flight, and settles what runs', async () => {
  const policies = [hour(100), concurrency({ name: 'at-once', limit: 2, lease: '1m' })]
  const limiter = limiterWith(hour(50), { policies })
  const reservation = await limiter.reserve('ann', { cost: { hour: 10, 'at-once': 1 } })
  await reservation.settle({ hour: 4 })
  expect((await limiter.candidate?.usage('ann'))?.policies).toMatchObject([{ name: 'hour', used: 4 }])
  expect(limiter.load.inFlight).toBe(0)
})

describe('a candidate that cannot be tried', () => {
  const wrong: [string, () => unknown, string, string][] = [
    ['another scope', () => limiterWith(hour(2, { scope: 'user' })), 'HEADGATE_CANDIDATE', 'with shadow: true'],
    [
      'units in flight',
      () => limiterWith(concurrency({ limit: 2, lease: '1m' })),
      'HEADGATE_CANDIDATE',
      'Leave the policy out',
    ],
    [
      'another calendar',
      () => limiterWith(calendarWindow({ limit: 2, every: 'month', anchor: 'caller' })),
      'HEADGATE_CANDIDATE',
      'calendar',
    ],
    [
      'beside no limits',
      () => limiterWith(hour(2), { policies: 'unlimited' }),
      'HEADGATE_CANDIDATE',
      'scope "default"',
    ],
    ['an invalid policy', () => limiterWith('2 per hour'), 'HEADGATE_POLICY', 'candidate: '],
    [
      'an unknown option',
      () => limiterWith({ policies: hour(2), store: 1 } as object as PolicyLike),
      'HEADGATE_OPTION',
      'store',
    ],
    [
      'a candidate of a candidate',
      () => limiterWith({ policies: hour(2), candidate: hour(1) } as object as PolicyLike),
      'HEADGATE_OPTION',
      'candidate',
    ],
  ]
  test.each(wrong)('%s', (_, make, code, says) => {
    expect(make).toThrow(expect.objectContaining({ code, message: expect.stringContaining(says) }))
  })

  test('its name is taken, and after an error the name of the limiter is free', () => {
    const store = memoryStore()
    expect(() => limiterWith(hour(2, { scope: 'user' }), { store })).toThrow('has the scope')
    limiterWith(hour(2), { store })
    expect(() => new RateLimiter({ name: 'api~candidate', policies: hour(2), store })).toThrow('Another limiter')
  })
})

type Failure = 'rejects' | 'throws' | 'hangs' | 'slow'

/** A store behind a network that fails for the commands of the candidate only. */
function failingStore(failure: Failure, synchronous = false): Store {
  const inner = memoryStore()
  const fail = (): Promise<never> => {
    if (failure === 'throws') throw new Error('down')
    return failure === 'rejects' ? Promise.reject(new Error('down')) : new Promise(() => undefined)
  }
  return {
    synchronous,
    traits: { fallible: true, alternatives: true },
    open(terms, joins) {
      return withFailover(this, terms, joins, (bare) => {
        const ledger = inner.open(bare)
        const fails = terms.name === 'api~candidate'
        return {
          run: (command) => (fails ? fail() : synchronous ? ledger.run(command) : Promise.resolve(ledger.run(command))),
        }
      })
    },
  }
}

describe.each([
  ['rejects', false],
  ['throws', false],
  ['hangs', false],
  ['throws', true],
] as const)('a store that %s for the candidate (synchronous: %s)', (failure, synchronous) => {
  test('decides as without a candidate, at once, tells no hook, and its breaker stays closed', async () => {
    const told: unknown[] = []
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const onStoreError = (event: unknown) => void told.push(event)
    const store = failingStore(failure, synchronous)
    const limiter = limiterWith(hour(20), { policies: hour(10), store, onStoreError, storeTimeout: '100ms' })
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const [errors, states] = [vi.fn(), vi.fn()]
    channel('headgate:store-error').subscribe(errors)
    channel('headgate:store-state').subscribe(states)
    for (let n = 0; n < 10; n++) expect(await limiter.candidate?.consume('ann')).toMatchObject({ source: 'open' })
    errors.mockClear() // of the ten calls that wait for the candidate itself
    const begun = performance.now()
    for (let n = 0; n < 12; n++) expect((await limiter.consume('ann')).allowed).toBe(n < 10)
    const reservation = await limiter.reserve('bob', { cost: 3 })
    await reservation.settle(1)
    await limiter.charge('bob')
    await limiter.refund('bob')
    await limiter.ban('eve', '1h')
    await limiter.reset('ann')
    expect(performance.now() - begun).toBeLessThan(1000)
    expect(await limiter.peek('bob')).toMatchObject({ remaining: 9, source: 'store' })
    expect(await limiter.peek('eve')).toMatchObject({ allowed: false, policy: 'ban' })
    await vi.waitFor(() =>
      expect(limiter.health().candidate).toEqual({ compared: 0, newlyRefused: 0, noLongerRefused: 0, undecided: 13 }),
    )
    expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0, sources: { fallback: 0, open: 0 } })
    await new Promise((resolve) => setTimeout(resolve, 150))
    process.off('unhandledRejection', unhandled)
    channel('headgate:store-error').unsubscribe(errors)
    channel('headgate:store-state').unsubscribe(states)
    expect(told).toEqual([])
    for (const heard of [warned, unhandled, errors, states]) expect(heard).not.toHaveBeenCalled()
    await expect(limiter.forget(['ann'])).rejects.toThrow()
  })
})

test('a store that fails for both decides by onStoreError, and the candidate is not compared', async () => {
  const store: Store = {
    synchronous: false,
    open: (terms, joins) => withFailover(store, terms, joins, () => ({ run: () => Promise.reject(new Error('down')) })),
  }
  const limiter = limiterWith(hour(1), { store, onStoreError: 'open' })
  for (let n = 0; n < 9; n++) expect(await limiter.consume('ann')).toMatchObject({ allowed: true, source: 'open' })
  await vi.waitFor(() => expect(limiter.health().candidate).toMatchObject({ compared: 0, undecided: 9 }))
})
