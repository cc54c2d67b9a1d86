import { Cluster } from 'ioredis'
import { afterAll, describe, expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import {
  type Clock,
  counter,
  fixedWindow,
  lruStore,
  memoryStore,
  type Policy,
  RateLimiter,
  type Store,
  slidingWindow,
} from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { shareStore } from '../../src/stores/shares/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { brokenStore } from '../support/async-store.ts'
import { MapDatabase } from '../support/map-store.ts'
import { type RedisServer, startCluster } from '../support/redis-server.ts'
import { clusterWorker, memcached, postgres } from '../support/server-stores.ts'
import { sqliteClient, sqliteDatabase } from '../support/sqlite.ts'
import { useRedis, useServer } from '../support/use-server.ts'

/* What a customer may see and ask for, on every store: the usage of a key, one scope alone, and to be forgotten. */

const { client } = await useRedis()
client.on('error', () => undefined)
const nodes = await useServer(startCluster())
const cluster = new Cluster([{ host: '127.0.0.1', port: (nodes.nodes[0] as RedisServer).port }])
cluster.on('error', () => undefined)
afterAll(() => cluster.disconnect())
const timeout = '10s'

const stores: readonly { name: string; create(clock: Clock, prefix: string): Store }[] = [
  { name: 'memory', create: (clock) => memoryStore({ clock }) },
  { name: 'lru', create: (clock) => lruStore({ clock }) },
  { name: 'compare-and-set', create: (clock) => new MapDatabase().store({ clock }) },
  { name: 'Redis', create: (clock, prefix) => redisStore({ client, clock, prefix, timeout }) },
  {
    name: 'Redis with a cache',
    create: (clock, prefix) => redisStore({ client, clock, prefix, timeout, refusalCache: true }),
  },
  { name: 'Redis Cluster', create: (clock, prefix) => redisStore({ client: cluster, clock, prefix, timeout }) },
  sqliteDatabase(),
  sqliteClient(),
  await postgres(),
  await memcached(),
  await clusterWorker(),
]

let prefixes = 0
const start = Date.UTC(2030, 10, 20, 12, 30)
const hour = 3_600_000

function rig({ create }: (typeof stores)[number], policies: readonly Policy[] = plan) {
  const clock = new ManualClock(start)
  const store = create(clock.now, `usage-${prefixes++}`)
  const limiter = new RateLimiter({ name: 'api', policies, store, penalty: { after: 100, within: '1h', ban: '1h' } })
  return { clock, limiter }
}

const plan = [
  calendarWindow({ limit: 1000, every: 'month', timeZone: 'Europe/Berlin', scope: 'customer' }),
  fixedWindow({ name: 'hour', limit: 400, window: '1h', scope: 'customer' }),
  slidingWindow({ name: 'address', limit: 500, window: '1m', scope: 'address' }),
  counter({ window: '1d', scope: 'address' }),
]
const keys = { customer: 'ann', address: '192.0.2.1' }
const customer = (used: number, inHour: number) => [
  {
    ...{ name: 'month', scope: 'customer', limit: 1000, used, remaining: 1000 - used },
    ...{ start: Date.UTC(2030, 9, 31, 23), end: Date.UTC(2030, 10, 30, 23) },
  },
  {
    ...{ name: 'hour', scope: 'customer', limit: 400, used: inHour, remaining: 400 - inHour },
    ...{ start: start - hour / 2, end: start + hour / 2 },
  },
]
const address = (used: number) => [
  { name: 'address', scope: 'address', limit: 500, used, remaining: 500 - used },
  { name: 'counter', scope: 'address', limit: Infinity, used, remaining: Infinity },
]

describe.each(stores)('$name: usage', (store) => {
  test('shows what is used, and the window that runs, and takes nothing', async () => {
    const { clock, limiter } = rig(store)
    expect(await limiter.usage(keys)).toEqual({
      ...{ policies: [...customer(0, 0), ...address(0)], at: start, source: 'store' },
    })
    await limiter.consume(keys, { cost: 340 })
    for (let n = 0; n < 2; n++) {
      expect((await limiter.usage(keys)).policies).toEqual([...customer(340, 340), ...address(340)])
    }
    expect((await limiter.usage({ customer: 'ann' })).policies).toEqual(customer(340, 340))
    expect((await limiter.usage({ address: '192.0.2.1' })).policies).toEqual(address(340))
    expect((await limiter.usage({ customer: 'bob' })).policies).toEqual(customer(0, 0))
    clock.advance('11d')
    expect((await limiter.usage(keys)).policies[0]).toEqual({
      ...{ name: 'month', scope: 'customer', limit: 1000, used: 0, remaining: 1000 },
      ...{ start: Date.UTC(2030, 10, 30, 23), end: Date.UTC(2030, 11, 31, 23) },
    })
  })

  test('shows more than the limit after a charge, and follows what is given back', async () => {
    const { limiter } = rig(store)
    await limiter.charge(keys, { cost: 1200 })
    const [month, inHour] = (await limiter.usage({ customer: 'ann' })).policies
    expect(month).toMatchObject({ used: 1200, remaining: 0, end: Date.UTC(2030, 10, 30, 23) })
    expect(inHour).toMatchObject({ used: 1200, remaining: 0, start: start - hour / 2, end: start + hour / 2 })
    await limiter.refund(keys, { cost: 300 })
    expect((await limiter.usage({ customer: 'ann' })).policies[0]).toMatchObject({ used: 900, remaining: 100 })
  })

  test('asks for the calendar of the customer, and keeps the window that runs when it changes', async () => {
    const policies = [calendarWindow({ limit: 10, every: 'month', anchor: 'caller', timeZone: 'caller' })]
    const { clock, limiter } = rig(store, policies)
    const calendar = { anchor: 15, timeZone: 'America/New_York' }
    const [start, end] = [Date.UTC(2030, 10, 15, 5), Date.UTC(2030, 11, 15, 5)]
    await expect(limiter.usage('ann')).rejects.toMatchObject({ code: 'HEADGATE_CALENDAR' })
    expect((await limiter.usage('ann', { calendar })).policies).toMatchObject([{ used: 0, start, end }])
    await limiter.consume('ann', { calendar })
    clock.advance('1d')
    expect((await limiter.usage('ann', { calendar })).policies).toMatchObject([{ used: 1, start, end }])
    const later = { calendar: { anchor: 21, timeZone: 'UTC' } }
    const [month] = (await limiter.usage('ann', later)).policies
    expect(month).toEqual({ name: 'month', scope: 'default', limit: 10, used: 1, remaining: 9, end })
    await expect(limiter.usage('ann', { cost: 2 } as never)).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
  })
})

test('shares: usage counts what this process has not reported yet', async () => {
  const store = shareStore({
    store: redisStore({ client, prefix: 'usage-shares', timeout }),
    instances: 2,
    report: '1h',
  })
  const policies = [
    calendarWindow({ limit: 1000, every: { months: 12 }, scope: 'customer' }),
    slidingWindow({ limit: 90, window: '1h' }),
  ]
  const limiter = new RateLimiter({ name: 'api', policies, store })
  for (let n = 0; n < 5; n++) await limiter.consume({ customer: 'ann', default: 'a' })
  const year = new Date().getUTCFullYear()
  expect((await limiter.usage({ customer: 'ann' })).policies).toEqual([
    {
      name: '12-months',
      scope: 'customer',
      limit: 1000,
      used: 5,
      remaining: 995,
      start: Date.UTC(year, 0),
      end: Date.UTC(year + 1, 0),
    },
  ])
  store.close?.()
})

describe.each(stores)('$name: resetAt', (store) => {
  const resetAt = Date.UTC(2030, 10, 30, 23)
  const moments = (policies: readonly { readonly resetAt?: number }[]) => policies.map((policy) => policy.resetAt)

  test('is the end of the window that runs, in every decision and in inspect, and absent if nothing is used', async () => {
    const { clock, limiter } = rig(store)
    const none = Array.from({ length: 5 }, () => undefined)
    const some = [resetAt, ...none.slice(1)]
    expect(moments((await limiter.peek(keys)).policies)).toEqual(none)
    expect(moments((await limiter.inspect(keys)).policies)).toEqual(none)
    expect((await limiter.peek(keys)).policies.some((verdict) => 'resetAt' in verdict)).toBe(false)
    const { decision, ...reservation } = await limiter.reserve(keys, { cost: 400 })
    expect(moments(decision.policies)).toEqual(some)
    expect(reservation).toBeDefined()
    clock.advance(1)
    for (const verb of ['consume', 'peek', 'charge'] as const) {
      const { policies } = await limiter[verb](keys)
      expect([verb, moments(policies)]).toEqual([verb, some])
      expect(policies[0]?.resetAfter).toBe(resetAt - start - 1)
    }
    expect(moments((await limiter.inspect(keys)).policies)).toEqual(some)
    expect(moments((await limiter.refund(keys, { cost: 1 })).policies)).toEqual(some)
    expect(moments((await limiter.refund(keys, { cost: 400 })).policies)).toEqual(none)
  })

  test('of one policy, of a cached refusal and of another plan', async () => {
    const { clock, limiter } = rig(store, [plan[0] as Policy])
    await limiter.consume('ann', { cost: 1000 })
    for (let n = 0; n < 3; n++) {
      expect(await limiter.consume('ann')).toMatchObject({
        ...{ allowed: false, retryAfter: resetAt - start - n },
        policies: [{ resetAt }, {}],
      })
      clock.advance(1)
    }
    const pro = limiter.withPlan(
      calendarWindow({ limit: 5000, every: 'month', timeZone: 'Europe/Berlin', scope: 'customer' }),
    )
    expect((await pro.consume('ann')).policies).toMatchObject([{ used: 1001, resetAt }, {}])
  })
})

test('shares: resetAt is the end of the window in decisions of this process and of the store', async () => {
  const store = shareStore({
    store: redisStore({ client, prefix: 'reset-shares', timeout }),
    instances: 2,
    report: '1h',
  })
  const limiter = new RateLimiter({
    name: 'api',
    policies: calendarWindow({ limit: 10, every: { months: 12 } }),
    store,
  })
  const resetAt = Date.UTC(new Date().getUTCFullYear() + 1, 0)
  for (let n = 0; n < 12; n++) expect((await limiter.consume('ann')).policies).toMatchObject([{ resetAt }])
  store.close?.()
})

test.each(['local', 'open'] as const)(
  'a store that fails, %s: resetAt and usage of this process',
  async (onStoreError) => {
    const store = brokenStore(() => Promise.reject(new Error('down')))
    const policies = [calendarWindow({ limit: 10, every: { months: 12 } })]
    const limiter = new RateLimiter({ name: `failing-${onStoreError}`, policies, store, onStoreError })
    const local = onStoreError === 'local'
    const [start, end] = [0, 1].map((year) => Date.UTC(new Date().getUTCFullYear() + year, 0))
    const { policies: verdicts } = await limiter.consume('ann')
    expect(verdicts[0]?.resetAt).toBe(local ? end : undefined)
    expect(await limiter.usage('ann')).toMatchObject({
      ...{ source: local ? 'fallback' : 'open', policies: [{ used: local ? 1 : 0, start, end }] },
    })
  },
)
