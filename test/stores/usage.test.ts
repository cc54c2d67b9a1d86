import { Cluster } from 'ioredis'
import { afterAll, describe, expect, test, vi } from 'vitest'
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
import type { Ledger } from '../../src/store.ts'
import { StateRows } from '../../src/stores/memory/state-rows.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { shareStore } from '../../src/stores/shares/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { brokenStore, remoteStore } from '../support/async-store.ts'
import { sampled } from '../support/depth.ts'
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

const all: readonly { name: string; create(clock: Clock, prefix: string): Store }[] = [
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
const stores = sampled(all, 5)

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

test('usage gives the calendar to the policies that ask for it, by scope', async () => {
  const clock = new ManualClock(start)
  const policies = [
    calendarWindow({ limit: 10, every: 'month', anchor: 'caller', scope: 'customer' }),
    calendarWindow({ limit: 5, every: 'day', scope: 'customer' }),
    calendarWindow({ limit: 9, every: 'week', scope: 'address' }),
  ]
  const limiter = new RateLimiter({ policies, store: memoryStore({ clock: clock.now }) })
  const calendar = { customer: { anchor: 20 } }
  await limiter.consume(keys, { calendar })
  const windows = [
    [Date.UTC(2030, 10, 20), Date.UTC(2030, 11, 20)],
    [Date.UTC(2030, 10, 20), Date.UTC(2030, 10, 21)],
    [Date.UTC(2030, 10, 18), Date.UTC(2030, 10, 25)],
  ].map(([from, end]) => ({ used: 1, start: from, end }))
  expect((await limiter.usage(keys, { calendar })).policies).toMatchObject(windows)
  expect((await limiter.usage({ customer: 'ann' }, { calendar })).policies).toMatchObject(windows.slice(0, 2))
  expect((await limiter.usage({ address: keys.address })).policies).toMatchObject(windows.slice(2))
  await expect(limiter.usage({ customer: 'ann' })).rejects.toMatchObject({ code: 'HEADGATE_CALENDAR' })
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
    expect((await pro.peek('ann')).policies).toMatchObject([{ used: 1000, resetAt }, {}])
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

const leasing = {
  name: 'Redis with leases',
  create: (clock: Clock, prefix: string) => redisStore({ client, clock, prefix, timeout, leases: { units: 10 } }),
}

describe.each([...stores, leasing])('$name: one scope alone', (store) => {
  const limited = [
    calendarWindow({ limit: 20, every: 'month', scope: 'customer' }),
    fixedWindow({ name: 'hour', limit: 30, window: '1h', scope: 'customer' }),
    slidingWindow({ name: 'address', limit: 40, window: '1h', scope: 'address' }),
  ]
  const used = ({ policies }: { policies: readonly { name: string; used: number }[] }) =>
    policies.filter(({ name }) => name !== 'penalty').map((policy) => [policy.name, policy.used])

  test('peek, inspect and reset', async () => {
    const { limiter } = rig(store, limited)
    await limiter.consume(keys, { cost: 20 })
    expect(await limiter.consume(keys)).toMatchObject({ allowed: false, policy: 'month' })
    const mine = await limiter.peek({ customer: 'ann' })
    expect(mine).toMatchObject({ allowed: false, policy: 'month', remaining: 0 })
    expect(used(mine)).toEqual([['month', 20], ['hour', 20]]) // biome-ignore format: a table
    const there = await limiter.peek({ address: keys.address }, { cost: { address: 1 } })
    expect(there).toMatchObject({ allowed: true, policy: 'address' })
    expect(used(await limiter.inspect({ address: keys.address }))).toEqual(used(there))
    expect(await limiter.inspect({ customer: 'ann' })).toMatchObject({
      refused: true,
      policies: [{ name: 'month' }, {}, { name: 'penalty' }],
    })

    await limiter.ban({ address: keys.address }, '1h')
    await limiter.reset({ customer: 'ann' })
    expect(used(await limiter.peek({ customer: 'ann' }))).toEqual([['month', 0], ['hour', 0]]) // biome-ignore format: a table
    expect(used(await limiter.peek({ address: keys.address }))).toEqual(used(there))
    expect(await limiter.consume(keys)).toMatchObject({ allowed: false, policy: 'ban' })
    await limiter.reset({ address: keys.address })
    expect(await limiter.consume(keys)).toMatchObject({ allowed: true })
    expect(used(await limiter.peek(keys)).map(([name]) => name)).toEqual(['month', 'hour', 'address'])
  })

  test('a key that names no scope of the limiter, or another one besides', async () => {
    const { limiter } = rig(store, limited)
    for (const verb of ['peek', 'inspect', 'reset', 'usage'] as const) {
      for (const key of [{}, { adress: 'a' }, { customer: 'ann', adress: 'a' }, { customer: 1 }, 'ann', null]) {
        await expect(limiter[verb](key as never)).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
      }
      await limiter[verb]({ ...keys, other: 'of another limit' })
    }
    for (const verb of ['consume', 'charge', 'refund', 'reserve'] as const) {
      await expect(limiter[verb]({ customer: 'ann' })).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
    }
    await expect(limiter.peek({ customer: 'ann' }, { cost: { address: 1 } })).rejects.toMatchObject({
      code: 'HEADGATE_COST',
    })
  })

  test('plans share what one scope has used', async () => {
    const { limiter } = rig(store, limited)
    await limiter.consume(keys, { cost: 5 })
    const small = limiter.withPlan([fixedWindow({ name: 'hour', limit: 10, window: '1h', scope: 'customer' })])
    expect(used(await small.usage({ customer: 'ann' })).slice(0, 1)).toMatchObject([
      ['hour', store === leasing ? expect.any(Number) : 5],
    ])
    await limiter.reset({ customer: 'ann' })
    expect(used(await small.peek({ customer: 'ann' }))).toEqual([['hour', 0]])
    await small.consume({ customer: 'ann' })
    expect(used(await limiter.peek({ customer: 'ann' }))).toEqual([['month', 0], ['hour', 1]]) // biome-ignore format: a table
  })
})

test('shares: a reset of one scope also forgets what this process has not reported', async () => {
  const store = shareStore({
    store: redisStore({ client, prefix: 'reset-scope', timeout }),
    instances: 2,
    report: '1h',
  })
  const policies = ['customer', 'address'].map((scope) => fixedWindow({ name: scope, scope, limit: 100, window: '1h' }))
  const limiter = new RateLimiter({ name: 'api', policies, store })
  for (let n = 0; n < 5; n++) await limiter.consume(keys)
  await limiter.reset({ customer: 'ann' })
  expect((await limiter.usage(keys)).policies.map((policy) => policy.used)).toEqual([0, 5])
  store.close?.()
})

test('while the store fails, one scope is reset in this process, and in the store when it answers again', async () => {
  const memory = memoryStore()
  let down = false
  const store = remoteStore((terms, joins) => {
    const ledger = memory.open(terms, (joins as { inner?: Ledger } | undefined)?.inner)
    const run: Ledger['run'] = async (command) => {
      if (down) throw new Error('down')
      return ledger.run(command)
    }
    return { run, inner: ledger } as Ledger
  })
  const policies = ['customer', 'address'].map((scope) => fixedWindow({ name: scope, scope, limit: 10, window: '1h' }))
  const limiter = new RateLimiter({ name: 'api', policies, store })
  await limiter.consume(keys, { cost: 10 })
  down = true
  await limiter.consume(keys, { cost: 4 })
  await limiter.reset({ customer: 'ann' })
  const usage = async () => (await limiter.usage(keys)).policies.map((policy) => policy.used)
  expect(await usage()).toEqual([0, 4])
  down = false
  await vi.waitFor(async () => expect((await limiter.peek(keys)).source).toBe('store'), 3000)
  expect(await usage()).toEqual([0, 14])
})

test('in memory, a look at one scope leaves the rows of the limiter as fast as they were', async () => {
  const limiter = new RateLimiter({ policies: plan })
  const share = vi.spyOn(StateRows.prototype, 'share')
  await limiter.consume(keys)
  await limiter.peek({ customer: 'ann' })
  await limiter.reset({ address: keys.address })
  expect(share).not.toHaveBeenCalled()
  limiter.withPlan(['1/1h']).consumeSync('ann')
  limiter.withPlan([fixedWindow({ limit: 5, window: '1d', scope: 'customer' })])
  expect(share).toHaveBeenCalled()
  share.mockRestore()
  await limiter.consume(keys)
  expect((await limiter.usage({ customer: 'ann' })).policies).toMatchObject([{ used: 2 }, { used: 2 }])
})

describe.each([...stores, leasing])('$name: forget', (store) => {
  test('deletes states, reservations and bans of the keys, in the scopes that they name, under every plan', async () => {
    const { limiter } = rig(store)
    const pro = limiter.withPlan([fixedWindow({ name: 'pro', limit: 9, window: '1h', scope: 'customer' })])
    const people = ['ann', 'bob', 'cid', 'dan'].map((name) => ({ customer: name, address: name }))
    for (const person of people) {
      await limiter.consume(person, { cost: 3 })
      await pro.consume(person)
    }
    const [ann = keys, bob = keys, , dan = keys] = people
    const open = await limiter.reserve(ann, { cost: 50 })
    await limiter.ban({ customer: 'bob' }, '1h')
    await limiter.ban({ address: 'dan' }, '1h')
    await limiter.forget([
      'ann',
      { customer: 'bob' },
      { address: 'cid', customer: 'cid' },
      { address: 'nobody' },
      'ann',
    ])
    await open.cancel()
    const used = async (name: string) => {
      const person = { customer: name, address: name }
      return [...(await limiter.usage(person)).policies, ...(await pro.usage(person)).policies].map(
        (each) => each.used > 0,
      )
    }
    expect(await used('ann')).toEqual([false, false, false, false, false])
    expect(await used('bob')).toEqual([false, false, true, true, false])
    expect(await used('cid')).toEqual([false, false, false, false, false])
    expect(await used('dan')).toEqual([true, true, true, true, true])
    expect(await limiter.consume(bob)).toMatchObject({ allowed: true })
    expect(await limiter.consume(dan)).toMatchObject({ allowed: false, policy: 'ban' })
    expect(await limiter.inspect(ann)).toMatchObject({ others: [], lastUsedAt: undefined })
  })

  test('takes thousands of keys, none, and no wrong one', async () => {
    const { limiter } = rig(store, [fixedWindow({ limit: 5, window: '1d' })])
    const many = Array.from({ length: 3000 }, (_, n) => `key ${n}`)
    for (let n = 0; n < 3000; n += 100) await Promise.all(many.slice(n, n + 100).map((key) => limiter.charge(key)))
    for (const wrong of ['key 1', undefined, {}, ['key 1', 5], ['key 1', { user: 'a' }], [null]]) {
      await expect(limiter.forget(wrong as never)).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
    }
    expect((await limiter.peek('key 1')).remaining).toBe(4)
    await limiter.forget([])
    await limiter.forget(many)
    for (const key of ['key 0', 'key 1499', 'key 2999']) expect((await limiter.peek(key)).remaining).toBe(5)
  })
})

test.each(['local', 'open', 'closed'] as const)('a store that fails, %s: forget rejects', async (onStoreError) => {
  const store = brokenStore(() => Promise.reject(new Error('down')))
  const limiter = new RateLimiter({ name: `forget-${onStoreError}`, policies: '5/1h', store, onStoreError })
  await expect(limiter.forget(['ann'])).rejects.toThrow('down')
})
