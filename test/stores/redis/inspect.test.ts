import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster, RESP_TYPES } from 'redis'
import { afterAll, describe, expect, test } from 'vitest'
import { rateLimit } from '../../../adapters/express.ts'
import { concurrency, memoryStore, policy, RateLimiter, slidingLog, tokenBucket } from '../../../src/index.ts'
import { inspectRedis, type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { startCluster } from '../../support/redis-server.ts'
import { useRedis, useServer } from '../../support/use-server.ts'

const { server, client } = await useRedis()
const cluster = await useServer(startCluster())
const ports = cluster.nodes.map(({ port }) => port)

const ioredisCluster = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })))
const nodeRedis = await createClient({ socket: { port: server.port } })
  .on('error', () => {})
  .connect()
const nodeRedisCluster = createCluster({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) })
nodeRedisCluster.on('error', () => {})
await nodeRedisCluster.connect()
const prefixed = new Redis(server.port, { keyPrefix: 'app*[1]:' })
afterAll(() => {
  ioredisCluster.disconnect()
  prefixed.disconnect()
  nodeRedis.destroy()
  nodeRedisCluster.destroy()
})

const clients: [string, RedisClient][] = [
  ['ioredis', client],
  ['ioredis with a keyPrefix', prefixed],
  ['node-redis', nodeRedis],
  ['node-redis with buffers in place of texts', nodeRedis.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })],
  ['Cluster of ioredis', ioredisCluster],
  ['a cluster of node-redis', nodeRedisCluster],
]

let prefixes = 0

test('the limiter of a middleware with plans names the policies of every plan that this process has seen', async () => {
  const plans = {
    free: tokenBucket({ name: 'an unusual name', limit: 2, window: '1h' }),
    pro: slidingLog({ name: 'another one', limit: 5, window: '1h' }),
  }
  const store = redisStore({ client, prefix: 'plans/' })
  const { limiter } = rateLimit({ policies: () => plans.free, name: 'plans', store })
  await limiter.ban('ann', '1h') // before any plan is known
  expect((await limiter.withPlan(plans.free).consume('ann')).policy).toBe('ban')
  expect(await limiter.inspect('ann')).toMatchObject({ refused: true, policies: [] })
  await limiter.unban('ann')
  await limiter.withPlan(plans.free).consume('ann')
  await limiter.withPlan(plans.pro).consume('ann', { cost: 2 })
  const { policies } = await limiter.inspect('ann')
  expect(policies.map(({ name, used, limit }) => `${name}: ${used} of ${limit}`).sort()).toEqual([
    'an unusual name: 1 of 2',
    'another one: 2 of 5',
  ])
  await limiter.reset('ann')
  expect((await limiter.withPlan(plans.pro).peek('ann')).remaining).toBe(5)
  await limiter.withPlan(plans.pro).consume('ann')
  await limiter.clear()
  expect((await limiter.inspect('ann')).policies).toEqual([])
})

describe.each(clients)('%s', (_, each) => {
  const limiterOf = (name = 'api') => {
    const store = redisStore({ client: each, timeout: '10s', prefix: `inspect-${prefixes++}`, refusalCache: false })
    const policies = [
      policy('3/1h', { name: 'calls', scope: 'user' }),
      tokenBucket({ name: 'all', limit: 1000, window: '1s' }),
    ]
    return new RateLimiter({ name, policies, store })
  }

  test('shows a key as the memory store does', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    const policies = [
      slidingLog({ limit: 300, window: '1h' }),
      concurrency({ limit: 200, lease: '1m' }),
      policy('5/1s'),
    ]
    const store = redisStore({
      client: each,
      clock: clock.now,
      timeout: '10s',
      prefix: `inspect-${prefixes++}`,
      refusalCache: false,
    })
    const limiters = [store, memoryStore({ clock: clock.now })].map(
      (own) => new RateLimiter({ name: 'x', policies, store: own }),
    )
    for (let n = 0; n < 40; n++) {
      for (const limiter of limiters) await limiter.reserve('ann', { cost: 1 + (n % 3) })
      clock.advance(173)
    }
    const [redis, memory] = await Promise.all(limiters.map((limiter) => limiter.inspect('ann')))
    expect(redis).toEqual(memory)
    expect(redis?.policies[0]?.used).toBeGreaterThan(20)
    for (const [duration, options] of [['1h', { reason: 'prüft "Namen"' }], [Infinity]] as const) {
      for (const limiter of limiters) for (const key of ['ann', 'bob']) await limiter.ban(key, duration, options)
      for (const key of ['ann', 'bob']) {
        const [banned, expected] = await Promise.all(limiters.map((limiter) => limiter.inspect(key)))
        expect(banned?.words).toMatch(/^Banned by hand (for 1 h more: "prüft \\"Namen\\""|until the ban is lifted)\.$/)
        expect(banned).toEqual(expected)
      }
    }
    for (const limiter of limiters) await limiter.unban('ann')
    expect(await limiters[0]?.inspect('ann')).toEqual(redis)
    const listed: (string | undefined)[] = []
    for await (const { key, inspection } of limiters[0]?.list({ refused: true }) ?? []) {
      if (inspection.ban !== undefined) listed.push(key)
    }
    expect(listed).toEqual(['bob'])
  })

  test('lists every live key once, the refused ones, and one scope', async () => {
    const limiter = limiterOf()
    const other = new RateLimiter({ name: 'api2', policies: '1/1h', store: limiter.store })
    await other.consume('of another limiter')
    const users = Array.from({ length: 700 }, (_, n) => `user ${n} \u{1f600}*`)
    await Promise.all(users.map((user, n) => limiter.consume({ user, default: 'all' }, { cost: n % 10 === 0 ? 3 : 1 })))
    const found: (string | undefined)[] = []
    for await (const { key, scope } of limiter.list({ scope: 'user' })) if (scope === 'user') found.push(key)
    expect([found.length, new Set(found)]).toEqual([700, new Set(users)])
    let refused = 0
    for await (const { inspection } of limiter.list({ scope: 'user', refused: true }))
      refused += inspection.refused ? 1 : 0
    expect(refused).toBe(70)
    let first = 0
    for await (const _ of limiter.list({ limit: 50 })) first++
    expect(first).toBe(50)
  })
})

