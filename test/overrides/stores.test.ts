/* Overrides of one limiter in several processes, on every store that keeps documents. */
import cluster from 'node:cluster'
import { join } from 'node:path'
import { createClient as createFileClient } from '@libsql/client'
import { Cluster, Redis } from 'ioredis'
import Database from 'libsql'
import { createClient } from 'redis'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { fixedWindow, memoryStore, RateLimiter, type Store } from '../../src/index.ts'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { shareStore } from '../../src/stores/shares/index.ts'
import { type SqliteStoreOptions, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { sampled } from '../support/depth.ts'
import { type RedisServer, startCluster, startRedis } from '../support/redis-server.ts'
import { postgres } from '../support/server-stores.ts'
import { temporaryFolder } from '../support/sqlite.ts'
import { useRedis, useServer } from '../support/use-server.ts'

const { client, server } = await useRedis()
client.on('error', () => undefined)
const nodeRedis = createClient({ url: `redis://127.0.0.1:${server.port}` })
nodeRedis.on('error', () => undefined)
await nodeRedis.connect()
afterAll(() => nodeRedis.destroy())
const nodes = await useServer(startCluster())
const ofNodes = new Cluster([{ host: '127.0.0.1', port: (nodes.nodes[0] as RedisServer).port }])
ofNodes.on('error', () => undefined)
afterAll(() => ofNodes.disconnect())
const timeout = '5s'
const wall = () => Date.now() * 1000
const ofPostgres = await postgres()
const file = join(temporaryFolder(), 'limits.db')
/** Each process has a connection of its own. */
function sqlite(database: SqliteStoreOptions['database'] & { close(): unknown }, prefix: string): Store {
  afterAll(() => void database.close())
  return sqliteStore({ database, prefix, timeout })
}

const stores: readonly { name: string; create(prefix: string): Store }[] = [
  { name: 'Redis', create: (prefix) => redisStore({ client, prefix, timeout }) },
  { name: 'Redis by node-redis', create: (prefix) => redisStore({ client: nodeRedis, prefix, timeout }) },
  { name: 'Redis with a hash tag', create: (prefix) => redisStore({ client, prefix: `{${prefix}}`, timeout }) },
  { name: 'Redis with leases', create: (prefix) => redisStore({ client, prefix, timeout, leases: { units: 5 } }) },
  { name: 'Redis Cluster', create: (prefix) => redisStore({ client: ofNodes, prefix, timeout }) },
  { name: 'shares', create: (prefix) => shareStore({ store: redisStore({ client, prefix, timeout }), instances: 2 }) },
  { name: 'Postgres', create: (prefix) => ofPostgres.create(wall, prefix) },
  { name: 'SQLite by a driver that answers at once', create: (prefix) => sqlite(new Database(file), prefix) },
  {
    name: 'SQLite by a client of promises',
    create: (prefix) => sqlite(createFileClient({ url: `file:${file}` }), prefix),
  },
]

let prefixes = 0
const open: RateLimiter[] = []
afterEach(() => {
  for (const limiter of open.splice(0)) limiter.close()
})

const month = () => fixedWindow({ name: 'month', limit: 10, window: '30d' })

function limiterOn(store: Store): RateLimiter {
  const limiter = new RateLimiter({ name: 'api', policies: month(), store, storeTimeout: timeout })
  open.push(limiter)
  return limiter
}

describe.each(sampled(stores, 5))('$name', ({ create }) => {
  const both = () => {
    const prefix = `ov-${prefixes++}`
    return [limiterOn(create(prefix)), limiterOn(create(prefix))] as const
  }
  const limit = async (limiter: RateLimiter, key: string) => (await limiter.peek(key)).limit

  test('what one process writes holds in the other within a second, and ends there too', async () => {
    const [one, two] = both()
    await one.consume('ann', { cost: 4 })
    const { id } = await one.override('ann', { add: 500, reason: 'contract' })
    const written = Date.now()
    expect(await limit(one, 'ann')).toBe(510)
    await vi.waitFor(async () => expect(await limit(two, 'ann')).toBe(510), { timeout: 2000, interval: 20 })
    expect(Date.now() - written).toBeLessThan(1500)
    expect(await two.overrides()).toMatchObject([{ id, add: 500, reason: 'contract', effective: true }])
    expect(await two.consume('ann')).toMatchObject({ allowed: true, override: [{ id, reason: 'contract' }] })
    expect(await limit(two, 'bob')).toBe(10)
    expect(await two.removeOverride(id)).toBe(true)
    await vi.waitFor(async () => expect(await limit(one, 'ann')).toBe(10), { timeout: 2000, interval: 20 })
    expect(one.health()).not.toHaveProperty('overridesUnreadSince')
  })

  test('list shows a key as inspect does, also under policies with other names', async () => {
    const [limiter, other] = both()
    const listed = async (each: RateLimiter) => {
      const refused = []
      for await (const { key, inspection } of each.list({ refused: true })) refused.push({ key, ...inspection })
      return refused
    }
    await limiter.override('ann', { policies: fixedWindow({ name: 'trial', limit: 3, window: '1h' }) })
    await limiter.override('bob', { policy: 'month', limit: 2 })
    for (const key of ['ann', 'bob', 'ann', 'bob', 'ann', 'ann', 'bob', 'eve']) await limiter.consume(key)
    const keys = ['ann', 'bob']
    await vi.waitFor(async () => expect((await other.overrides()).length).toBe(2))
    for (const each of [limiter, other]) {
      const shown = await listed(each)
      expect(shown.map(({ key }) => key).sort()).toEqual(keys)
      for (const { key, override, policies } of shown) {
        const expected = await each.inspect(key as string)
        expect(override).toEqual(expected.override)
        expect(policies).toMatchObject(expected.policies.map(({ name, used, limit }) => ({ name, used, limit })))
      }
    }
  })

  test('a process that reads the overrides before its first call applies them', async () => {
    const prefix = `ov-${prefixes++}`
    await limiterOn(create(prefix)).override('ann', { limit: 5 })
    const started = limiterOn(create(prefix))
    await started.overrides()
    expect(await started.consume('ann')).toMatchObject({ limit: 5 })
  })

  test('writes at the same time are all kept, and ids differ', async () => {
    const limiters = both()
    const written = await Promise.all(
      Array.from({ length: 8 }, (_, n) => (limiters[n % 2] as RateLimiter).override(`k${n}`, { limit: 20 + n })),
    )
    expect(new Set(written.map(({ id }) => id)).size).toBe(8)
    expect((await limiters[0].overrides()).map(({ key }) => key).sort()).toEqual(written.map(({ key }) => key))
    await vi.waitFor(async () => expect(await limit(limiters[1], 'k0')).toBe(20), { timeout: 2000, interval: 20 })
  })

  test('a key that an override refuses is told the end of the override', async () => {
    const [limiter] = both()
    const { until = 0 } = await limiter.override('*', { scale: 0.1, until: Date.now() + 500 })
    while ((await limiter.consume('ann')).allowed);
    const before = Date.now()
    const { policy, retryAfter, resetAfter } = await limiter.consume('ann')
    const after = Date.now()
    expect(policy).toBe('month')
    expect(retryAfter).toBeGreaterThanOrEqual(until - after)
    expect(retryAfter).toBeLessThanOrEqual(until - before)
    expect(resetAfter).toBeGreaterThan(60_000)
    const inspected = await limiter.inspect('ann')
    expect([inspected.refused, inspected.retryAfter <= until - after]).toEqual([true, true])
    await new Promise((wake) => setTimeout(wake, after + retryAfter - Date.now() + 5))
    expect((await limiter.consume('ann')).allowed).toBe(true)
  })

  test('a key that an override with the own number of the policy keeps low is told the end of that override', async () => {
    const [limiter] = both()
    await limiter.override('*', { limit: 25 })
    const { id, until = 0 } = await limiter.override('ann', { limit: 10, until: Date.now() + 500 })
    await limiter.consume('ann', { cost: 10 })
    for (const cost of [1, 15]) {
      const before = Date.now()
      const { override, retryAfter } = await limiter.consume('ann', { cost })
      const after = Date.now()
      expect(override).toEqual([{ id }])
      expect(retryAfter).toBeGreaterThanOrEqual(until - after)
      expect(retryAfter).toBeLessThanOrEqual(until - before)
    }
    await new Promise((wake) => setTimeout(wake, until - Date.now() + 5))
    expect((await limiter.consume('ann', { cost: 15 })).allowed).toBe(true)
  })

  test('a process that starts later finds it, also under a plan', async () => {
    const prefix = `ov-${prefixes++}`
    await limiterOn(create(prefix)).override({ prefix: 'trial-' }, { policy: 'month', scale: 0.5 })
    const later = limiterOn(create(prefix))
    await vi.waitFor(async () => expect(await limit(later, 'trial-1')).toBe(5), { timeout: 2000, interval: 20 })
    const pro = later.withPlan(fixedWindow({ name: 'month', limit: 100, window: '30d' }))
    expect(await limit(pro, 'trial-1')).toBe(50)
  })
})

test('a process that cannot read goes on with the last it knew, says so, and finds the new one later', async () => {
  const own = await startRedis()
  const lost = new Redis(own.port, { retryStrategy: () => 50 })
  lost.on('error', () => undefined)
  const limiter = limiterOn(redisStore({ client: lost, prefix: 'lost', timeout: '200ms' }))
  await limiter.override('*', { scale: 0.5 })
  await own.stop()
  const since = Date.now()
  await vi.waitFor(() => expect(limiter.health().overridesUnreadSince).toBeDefined(), { timeout: 5000 })
  expect(limiter.health().overridesUnreadSince).toBeGreaterThanOrEqual(since - 1000)
  expect(await limiter.consume('ann')).toMatchObject({ allowed: true, limit: 5, source: 'fallback' })
  await expect(limiter.overrides()).rejects.toMatchObject({ code: expect.stringMatching(/^HEADGATE_STORE/) })
  await own.start()
  await vi.waitFor(() => expect(limiter.health()).not.toHaveProperty('overridesUnreadSince'), { timeout: 10_000 })
  expect((await limiter.peek('bob')).limit).toBe(10) // the new server has no overrides
  lost.disconnect()
  await own.stop()
})

test('the primary of a cluster keeps the overrides of its workers', async () => {
  const store = clusterStore({ name: 'overrides' })
  const primary = limiterOn(store)
  await primary.override('ann', { limit: 77 })
  expect((await primary.consume('ann')).limit).toBe(77)
  expect(cluster.isPrimary).toBe(true)
})

test('close ends the reads', async () => {
  const seen: string[] = []
  const documents = {
    versions: (names: readonly string[]) => {
      seen.push(...names)
      return names.map(() => '')
    },
    read: () => ({ version: '', text: '' }),
    swap: () => false,
  }
  const memory = memoryStore()
  const store: Store = {
    synchronous: true,
    traits: { fallible: false },
    documents,
    open: (terms, joins) => memory.open(terms, joins),
  }
  const limiters = ['a', 'b'].map((name) => new RateLimiter({ name, policies: '1/1s', store }))
  await vi.waitFor(() => expect(seen.slice(0, 2)).toEqual(['a', 'b']))
  limiters[0]?.close()
  const before = seen.length
  await new Promise((wake) => setTimeout(wake, 700))
  expect(seen.length).toBe(before)
})
