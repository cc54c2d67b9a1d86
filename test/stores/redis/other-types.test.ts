/* A key of ours may hold a value of another type, which MGET does not show. It is an error of that key and stays as it is. */
import { Cluster } from 'ioredis'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { fixedWindow, RateLimiter, tokenBucket } from '../../../src/index.ts'
import { type RedisStoreOptions, redisStore } from '../../../src/stores/redis/index.ts'
import { type RedisServer, startCluster } from '../../support/redis-server.ts'
import { useRedis, useServer } from '../../support/use-server.ts'

const { client } = await useRedis()
const cluster = await useServer(startCluster())
const clustered = new Cluster([{ host: '127.0.0.1', port: (cluster.nodes[0] as RedisServer).port }])
afterAll(() => clustered.disconnect())
beforeEach(async () => {
  await client.flushall()
})

const types: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  list: ['RPUSH', 'a'],
  hash: ['HSET', 'f', 'v'],
  set: ['SADD', 'a'],
  zset: ['ZADD', '1', 'a'],
  stream: ['XADD', '*', 'f', 'v'],
}

const key = 'headgate:types:{bad}'
const broken = { code: 'HEADGATE_STORE_RECORD', message: expect.stringContaining(key) }

async function occupy(type: string, on: { call: (...words: [string, ...string[]]) => unknown } = client) {
  const [command, ...args] = types[type] as (typeof types)[string]
  await on.call(command, key, ...args)
}

function limiterOn(options: Partial<RedisStoreOptions> = {}): RateLimiter {
  const store = redisStore({ client, timeout: '5s', ttlMargin: 0, ...options })
  return new RateLimiter({ name: 'types', policies: '10/1h', store, onStoreError: 'throw' })
}

describe.each(Object.keys(types))('a %s', (type) => {
  test.each([{}, { leases: { units: 5 } }, { batch: false }])(
    'is an error of its key alone, with %j',
    async (options) => {
      await occupy(type)
      const before = await client.dumpBuffer(key)
      const limiter = limiterOn(options)
      const calls = [
        () => limiter.consume('bad'),
        () => limiter.consume('bad', { cost: 3 }),
        () => limiter.reserve('bad'),
        () => limiter.charge('bad', { cost: 2 }),
        () => limiter.peek('bad'),
      ]
      // Alone, and in one batch with calls on a good key.
      for (const call of calls) await expect(call()).rejects.toMatchObject(broken)
      const mixed = calls.map((call) => [limiter.consume('good'), call()] as const)
      for (const [good, bad] of mixed) {
        expect(await good).toMatchObject({ allowed: true, source: 'store' })
        await expect(bad).rejects.toMatchObject(broken)
      }
      expect((await limiter.peek('good')).remaining).toBe(10 - calls.length)
      expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
      expect(await client.dumpBuffer(key)).toEqual(before)
      await limiter.reset('bad')
      expect(await limiter.consume('bad')).toMatchObject({ allowed: true })
    },
  )

  test('is an error of its key alone in a Cluster', async () => {
    await occupy(type, clustered)
    const limiter = limiterOn({ client: clustered })
    const calls = Array.from({ length: 30 }, (_, n) => limiter.consume(`good-${n}`))
    await expect(limiter.consume('bad')).rejects.toMatchObject(broken)
    expect((await Promise.all(calls)).every(({ allowed }) => allowed)).toBe(true)
    expect(await clustered.type(key)).toBe(type)
    await limiter.reset('bad')
    expect((await limiter.consume('bad')).allowed).toBe(true)
    await limiter.reset('bad')
  })
})

describe('calls in one batch with such a key', () => {
  const store = () => redisStore({ client, timeout: '5s' })

  test('take nothing from their other keys, and are decided as if it had not been asked', async () => {
    await client.rpush('headgate:two:user:{bad}', 'a')
    const policies = [tokenBucket({ limit: 5, window: '1h' }), fixedWindow({ limit: 2, window: '1d', scope: 'user' })]
    const limiter = new RateLimiter({ name: 'two', policies, store: store(), onStoreError: 'throw' })
    const calls = ['bad', 'ann', 'bad', 'ann', 'bad', 'ann'].map((user) =>
      limiter.consume({ default: 'ip', user }).then(
        ({ allowed }) => allowed,
        ({ code }) => code,
      ),
    )
    const error = 'HEADGATE_STORE_RECORD'
    expect(await Promise.all(calls)).toEqual([error, true, error, true, error, false])
    expect((await limiter.peek({ default: 'ip', user: 'ann' })).policies.map(({ used }) => used)).toEqual([2, 2])
    expect(await client.type('headgate:two:user:{bad}')).toBe('list')
  })

  test('also if a key is found to be such only after another one', async () => {
    const policies = [
      fixedWindow({ name: 'a', limit: 1, window: '1d', scope: 'a' }),
      fixedWindow({ name: 'b', limit: 9, window: '1d', scope: 'b' }),
    ]
    await client.sadd('headgate:chain:b:{first}', 'x')
    await client.sadd('headgate:chain:b:{second}', 'x')
    const limiter = new RateLimiter({ name: 'chain', policies, store: store(), onStoreError: 'throw' })
    // The second call is refused only as long as the first one seems to take the only unit.
    const calls = ['first', 'second', 'third'].map((b) =>
      limiter.consume({ a: 'one', b }).then(
        () => true,
        () => false,
      ),
    )
    expect(await Promise.all(calls)).toEqual([false, false, true])
    expect(await client.keys('headgate:chain:b:*')).toHaveLength(3)
  })

  test('a reset before other calls of the batch deletes it', async () => {
    await client.rpush(key, 'a')
    const limiter = limiterOn()
    const [, decision] = await Promise.all([limiter.reset('bad'), limiter.consume('bad'), limiter.peek('bad')])
    expect(decision).toMatchObject({ allowed: true, remaining: 9 })
    expect(await client.type(key)).toBe('string')
  })

  test('a call that is given back at once deletes nothing', async () => {
    await client.rpush(key, 'a')
    const limiter = limiterOn()
    await Promise.allSettled([limiter.consume('bad'), limiter.refund('bad')])
    expect(await client.type(key)).toBe('list')
  })
})