test('looking writes nothing, and needs no command that decisions do not need', async () => {
  await client.call(
    'ACL',
    'SETUSER',
    'limits',
    'on',
    '>secret',
    '~inspect-*',
    '+evalsha',
    '+eval',
    '+mget',
    '+set',
    '+setrange',
    '+del',
    '+time',
    '+info',
  )
  const own = new Redis(server.port, { username: 'limits', password: 'secret' })
  const limiter = new RateLimiter({
    name: 'acl',
    policies: '3/1h',
    store: redisStore({ client: own, timeout: '5s', prefix: 'inspect-acl' }),
  })
  await limiter.consume('ann')
  const [before, ttl] = [
    await client.getBuffer('inspect-acl:acl:{ann}'),
    await client.pexpiretime('inspect-acl:acl:{ann}'),
  ]
  expect((await limiter.inspect('ann')).policies[0]?.used).toBe(1)
  expect((await limiter.inspect('bob')).lastUsedAt).toBeUndefined()
  expect([await client.getBuffer('inspect-acl:acl:{ann}'), await client.pexpiretime('inspect-acl:acl:{ann}')]).toEqual([
    before,
    ttl,
  ])
  expect(await client.exists('inspect-acl:acl:{bob}')).toBe(0)
  await expect(limiter.list().next()).rejects.toMatchObject({
    message: expect.stringMatching(/'scan' command.*docs\/redis\.md lists under ACL/),
  })
  own.disconnect()
})

test('says what this process holds by itself: leases and repeated refusals', async () => {
  const store = redisStore({ client, timeout: '5s', prefix: `inspect-${prefixes++}`, leases: { units: 5 } })
  const limiter = new RateLimiter({ name: 'own', policies: '6/1h', store })
  await limiter.consume('ann')
  const leased = await limiter.inspect('ann')
  expect(leased.policies[0]?.used).toBe(5)
  expect(leased.notes).toEqual([
    'This process holds 4 of the used units ahead (leases), and admits that many without asking Redis.',
  ])
  await limiter.consume('ann', { cost: 6 })
  await limiter.charge('bob', { cost: 6 })
  await limiter.consume('bob')
  const { notes } = await limiter.inspect('bob')
  expect(notes).toEqual([expect.stringMatching(/^This process repeats a refusal of the key for up to \d+ ms/)])
})

test.each([-(2 ** 40), 2 ** 40])('a bucket with %i steps is a broken value', async (steps) => {
  const prefix = `inspect-${prefixes++}`
  const store = redisStore({ client, prefix, timeout: '5s' })
  const policies = tokenBucket({ limit: 6, window: '1h' })
  const limiter = new RateLimiter({ name: 'b', policies, store, onStoreError: 'throw' })
  await limiter.consume('ann')
  const value = (await client.getBuffer(`${prefix}:b:{ann}`)) as Buffer
  const state = value[0] as number // the first byte is the size of the only state, which has 7 bytes for each number
  const more = Buffer.alloc(28 - state)
  more.writeUIntLE(((steps % 2 ** 32) + 2 ** 32) % 2 ** 32, 21 - state, 4)
  more.writeIntLE(Math.floor(steps / 2 ** 32), 25 - state, 3)
  await client.set(`${prefix}:b:{ann}`, Buffer.concat([Buffer.from([28]), value.subarray(1), more]))
  await expect(limiter.inspect('ann')).rejects.toMatchObject({ code: 'HEADGATE_STORE_RECORD' })
})

