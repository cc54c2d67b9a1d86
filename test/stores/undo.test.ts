/* All policies commit or none does, also where several keys are swapped one after the other. */
import { expect, test, vi } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import {
  concurrency,
  fixedWindow,
  type Policy,
  type PolicyOptions,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'
import { BareLimiter } from '../support/bare-limiter.ts'
import { failure } from '../support/failure.ts'
import { MapDatabase } from '../support/map-store.ts'
import { race } from '../support/race.ts'
import { seededRandom } from '../support/seeded-random.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const twoScopes = ['address', 'user'].map((scope) => slidingWindow({ name: scope, scope, limit: 100, window: '366d' }))

const key = { address: 'a', user: 'u' }

const remaining = async (limiter: BareLimiter) => {
  return (await limiter.peek(key)).policies.map((verdict) => verdict.remaining)
}

const kinds: readonly ((options: PolicyOptions) => Policy)[] = [
  slidingWindow,
  slidingLog,
  segmentedWindow,
  fixedWindow,
  tokenBucket,
]

test.each(
  kinds.flatMap((kind) =>
    [2, 30].flatMap((retries) => [2, 3].map((scopes) => [kind.name, retries, scopes, kind] as const)),
  ),
)('%s, %i retries, %i scopes: limiters that compete use what they admit', async (_, retries, scopes, kind) => {
  const database = new MapDatabase()
  const random = seededRandom(17 * retries + scopes)
  database.before = async () => {
    for (let turns = random(6); turns > 0; turns--) await turn()
  }
  const policies = ['a', 'b', 'c']
    .slice(0, scopes)
    .map((scope) => kind({ name: scope, scope, limit: 1000, window: '366d' }))
  const store = () => database.store({ retries, timeout: '20s' })
  const fleet = Array.from({ length: 10 }, () => new BareLimiter({ name: 'l', policies, store: store() }))
  const { admitted, used, failed } = await race({ fleet, policies, calls: 24, seed: retries + scopes })
  expect(await used()).toEqual(admitted)
  if (retries === 2) expect(failed).toBeGreaterThan(0)
})

test('limiters that compete with lists of costs use what they admit, each from the budget that has paid', async () => {
  const database = new MapDatabase()
  const random = seededRandom(34)
  let clashes = 0
  database.before = async () => {
    for (let turns = random(6); turns > 0; turns--) await turn()
  }
  const swap = async (...swap: Parameters<MapDatabase['swap']>) => {
    const swapped = await database.swap(...swap)
    if (!swapped) clashes++
    return swapped
  }
  const policies = ['own', 'pool'].map((name) => fixedWindow({ name, scope: name, limit: 60, window: '366d' }))
  const fleet = Array.from({ length: 6 }, () => {
    return new RateLimiter({ name: 'l', policies, store: database.store({ swap, retries: 1000 }) })
  })
  const cost = [
    { own: 2, pool: 0 },
    { own: 1, pool: 1 },
    { own: 0, pool: 2 },
  ]
  const key = { own: 'o', pool: 'p' }
  const admitted = { own: 0, pool: 0 }
  const paid = [0, 0, 0]
  await Promise.all(
    fleet.map(async (limiter, n) => {
      for (let call = 0; call < 16; call++) {
        const reservation = await limiter.reserve(key, { cost })
        const taken = reservation.decision.tried?.length ?? 0
        if (!reservation.allowed) continue
        paid[taken] = (paid[taken] as number) + 1
        if ((call + n) % 3 === 0) {
          await reservation.cancel()
          continue
        }
        admitted.own += cost[taken]?.own ?? 0
        admitted.pool += cost[taken]?.pool ?? 0
      }
    }),
  )
  const [limiter] = fleet as [RateLimiter]
  expect((await limiter.usage(key)).policies.map(({ used }) => used)).toEqual([admitted.own, admitted.pool])
  expect([Math.min(clashes, 1), admitted.own <= 60, admitted.pool <= 60]).toEqual([1, true, true])
  expect([paid[0], paid[2]].every((calls) => (calls as number) > 0)).toBe(true)
})

test('a write is undone also if others write first more often than a call tries', async () => {
  const database = new MapDatabase()
  const other = new BareLimiter({ name: 'l', policies: twoScopes, store: database.store() })
  let admitted = 0
  let overtakenUndos = 0
  async function swap(...swap: Parameters<MapDatabase['swap']>) {
    const lastOfTheCall = swap[0].includes(':user:')
    if (lastOfTheCall || overtakenUndos-- > 0) {
      await other.consume(key)
      admitted++
    }
    if (lastOfTheCall) overtakenUndos = 3
    return database.swap(...swap)
  }
  const limiter = new BareLimiter({ name: 'l', policies: twoScopes, store: database.store({ swap, retries: 1 }) })
  expect((await failure(limiter.consume(key, { cost: 20 }))).code).toBe('HEADGATE_STORE')
  expect(admitted).toBe(8)
  expect(await remaining(other)).toEqual([92, 92])
})

test('undoing a write with a renewed lease leaves the units of its reservation taken', async () => {
  const database = new MapDatabase()
  const policies = [...twoScopes, concurrency({ limit: 100, scope: 'user' })]
  const limiter = new RateLimiter({ name: 'l', policies, store: database.store() })
  const other = new RateLimiter({ name: 'l', policies, store: database.store() })
  const reservation = await limiter.reserve(key, { cost: 7 })
  let swaps = 0
  database.before = (name) => name.includes(':user:') && ++swaps === 1 && other.charge(key)
  const [renewed] = await Promise.all([reservation.renew(), limiter.reserve(key)])
  expect(renewed).toBe(true)
  expect(swaps).toBeGreaterThan(2)
  expect((await limiter.peek(key)).policies.map(({ used }) => used)).toEqual([9, 9, 9])
})

/** A call whose last swap hangs until it has timed out. */
async function late(call: (limiter: BareLimiter) => Promise<unknown>): Promise<BareLimiter> {
  const database = new MapDatabase()
  const limiter = new BareLimiter({ name: 'l', policies: twoScopes, store: database.store({ timeout: 50 }) })
  let go = () => {}
  database.before = (key) => key.includes(':user:') && new Promise<void>((resolve) => (go = resolve))
  expect((await failure(call(limiter))).code).toBe('HEADGATE_STORE_TIMEOUT')
  database.before = () => {}
  go()
  return limiter
}

test.each<[verb: string, call: (limiter: BareLimiter) => Promise<unknown>]>([
  ['consume', (limiter) => limiter.consume(key, { cost: 7 })],
  ['reserve', (limiter) => limiter.reserve(key)],
])('a %s that is saved after its timeout is given back', async (_, call) => {
  const limiter = await late(call)
  await expect.poll(() => remaining(limiter)).toEqual([100, 100])
})

test('a charge that is saved after its timeout stays, because reconciliation counts it as made', async () => {
  const limiter = await late((limiter) => limiter.charge(key))
  await expect.poll(() => remaining(limiter)).toEqual([99, 99])
  for (let turns = 0; turns < 100; turns++) await turn()
  expect(await remaining(limiter)).toEqual([99, 99])
})

test('if a call with the windows of another year shares a write that is undone, only the units of the other call go', async () => {
  const calendar = { timeZone: 'UTC' }
  const now = Date.UTC(2026, 0, 1)
  vi.useFakeTimers({ toFake: ['Date'], now })
  const database = new MapDatabase()
  const policies = ['address', 'user'].map((scope) =>
    calendarWindow({ limit: 10, every: 'month', timeZone: 'caller', name: scope, scope }),
  )
  const [one, other] = [1, 2].map(() => {
    const store = database.store({ clock: () => now * 1000 })
    return new RateLimiter({ name: 'l', policies, store, onStoreError: 'throw' })
  }) as [RateLimiter, RateLimiter]
  await one.consume(key, { cost: 5, calendar })
  database.before = async (swapped) => {
    if (!swapped.endsWith('user:u')) return
    await other.consume({ address: 'a', user: 'other' }, { calendar })
    throw new Error('the swap fails')
  }
  const calls = [one.consume(key, { calendar })]
  vi.setSystemTime(Date.UTC(2036, 0, 1))
  calls.push(one.consume(key, { calendar }))
  await Promise.all(calls.map((call) => failure(call)))
  vi.useRealTimers()
  expect((await one.peek(key, { calendar })).policies.map(({ used }) => used)).toEqual([6, 5])
})
