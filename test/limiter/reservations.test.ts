/** What reservations promise, in the numbers of real cases: any order of settlements, waits, clocks, plans, bookings. */
import { expect, test } from 'vitest'
import {
  fixedWindow,
  gcra,
  lruStore,
  memoryStore,
  type PolicyLike,
  RateLimiter,
  type Reservation,
  type Store,
  slidingLog,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { MapDatabase } from '../support/map-store.ts'

type Create = (clock: () => number) => Store

const stores: [string, Create][] = [
  ['memoryStore', (clock) => memoryStore({ clock })],
  ['lruStore', (clock) => lruStore({ clock })],
  ['compareAndSetStore', (clock) => new MapDatabase().store({ clock })],
]

function setup(create: Create, policies: PolicyLike | readonly PolicyLike[]) {
  const clock = new ManualClock()
  return { clock, limiter: new RateLimiter({ name: 'default', policies, store: create(clock.now) }) }
}

const left = async (limiter: RateLimiter, key = 'k') => (await limiter.peek(key)).remaining

async function reserveAll(limiter: RateLimiter, costs: readonly number[]): Promise<Reservation[]> {
  const reservations: Reservation[] = []
  for (const cost of costs) reservations.push(await limiter.reserve('k', { cost }))
  return reservations
}

test('the methods of a reservation work when they are read from it', async () => {
  const { limiter } = setup(stores[0]?.[1] as Create, [fixedWindow({ limit: 10, window: '1h' }), '2 at once'])
  const { settle, release, renew } = await limiter.reserve('k', { cost: 1 })
  expect(await renew()).toBe(true)
  await release()
  expect(await renew()).toBe(false)
  await settle(4)
  const { cancel } = await limiter.reserve('k', { cost: 1 })
  expect((await limiter.peek('k')).policies.map(({ remaining }) => remaining)).toEqual([5, 1])
  await cancel()
  expect((await limiter.peek('k')).policies.map(({ remaining }) => remaining)).toEqual([6, 2])
})

test.each(stores)('%s: ten streams settled last first have used what they used', async (_, create) => {
  const { limiter } = setup(create, '100000/1h token-bucket')
  const streams = await reserveAll(limiter, new Array(10).fill(8000))
  for (const stream of streams.reverse()) await stream.settle(500)
  expect(await left(limiter)).toBe(95_000)
})

test.each(stores)('%s: calls of one fixed window give all back, in any order', async (_, create) => {
  const { limiter } = setup(create, '100/1h fixed-window')
  const [first, second] = await reserveAll(limiter, [3, 8, 5])
  await second?.cancel()
  await first?.cancel()
  expect(await left(limiter)).toBe(95)
})

test.each(stores)('%s: a partial settlement before the booked time mints nothing', async (_, create) => {
  const { clock, limiter } = setup(create, gcra({ limit: 3, window: '3s', burst: 3 }))
  const first = await limiter.reserve('k', { cost: 3 })
  const second = await limiter.reserve('k', { cost: 3, maxWait: '10s' })
  expect(second.wait).toBe(3000)
  await second.settle(1)
  clock.advance('2s')
  await first.settle(2)
  const third = await limiter.reserve('k', { cost: 3, maxWait: '10s' })
  // The second acts at 3 s with one unit. Three more fit when it has drained: at 4 s.
  expect(third.wait).toBe(2000)
})

test.each(stores)('%s: retryAfter is tight where a policy that admits counts the refusal', async (_, create) => {
  const opens = fixedWindow({ limit: 2, window: '1h', align: 'first-request', countRefused: true })
  const { clock, limiter } = setup(create, [slidingLog({ limit: 1, window: '10s' }), opens])
  await limiter.consume('k')
  clock.advance('1s')
  const { retryAfter } = await limiter.consume('k')
  expect(retryAfter).toBe(3_599_000)
  clock.advance(retryAfter - 1)
  expect((await limiter.peek('k')).allowed).toBe(false)
  clock.advance(1)
  expect((await limiter.consume('k')).allowed).toBe(true)
})

test.each(stores)('%s: two clocks that take turns mint nothing', async (_, create) => {
  const clock = new ManualClock()
  let ahead = 0
  const store = create(() => clock.now() + ahead)
  const limiter = new RateLimiter({ name: 'default', policies: gcra({ limit: 100, window: '1s', burst: 2 }), store })
  let admitted = 0
  for (let n = 0; n < 1000; n++) {
    ahead = n % 2 === 0 ? 0 : 25_000
    if ((await limiter.consume('k')).allowed) admitted++
  }
  // Two at once, and the first of them drains once in the 25 ms.
  expect(admitted).toBe(3)
})

test.each(stores)('%s: a refund moves no key to a smaller plan', async (_, create) => {
  const { limiter } = setup(create, '10/1h fixed-window')
  const big = limiter.withPlan('100/1h fixed-window')
  const reservation = await limiter.reserve('k')
  await big.consume('k', { cost: 99 })
  await reservation.settle(0)
  expect(await left(big)).toBe(1)
})

test.each(stores)('%s: a cancelled booking gives all back', async (_, create) => {
  for (const align of ['clock', 'first-request'] as const) {
    const { limiter } = setup(create, fixedWindow({ limit: 10, window: '1s', align }))
    await limiter.consume('k', { cost: 9 })
    const booked = await limiter.reserve('k', { cost: 8, maxWait: '1s' })
    expect(booked.wait).toBe(1000)
    await booked.cancel()
    expect(await left(limiter)).toBe(1)
  }
})

test.each(stores)('%s: an interval may begin before the time 0 of a clock', async (_, create) => {
  const { clock, limiter } = setup(create, tokenBucket({ limit: 1, window: '1s', burst: 5, refill: 'interval' }))
  clock.set(100_000)
  await limiter.consume('k')
  clock.advance(999)
  await limiter.consume('k')
  clock.set(500) // back by more than the tolerance, so the interval began at -499
  await limiter.reserve('k')
  const { allowed, retryAfter, policies } = await limiter.consume('k')
  expect({ allowed, retryAfter, of: policies[0]?.allowed }).toEqual({ allowed: true, retryAfter: 0, of: true })
  expect(await left(limiter)).toBe(1)
  expect((await limiter.peek('k', { cost: 2 })).retryAfter).toBe(1)
})

test('a smooth limiter above a million a second is refused', () => {
  expect(() => smoothBursty({ rate: 1_000_001 })).toThrow(expect.objectContaining({ code: 'HEADGATE_RATE' }))
})

test.each(stores)('%s: a refused charge counts nothing', async (_, create) => {
  const policy = fixedWindow({ limit: 10, window: '1h', countRefused: true })
  const { limiter } = setup(create, policy)
  const refused = await limiter.charge('k', { cost: Number.MAX_SAFE_INTEGER })
  expect(refused.allowed).toBe(false)
  expect(await left(limiter)).toBe(10)
})

test.each(stores)('%s: a reservation gives nothing back after a reset', async (_, create) => {
  const policies = ['10/1h fixed-window', '10/1h token-bucket', '10/1h', '10/1h sliding-log']
  for (const policy of policies) {
    const { limiter } = setup(create, policy)
    const reservation = await limiter.reserve('k', { cost: 5 })
    await limiter.reset('k')
    await limiter.consume('k', { cost: 7 })
    await reservation.settle(0)
    expect([policy, await left(limiter)]).toEqual([policy, 3])
  }
})

test.each(stores)('%s: units in flight are freed once, whatever is called at the same time', async (_, create) => {
  const { clock, limiter } = setup(create, ['4 at once lease 30s', '100/1h fixed-window'])
  const call = await limiter.reserve('k', { cost: 1 })
  clock.advance('10s')
  expect(await Promise.all([call.renew(), call.renew(), call.renew()])).toEqual([true, true, true])
  expect((await limiter.peek('k')).policies.map(({ used }) => used)).toEqual([1, 1])
  clock.advance('10s')
  await Promise.all([call.renew(), call.release(), call.settle(0), call.cancel(), call.release()])
  expect((await limiter.peek('k')).policies.map(({ used }) => used)).toEqual([0, 0])
})

test('an actual cost in another form than the documented ones is refused, and can be settled again', async () => {
  const policies = ['a', 'constructor'].map((name) => fixedWindow({ name, limit: 100, window: '1h' }))
  const limiter = new RateLimiter({ policies })
  const reservation = await limiter.reserve('k', { cost: { a: 20, constructor: 30 } as never })
  const promise = Promise.resolve(1)
  for (const actual of [
    [],
    new Map(),
    new Date(),
    promise,
    { a: null },
    { a: undefined },
    { a: '1' },
    { a: Number.NaN },
  ]) {
    await expect(reservation.settle(actual as never)).rejects.toMatchObject({ code: 'HEADGATE_COST' })
  }
  await reservation.settle({ a: 1 })
  expect((await limiter.peek('k')).policies.map(({ used }) => used)).toEqual([1, 30])
})
