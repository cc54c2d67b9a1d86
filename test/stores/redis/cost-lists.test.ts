/* Lists of costs on a real Redis: timelines, the model, and calls that go another way without a list. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { calendarWindow } from '../../../src/calendar/index.ts'
import {
  fixedWindow,
  RateLimiter,
  type RateLimiterOptions,
  type Store,
  type ThresholdEvent,
} from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { shareStore } from '../../../src/stores/shares/index.ts'
import { testCostListModel } from '../../support/cost-list-model.ts'
import { describeCostLists, key, ownThenPool } from '../../support/cost-lists.ts'
import { rounds } from '../../support/depth.ts'
import { startProxy } from '../../support/tcp-proxy.ts'
import { useRedis } from '../../support/use-server.ts'

const { server, client } = await useRedis()

let names = 0

function storeOf(clock: () => number, options: object = {}) {
  return redisStore({ client, clock, prefix: `lists-${names++}`, timeout: '20s', ttlMargin: '1d', ...options })
}

describeCostLists('redisStore', storeOf)
describeCostLists('redisStore with leases', (clock) => storeOf(clock, { leases: { units: 5 } }))
testCostListModel('redisStore', storeOf, rounds(4, 40))

const ownOf = (limit: number) => fixedWindow({ name: 'own', limit, window: '1h', scope: 'org' })
const own = ownOf(4)
const pool = fixedWindow({ name: 'pool', limit: 9, window: '1h', scope: 'pool' })

/** A limiter with an own budget of 4 and a pool of 9, under a new name. */
function limiterOn(store: Store, options: Partial<RateLimiterOptions> = {}): RateLimiter {
  return new RateLimiter({ name: `lists-${names++}`, policies: [own, pool], store, onStoreError: 'throw', ...options })
}

async function usedBy(limiter: RateLimiter): Promise<number[]> {
  return (await limiter.usage(key)).policies.map(({ used }) => used)
}

test('processes that compete take all of an own budget and of a pool, and never more', async () => {
  const name = `lists-${names++}`
  const clients = [client, client.duplicate(), client.duplicate()]
  onTestFinished(() => {
    for (const each of clients.slice(1)) each.disconnect()
  })
  const fleet = clients.map((each) => limiterOn(redisStore({ client: each, timeout: '10s' }), { name }))
  const decisions = await Promise.all(
    Array.from({ length: 30 }, (_, n) => fleet[n % 3]?.consume(key, { cost: ownThenPool })),
  )
  const paid = decisions.map((decision) => (decision?.allowed ? ownThenPool[decision.tried?.length ?? 9] : undefined))
  expect(ownThenPool.map((cost) => paid.filter((each) => each === cost).length)).toEqual([4, 9])
  expect(await usedBy(fleet[0] as RateLimiter)).toEqual([4, 9])
})

test('calls of one turn keep their order, with a list and with one cost', async () => {
  const limiter = limiterOn(redisStore({ client, timeout: '10s' }))
  const decisions = await Promise.all(
    Array.from({ length: 9 }, (_, n) => limiter.consume(key, { cost: n % 2 === 0 ? ownThenPool : 1 })),
  )
  // Each call with one cost takes a unit of both. The own budget is used up by the first four calls.
  expect(decisions.map(({ allowed, tried }) => [allowed, tried?.map(({ policy }) => policy)])).toEqual([
    [true, []],
    [true, undefined],
    [true, []],
    [true, undefined],
    [true, ['own']],
    [false, undefined],
    [true, ['own']],
    [false, undefined],
    [true, ['own']],
  ])
  expect(await usedBy(limiter)).toEqual([4, 5])
})

test('a refusal that this process repeats is not the answer to a list', async () => {
  const limiter = limiterOn(redisStore({ client, timeout: '10s', refusalCache: { longest: '1h' } }))
  await limiter.consume(key, { cost: 4 })
  for (const _ of [1, 2]) expect((await limiter.consume(key)).policy).toBe('own')
  expect((await limiter.consume(key, { cost: ownThenPool })).tried?.map(({ policy }) => policy)).toEqual(['own'])
  expect(await usedBy(limiter)).toEqual([4, 5])
})

test('units that are leased count as used for a list', async () => {
  const limiter = limiterOn(redisStore({ client, timeout: '10s', leases: { units: 4 } }))
  await limiter.consume(key)
  expect(await usedBy(limiter)).toEqual([4, 4])
  expect((await limiter.consume(key, { cost: ownThenPool })).tried?.map(({ policy }) => policy)).toEqual(['own'])
  expect(await usedBy(limiter)).toEqual([4, 5])
})

