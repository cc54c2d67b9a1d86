import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, describe, expect, test } from 'vitest'
import { concurrency } from '../../../src/algorithms/logs/concurrency.ts'
import {
  fixedWindow,
  memoryStore,
  type PenaltyOptions,
  RateLimiter,
  type Reservation,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.ts'
import { inspectRedis, type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { encodeId, keyStart, slotOf } from '../../../src/stores/redis/keys.ts'
import { shareStore } from '../../../src/stores/shares/index.ts'
import { compareLimiters } from '../../../src/testing/compare-limiters.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { BareLimiter } from '../../support/bare-limiter.ts'
import { failure } from '../../support/failure.ts'
import { type RedisServer, startCluster } from '../../support/redis-server.ts'
import { useServer } from '../../support/use-server.ts'

const cluster = await useServer(startCluster())
const { port } = cluster.nodes[0] as RedisServer
const ioredis = new Cluster([{ host: '127.0.0.1', port }])
const nodeRedis = createCluster({ rootNodes: [{ socket: { host: '127.0.0.1', port } }] })
await nodeRedis.connect()

afterAll(() => {
  ioredis.disconnect()
  nodeRedis.destroy()
})

const clients: [string, RedisClient][] = [
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
]

test('slotOf gives the slot that the server calculates', async () => {
  for (const id of ['', 'a', 'user:1', '{x}', 'é', '2001:db8::1', 'x'.repeat(500)]) {
    for (const prefix of ['headgate', '{quota}', 'app/{a.b}-c']) {
      const key = `${keyStart(prefix, 'l{}', 'default')}${encodeId(id)}}`
      expect(slotOf(key)).toBe(await ioredis.cluster('KEYSLOT', key))
    }
  }
})

describe.each(clients)('%s', (name, client) => {
  test('calls of one tick on keys in many slots are all decided', async () => {
    const store = redisStore({ client, timeout: '10s' })
    const limiter = new RateLimiter({ name, policies: fixedWindow({ limit: 3, window: '1h' }), store })
    const decisions = await Promise.all(Array.from({ length: 400 }, (_, n) => limiter.consume(`user-${n % 100}`)))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(300)
    expect(decisions.slice(0, 300).every(({ allowed }) => allowed)).toBe(true)
  })

  test('calls keep their order on a node that has the script of the plan alone', async () => {
    const store = redisStore({ client, timeout: '10s' })
    const limiter = new RateLimiter({ name: `order-${name}`, policies: fixedWindow({ limit: 9, window: '1h' }), store })
    const users = Array.from({ length: 30 }, (_, n) => `user-${n}`)
    for (const node of cluster.nodes) await node.command('SCRIPT', 'FLUSH')
    for (const user of users) await limiter.consume(user)
    await limiter.peek('user-0') // one node has the whole script
    const resets = users.map((user) => limiter.reset(user))
    await new Promise((resolve) => process.nextTick(resolve)) // they are under way
    await Promise.all([...resets, ...users.map((user) => limiter.consume(user))])
    const left = await Promise.all(users.map(async (user) => (await limiter.peek(user)).remaining))
    expect(left).toEqual(users.map(() => 8))
  })

  test('a ban of one scope refuses calls on keys in several slots, and counts nothing in the others', async () => {
    const store = redisStore({ client, timeout: '10s' })
    const policies = ['ip', 'user'].map((scope) =>
      fixedWindow({ name: scope, scope, limit: 9, window: '1h', countRefused: scope === 'ip' }),
    )
    const penalty = { after: 1, within: '1h', ban: '1h' }
    const limiter = new RateLimiter({ name: `${name}-bans`, policies, penalty, store })
    for (let n = 0; n < 10; n++) {
      const keys = { ip: `ip-${n}`, user: `user-${n}` }
      await limiter.ban({ user: keys.user }, '1h', { reason: 'why' })
      const refused = await limiter.consume(keys)
      expect(refused).toMatchObject({ allowed: false, policy: 'ban', ban: { scope: 'user', reason: 'why' } })
      expect((await limiter.reserve(keys)).decision.ban?.scope).toBe('user')
      await limiter.unban(keys)
      const admitted = await limiter.consume(keys)
      expect([admitted.allowed, admitted.policies[0]?.remaining]).toEqual([true, 8])
    }
  })

  test('clear deletes the keys on every master', async () => {
    const store = redisStore({ client, timeout: '10s' })
    const limiter = new RateLimiter({ name: `${name}-clear`, policies: fixedWindow({ limit: 1, window: '1h' }), store })
    const users = Array.from({ length: 300 }, (_, n) => `user-${n}`)
    const admitted = async () =>
      (await Promise.all(users.map((user) => limiter.consume(user)))).filter(({ allowed }) => allowed).length
    expect(await admitted()).toBe(300)
    expect(await admitted()).toBe(0)
    await limiter.clear()
    expect(await admitted()).toBe(300)
  })

  test.each([
    { after: 6, within: '10s', ban: ['3s', '20s'], scope: 'ip' },
    { after: 3, within: '10s', until: 'window', scope: 'ip' },
    { after: 1, within: '10s', until: 'window', scope: 'user' },
    { on: 'spent', ban: ['3s', '20s'], scope: 'ip' },
    { on: 'spent', ban: '3s', scope: 'user', extend: true },
    { after: 2, within: '10s', ban: '3s', scope: 'user', extend: true, countRefused: true },
    { after: 3, within: '10s', ban: '3s', scope: 'ip', restart: true, countRefused: true },
    { after: 2, within: '10s', ban: '3s', scope: 'ip', restart: true, extend: true },
    { on: 'spent', ban: '20s', scope: 'ip', restart: true, countRefused: true },
  ] as const satisfies (PenaltyOptions & { countRefused?: boolean })[])(
    'scopes in different slots: all or nothing, with the same decisions as the memory store (%j)',
    async ({ countRefused = false, ...penalty }: PenaltyOptions & { countRefused?: boolean }) => {
      const clock = new ManualClock()
      const policies = [
        tokenBucket({ name: 'ip', scope: 'ip', limit: 3, window: '10s', countRefused }),
        slidingWindow({ name: 'user', scope: 'user', limit: 5, window: '10s', countRefused }),
        fixedWindow({ name: 'watch', scope: 'user', limit: 2, window: '10s', shadow: true }),
      ]
      const stores = [
        memoryStore({ clock: clock.now }),
        redisStore({ client, clock: clock.now, ttlMargin: '1d', timeout: '10s' }),
      ]
      const id = `two-${name}-${JSON.stringify({ ...penalty, countRefused })}`
      const [memory, redis] = stores.map((store) => new RateLimiter({ name: id, policies, store, penalty }))
      if (memory === undefined || redis === undefined) throw new Error('two limiters')
      for (let n = 0; n < 60; n++) {
        const key = { ip: `ip-${n % 3}`, user: `user-${n % 2}` }
        const options = { cost: 1 + (n % 2) }
        const banned = n % 10 === 4 ? { ip: key.ip } : n % 10 === 9 ? { user: key.user } : undefined
        // A call that another slot refuses may begin a new span of open units under a penalty with `on: 'spent'`.
        if (banned && penalty.on !== 'spent') await Promise.all([redis.ban(banned, '1s'), memory.ban(banned, '1s')])
        expect(await redis.consume(key, options)).toEqual(await memory.consume(key, options))
        expect(await redis.peek(key)).toEqual(await memory.peek(key))
        if (n % 7 === 0) expect(await redis.refund(key)).toEqual(await memory.refund(key))
        if (n % 11 === 0) expect(await redis.charge(key, { cost: 2 })).toEqual(await memory.charge(key, { cost: 2 }))
        if (n % 13 === 0) await Promise.all([redis.reset(key), memory.reset(key)])
        const reservations = [await redis.reserve(key), await memory.reserve(key)] as const
        expect(reservations[0].decision).toEqual(reservations[1].decision)
        for (const reservation of reservations) await reservation.settle(n % 3)
        clock.advance((n * 613) % 2500)
      }
    },
  )

  test('scopes in different slots: a cost for each policy, settled in any order and renewed, as in memory', async () => {
    const clock = new ManualClock()
    const policies = [
      tokenBucket({ name: 'requests', scope: 'ip', limit: 9, window: '10s' }),
      concurrency({ name: 'at-once', scope: 'ip', limit: 4, lease: '20s' }),
      tokenBucket({ name: 'tokens', scope: 'user', limit: 100, window: '10s' }),
      fixedWindow({ name: 'tries', scope: 'user', limit: 12, window: '60s', countRefused: true }),
    ]
    const stores = [
      memoryStore({ clock: clock.now }),
      redisStore({ client, clock: clock.now, ttlMargin: '1d', timeout: '10s' }),
    ]
    const limiters = stores.map((store) => new RateLimiter({ name: `costs-${name}`, policies, store }))
    const both = <T>(run: (limiter: RateLimiter, n: number) => Promise<T>) => Promise.all(limiters.map(run))
    const open: Reservation[][] = []
    for (let n = 0; n < 80; n++) {
      const key = { ip: `ip-${n % 2}`, user: `user-${n % 3}` }
      const cost = { requests: n % 3, 'at-once': 1, tokens: (n * 7) % 40, tries: 1 }
      const reserved = await both((limiter) => limiter.reserve(key, { cost }))
      expect(reserved[1]?.decision).toEqual(reserved[0]?.decision)
      if (reserved[0]?.allowed) open.push(reserved)
      const [expected, actual] = await both((limiter) => limiter.peek(key, { cost }))
      expect(actual).toEqual(expected)
      const chosen = open[(n * 5) % Math.max(1, open.length)]
      if (n % 2 === 0 && chosen !== undefined) {
        const [renewed, again] = await both((_, m) => (chosen[m] as Reservation).renew())
        expect(again).toBe(renewed)
      } else if (chosen !== undefined) {
        open.splice(open.indexOf(chosen), 1)
        await both((_, m) => (chosen[m] as Reservation).settle({ tokens: (n * 3) % 50 }))
      }
      clock.advance((n * 613) % 2500)
    }
    expect(open.length).toBeGreaterThan(0)
  })

  test('scopes in different slots: a renewal that one slot refuses takes no further units in the others', async () => {
    const clock = new ManualClock()
    const policies = [
      concurrency({ name: 'own', scope: 'user', limit: 1, lease: '1s' }),
      concurrency({ name: 'all', scope: 'all', limit: 5, lease: '5s' }),
    ]
    const store = redisStore({ client, clock: clock.now, timeout: '10s' })
    const limiter = new RateLimiter({ name: `renewed-${name}`, policies, store })
    const used = async () => (await limiter.peek(key)).policies.map((policy) => policy.used)
    const key = { user: 'ann', all: 'everybody' }
    const late = await limiter.reserve(key)
    clock.advance(1300)
    const next = await limiter.reserve(key)
    for (let n = 0; n < 4; n++) {
      expect(await late.renew()).toBe(false)
      expect(await used()).toEqual([1, 2])
    }
    await late.release()
    expect(await used()).toEqual([1, 1])
    await next.release()
    expect(await used()).toEqual([0, 0])
  })

  test('a list of costs: keys in several slots are an error, and nothing is taken', async () => {
    const store = redisStore({ client, timeout: '10s' })
    const policies = ['own', 'pool'].map((each) => fixedWindow({ name: each, scope: each, limit: 2, window: '1h' }))
    const limiter = new RateLimiter({ name: `list-${name}`, policies, store, onStoreError: 'local' })
    const cost = [
      { own: 1, pool: 0 },
      { own: 0, pool: 1 },
    ]
    const key = { own: 'acme', pool: 'all' }
    for (const verb of ['consume', 'reserve', 'peek'] as const) {
      await expect(limiter[verb](key, { cost })).rejects.toMatchObject({
        code: 'HEADGATE_UNSUPPORTED',
        message: expect.stringContaining("redisStore({ client, prefix: '{quota}' })"),
      })
    }
    expect((await limiter.usage(key)).policies.map(({ used }) => used)).toEqual([0, 0])
    const same = { own: 'acme', pool: 'acme' } // keys of one id are in one slot
    const tried = [1, 2, 3].map(async () => (await limiter.consume(same, { cost })).tried?.length)
    expect(await Promise.all(tried)).toEqual([0, 0, 1])
  })

  test('a prefix with a hash tag: all keys are in one slot, and lists of costs are decided as in memory', async () => {
    const clock = new ManualClock()
    const policies = [
      tokenBucket({ name: 'own', scope: 'user', limit: 5, window: '10s' }),
      slidingWindow({ name: 'pool', scope: 'address', limit: 9, window: '10s' }),
      fixedWindow({ name: 'tries', scope: 'address', limit: 12, window: '5s', countRefused: true }),
    ]
    const prefix = `${name}/{quota}`
    const stores = [
      memoryStore({ clock: clock.now }),
      redisStore({ client, clock: clock.now, prefix, ttlMargin: '1d', timeout: '10s' }),
    ]
    const limiters = stores.map((store) => new RateLimiter({ name: 'tagged', policies, store }))
    const [memory, redis] = limiters as [RateLimiter, RateLimiter]
    await compareLimiters(clock, redis, memory)
    await redis.consume({ user: 'x', address: 'y' }, { cost: { own: 1, pool: 1, tries: 1 } })
    const listed: string[] = []
    for await (const { key } of redis.list({ scope: 'user' })) listed.push(key as string)
    expect(listed).toContain('x')
    const found: string[] = []
    for await (const { limiter, scope, key } of inspectRedis(client, { prefix }).list()) {
      if (key === 'x' || key === 'y') found.push(`${limiter} ${scope}`)
    }
    expect(found.toSorted()).toEqual(['tagged address', 'tagged user'])
    await redis.clear()
    expect((await redis.usage({ user: 'x', address: 'y' })).policies.map(({ used }) => used)).toEqual([0, 0, 0])
  })

  test('a prefix with a hash tag: shares report to the slot of their keys', async () => {
    const exact = redisStore({ client, prefix: `${name}/{shares}`, timeout: '10s' })
    const store = shareStore({ store: exact, instances: 2, report: '20ms' })
    const policies = ['ip', 'user'].map((each) => fixedWindow({ name: each, scope: each, limit: 50, window: '1h' }))
    const [shared, limiter] = [store, exact].map((each) => new RateLimiter({ name: 'tagged', policies, store: each }))
    for (let n = 0; n < 12; n++) await shared?.consume({ ip: 'i', user: 'u' })
    await expect
      .poll(async () => (await limiter?.usage({ ip: 'i', user: 'u' }))?.policies.map(({ used }) => used))
      .toEqual([12, 12])
    store.close?.()
  })

  test('scopes in different slots: concurrent calls are never admitted beyond a limit', async () => {
    const policies = [
      fixedWindow({ name: 'ip', scope: 'ip', limit: 40, window: '1h' }),
      fixedWindow({ name: 'user', scope: 'user', limit: 100, window: '1h' }),
    ]
    const store = redisStore({ client, timeout: '10s' })
    const limiter = new RateLimiter({ name: `race-${name}`, policies, store })
    const decisions = await Promise.all(
      Array.from({ length: 300 }, (_, n) => limiter.consume({ ip: `ip-${n % 5}`, user: 'one' })),
    )
    expect(decisions.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(100)
    // Afterwards no refused call has taken anything.
    const left = await limiter.peek({ ip: 'other', user: 'one' })
    expect(left.policies[1]?.remaining).toBe(100 - decisions.filter(({ allowed }) => allowed).length)
  })

  test('scopes in different slots: a call that one slot fails takes nothing from the others', async () => {
    const scopes = ['ip', 'user']
    const policies = scopes.map((scope) => fixedWindow({ name: scope, scope, limit: 40, window: '1h' }))
    const limiter = new BareLimiter({ name: `broken-${name}`, policies, store: redisStore({ client, timeout: '10s' }) })
    const nodeOf = (scope: string, id: string) => {
      const slot = slotOf(`${keyStart('headgate', limiter.name, scope)}${encodeId(id)}}`)
      return cluster.nodes[slot < 5461 ? 0 : slot < 10_923 ? 1 : 2] as RedisServer
    }
    const users = Array.from({ length: 20 }, (_, n) => `user-${n}`)
    const user = users.find((each) => nodeOf('user', each) !== nodeOf('ip', 'a')) as string
    const full = nodeOf('user', user)
    await full.command('CONFIG', 'SET', 'maxmemory', '1') // it accepts no write any more
    for (const verb of ['consume', 'reserve', 'charge'] as const) {
      expect((await failure(limiter[verb]({ ip: 'a', user }))).code).toBe('HEADGATE_STORE')
    }
    await full.command('CONFIG', 'SET', 'maxmemory', '0')
    const left = async () => (await limiter.peek({ ip: 'a', user })).policies[0]?.remaining
    await expect.poll(left).toBe(40)
  })
})