test('a broken value is an error for inspect, and no key for list', async () => {
  const prefix = `inspect-${prefixes++}`
  const limiter = new RateLimiter({
    name: 'b',
    policies: '6/1h',
    store: redisStore({ client, prefix, timeout: '5s' }),
    onStoreError: 'throw',
  })
  await client.set(`${prefix}:b:{ann}`, 'hello')
  await client.lpush(`${prefix}:b:{list}`, 'x')
  await limiter.consume('bob')
  for (const key of ['ann', 'list']) {
    await expect(limiter.inspect(key)).rejects.toMatchObject({ code: 'HEADGATE_STORE_RECORD' })
  }
  expect(await client.type(`${prefix}:b:{list}`)).toBe('list')
  const keys: (string | undefined)[] = []
  for await (const { key } of limiter.list()) keys.push(key)
  expect(keys).toEqual(['bob'])
})

test('a record of a kind that this version does not know is left alone', async () => {
  const prefix = `inspect-${prefixes++}`
  const limiter = new RateLimiter({ name: 'k', policies: '6/1h', store: redisStore({ client, prefix, timeout: '5s' }) })
  await limiter.consume('ann')
  const unknown = Buffer.from([14, 1, 0, 0, 0, 0, 30, ...new Array(14).fill(7)])
  await client.append(`${prefix}:k:{ann}`, unknown)
  expect(await limiter.inspect('ann')).toMatchObject({ policies: [{ used: 1 }], others: [] })
  await limiter.consume('ann')
  expect((await limiter.inspect('ann')).policies[0]?.used).toBe(2)
})

test('inspectRedis lifts a ban, also one by a penalty, and leaves what is used', async () => {
  const prefix = `inspect-${prefixes++}`
  const store = redisStore({ client, prefix, timeout: '5s', refusalCache: false })
  const penalty = { after: 1, within: '1h', ban: '1h' }
  const limiter = new RateLimiter({ name: 'u', policies: '3/1m', penalty, store })
  await limiter.consume('ann', { cost: 2 })
  await limiter.ban('ann', '1h')
  await limiter.consume('bob', { cost: 3 })
  await limiter.consume('bob')
  await limiter.ban('eve', '1h')
  const inspector = inspectRedis(client, { prefix })
  const storeKeys: string[] = []
  for await (const { storeKey, inspection } of inspector.list()) {
    expect(inspection?.refused).toBe(true)
    storeKeys.push(storeKey)
  }
  expect(storeKeys).toHaveLength(3)
  for (const storeKey of storeKeys) await inspector.unban(storeKey)
  expect(await limiter.peek('ann')).toMatchObject({ allowed: true, remaining: 1 })
  expect(await limiter.peek('bob')).toMatchObject({ allowed: false, policy: '1m' })
  expect(await limiter.peek('eve')).toMatchObject({ allowed: true, remaining: 3 })
  await client.set(`${prefix}:u:{broken}`, 'hello')
  await expect(inspector.unban(`${prefix}:u:{broken}`)).rejects.toMatchObject({ code: 'HEADGATE_STORE_RECORD' })
  await expect(inspector.unban('other:u:{ann}')).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
})

test('inspectRedis deletes keys, also those that are no record', async () => {
  const prefix = `inspect-${prefixes++}`
  const store = redisStore({ client, prefix, timeout: '5s', refusalCache: false })
  const limiter = new RateLimiter({ name: 'd', policies: '3/1m', store })
  await limiter.consume('ann', { cost: 3 })
  await limiter.ban('ann', '1h')
  await client.set(`${prefix}:d:{text}`, 'hello')
  await client.lpush(`${prefix}:d:{list}`, 'x')
  const inspector = inspectRedis(client, { prefix })
  const found: (readonly [key: string | undefined, readable: boolean])[] = []
  for await (const { storeKey, key, inspection } of inspector.list()) {
    found.push([key, inspection !== undefined])
    await inspector.reset(storeKey)
  }
  expect(found.sort()).toEqual([
    ['ann', true],
    ['list', false],
    ['text', false],
  ])
  expect(await client.keys(`${prefix}:*`)).toEqual([])
  expect(await limiter.peek('ann')).toMatchObject({ allowed: true, remaining: 3 })
  await expect(inspector.reset(`${prefix}:d`)).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
  await expect(inspector.reset('other:d:{ann}')).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
})