test('a share reports what it has admitted, and then Redis decides the list', async () => {
  const store = shareStore({ store: redisStore({ client, timeout: '10s' }), instances: 2, report: '1h' })
  onTestFinished(() => store.close?.())
  const limiter = limiterOn(store, { policies: [ownOf(8), pool] })
  for (let n = 0; n < 4; n++) await limiter.consume(key) // the first asks Redis for a share
  const tried: unknown[] = []
  for (let n = 0; n < 6; n++) tried.push((await limiter.consume(key, { cost: ownThenPool })).tried?.length)
  expect(tried).toEqual([0, 0, 0, 0, 1, 1])
  expect(await usedBy(limiter)).toEqual([8, 6])
  const { tried: peeked } = await limiter.peek(key, { cost: ownThenPool })
  expect(peeked?.map(({ policy }) => policy)).toEqual(['own'])
})

test('thresholds are told for the budget that pays, once', async () => {
  const told: string[] = []
  const onThreshold = ({ policy, threshold, used }: ThresholdEvent) => void told.push(`${policy} ${threshold}@${used}`)
  const month = (name: string, limit: number, scope: string) =>
    calendarWindow({ name, limit, every: 'month', scope, thresholds: [0.5, 1] })
  const policies = [month('own', 2, 'org'), month('pool', 4, 'pool')]
  const limiter = limiterOn(redisStore({ client, timeout: '10s' }), { policies, onThreshold })
  const lines: string[] = []
  for (let n = 0; n < 8; n++) {
    const { allowed } = await limiter.consume(key, { cost: ownThenPool })
    lines.push([allowed, ...told.splice(0)].join(' '))
  }
  expect(lines).toEqual([
    'true own 0.5@1',
    'true own 1@2',
    'true',
    'true pool 0.5@2',
    'true',
    'true pool 1@4',
    'false',
    'false',
  ])
})

test('two plans on the same states: each has limits of its own for a list', async () => {
  const limiter = limiterOn(redisStore({ client, timeout: '10s' }))
  const larger = limiter.withPlan([ownOf(6), pool])
  const calls = [limiter, limiter, limiter, limiter, limiter, larger, larger, larger]
  const tried: unknown[] = []
  for (const each of calls) tried.push((await each.consume(key, { cost: ownThenPool })).tried?.length)
  expect(tried).toEqual([0, 0, 0, 0, 1, 0, 0, 1])
  expect(await usedBy(larger)).toEqual([6, 2])
})

async function farRedis() {
  const proxy = await startProxy(server.port)
  const far = new Redis(proxy.port)
  onTestFinished(() => {
    far.disconnect()
    proxy.close()
  })
  far.on('error', () => undefined)
  await far.ping()
  return { proxy, far }
}

test.each(['consume', 'reserve'] as const)('%s: a late answer gives back to the budget that has paid', async (verb) => {
  const { proxy, far } = await farRedis()
  const store = redisStore({ client: far, timeout: '10s' })
  const name = `lists-${names++}`
  const limiter = limiterOn(store, { name, onStoreError: 'open', storeTimeout: '100ms' })
  const near = limiterOn(redisStore({ client, timeout: '10s' }), { name })
  for (let n = 0; n < 4; n++) await near.consume(key, { cost: ownThenPool })
  proxy.delay = 150
  const answer = await limiter[verb](key, { cost: ownThenPool })
  expect('decision' in answer ? answer.decision.source : answer.source).toBe('open')
  await vi.waitFor(async () => expect(await usedBy(near)).toEqual([4, 1]), { timeout: 5000 })
  await vi.waitFor(async () => expect(await usedBy(near)).toEqual([4, 0]), { timeout: 5000 })
})

test('while Redis fails, this process tries the list; later Redis is charged where each call has paid', async () => {
  const { proxy, far } = await farRedis()
  const name = `lists-${names++}`
  const store = redisStore({ client: far, timeout: '200ms', breaker: { failures: 1, openFor: '50ms' } })
  const limiter = limiterOn(store, { name, onStoreError: 'local' })
  const near = limiterOn(redisStore({ client, timeout: '10s' }), { name })
  await limiter.consume(key, { cost: ownThenPool })
  const before = await limiter.reserve(key, { cost: ownThenPool })
  proxy.silent = true
  const during = await Promise.all(Array.from({ length: 2 }, () => limiter.reserve(key, { cost: ownThenPool })))
  const third = await limiter.reserve(key, {
    cost: ownThenPool.map((each) => ({ own: each.own * 3, pool: each.pool * 3 })),
  })
  expect([...during, third].map(({ decision }) => [decision.source, decision.tried?.length])).toEqual([
    ['fallback', 0],
    ['fallback', 0],
    ['fallback', 1],
  ])
  await third.settle(5) // the pool has paid 3, and pays 2 more
  await before.settle(0) // granted by Redis: given back when Redis answers
  await during[0]?.settle(0)
  proxy.silent = false
  proxy.cut()
  await vi.waitFor(
    async () => {
      await limiter.peek(key)
      expect(await usedBy(near)).toEqual([2, 5])
    },
    { timeout: 10_000, interval: 100 },
  )
})
