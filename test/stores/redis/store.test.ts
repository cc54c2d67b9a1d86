import { Redis } from 'ioredis'
import { Redis as Valkey } from 'iovalkey'
import { createClient, createClientPool } from 'redis'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type Clock,
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  type Reservation,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.ts'
import type { Booking, Ledger } from '../../../src/store.ts'
import { type RedisClient, type RedisStoreOptions, redisStore } from '../../../src/stores/redis/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { startProxy } from '../../support/tcp-proxy.ts'
import { useRedis } from '../../support/use-server.ts'

const { server, client } = await useRedis()
const closes: (() => void)[] = []

afterAll(() => {
  for (const close of closes) close()
})

beforeEach(async () => {
  await client.flushall()
})

function limiterOf(policies: Policy | Policy[], options: Partial<RedisStoreOptions> = {}, name = 'test'): RateLimiter {
  return new RateLimiter({ name, policies, store: redisStore({ client, timeout: '5s', ...options }) })
}

const clients: Record<string, () => Promise<RedisClient>> = {
  ioredis: async () => client,
  'ioredis with automatic pipelines': async () => {
    const own = new Redis(server.port, { enableAutoPipelining: true })
    closes.push(() => own.disconnect())
    return own
  },
  iovalkey: async () => {
    const own = new Valkey(server.port)
    closes.push(() => own.disconnect())
    return own
  },
  'node-redis': async () => {
    const own = await createClient({ socket: { port: server.port } }).connect()
    closes.push(() => own.destroy())
    return own
  },
  'node-redis, RESP 2': async () => {
    const own = await createClient({ RESP: 2, socket: { port: server.port } }).connect()
    closes.push(() => own.destroy())
    return own
  },
  'a pool of node-redis': async () => {
    const own = createClientPool({ socket: { port: server.port } })
    await own.connect()
    closes.push(() => own.destroy())
    return own
  },
}

/** A method of a subclass that needs the client itself as `this`. */
class CountingRedis extends Redis {
  #calls = 0

  override evalsha(...args: unknown[]): Promise<unknown> {
    this.#calls++
    return Reflect.apply(super.evalsha, this, args)
  }

  get calls(): number {
    return this.#calls
  }
}

test('the method of a subclass of ioredis is called on the client itself', async () => {
  const own = new CountingRedis(server.port)
  closes.push(() => own.disconnect())
  const store = redisStore({ client: own, timeout: '5s', refusalCache: false })
  const limiter = new RateLimiter({ name: 'test', policies: '5/1m', store, onStoreError: 'throw' })
  expect((await limiter.consume('ann')).remaining).toBe(4)
  expect((await limiter.consume('ann')).remaining).toBe(3)
  expect(own.calls).toBe(2)
})

describe.each(Object.keys(clients))('%s', (name) => {
  test('decides every verb as the memory store does', async () => {
    const clock = new ManualClock()
    const policies = [tokenBucket({ limit: 5, window: '1s' }), slidingLog({ limit: 8, window: '5s' })]
    const own = await (clients[name] as () => Promise<RedisClient>)()
    const stores = [memoryStore({ clock: clock.now }), redisStore({ client: own, clock: clock.now, timeout: '5s' })]
    const [memory, redis] = stores.map((store) => new RateLimiter({ name: 'default', policies, store })) as [
      RateLimiter,
      RateLimiter,
    ]
    for (let n = 0; n < 12; n++) {
      expect(await redis.consume('id', { cost: 2 })).toEqual(await memory.consume('id', { cost: 2 }))
      expect(await redis.refund('id')).toEqual(await memory.refund('id'))
      expect(await redis.charge('id')).toEqual(await memory.charge('id'))
      const [ours, theirs] = [await redis.reserve('id'), await memory.reserve('id')]
      expect(ours.decision).toEqual(theirs.decision)
      await Promise.all([ours.settle(n % 3), theirs.settle(n % 3)])
      expect(await redis.peek('id')).toEqual(await memory.peek('id'))
      clock.advance(170)
    }
    await Promise.all([redis.reset('id'), memory.reset('id')])
    expect(await redis.peek('id')).toEqual(await memory.peek('id'))
  })

  test.each([1, 2])('a limit of 2^53 - 1 counts exactly, with %i policies', async (count) => {
    const clock = new ManualClock()
    const own = await (clients[name] as () => Promise<RedisClient>)()
    const policies = [
      fixedWindow({ limit: Number.MAX_SAFE_INTEGER, window: '1h' }),
      slidingLog({ limit: 100, window: '2h' }),
    ].slice(0, count)
    const [memory, redis] = [
      memoryStore({ clock: clock.now }),
      redisStore({ client: own, clock: clock.now, timeout: '5s' }),
    ].map((store) => new RateLimiter({ name: `huge-${name}-${count}`, policies, store })) as [RateLimiter, RateLimiter]
    for (let n = 0; n < 4; n++) {
      expect(await redis.consume('id')).toEqual(await memory.consume('id'))
      expect(await redis.peek('id')).toEqual(await memory.peek('id'))
    }
    await Promise.all([redis.charge('id', { cost: 2 ** 53 - 8 }), memory.charge('id', { cost: 2 ** 53 - 8 })])
    expect(await redis.consume('id', { cost: 9 })).toEqual(await memory.consume('id', { cost: 9 }))
  })
})

describe('state', () => {
  test('every key has a TTL: until its full quota, plus the margin, plus at most a sixteenth of its window', async () => {
    const limiter = limiterOf(tokenBucket({ limit: 10, window: '32s' }), { ttlMargin: '2s' })
    await limiter.consume('id', { cost: 3 })
    const [key, ...more] = await client.keys('*')
    expect(more).toEqual([])
    expect(key).toBe('headgate:test:{id}')
    const ttl = await client.pttl(key as string)
    const least = 3 * 3200 + 2000
    expect(ttl).toBeGreaterThan(least - 100)
    expect(ttl).toBeLessThanOrEqual(least + 2000)
  })

  test('the TTL is renewed only once in a sixteenth of the window, and never too late', async () => {
    const clock = new ManualClock(1_767_225_600_000)
    const options = { clock: clock.now, ttlMargin: '1s' }
    const limiter = limiterOf(tokenBucket({ limit: 32, window: '32s' }), options)
    const ttlAfter = async (cost: number) => {
      await limiter.consume('id', { cost })
      return Math.ceil((await client.pttl('headgate:test:{id}')) / 1000)
    }
    // A unit takes one second, a sixteenth is two. The time to full quota plus the margin: 1 + 1, 2 + 1, 3 + 1, 4 + 1 s.
    expect(await ttlAfter(1)).toBe(2)
    expect(await ttlAfter(1)).toBe(4)
    await client.pexpire('headgate:test:{id}', 100_000)
    expect(await ttlAfter(1)).toBe(100)
    expect(await ttlAfter(1)).toBe(6)
    clock.advance(2000)
    await client.pexpire('headgate:test:{id}', 100_000)
    expect(await ttlAfter(1)).toBe(100) // 3 + 1 s from now, when the key expires anyway
    expect(await ttlAfter(1)).toBe(6)
    expect((await limiter.peek('id')).remaining).toBe(28)
  })

  test('peeks and refusals write nothing', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 1, window: '1h' }), { refusalCache: false })
    await limiter.peek('new')
    await limiter.consume('new', { cost: 2 })
    expect(await client.keys('*')).toEqual([])
    await limiter.consume('id')
    const before = await client.getBuffer('headgate:test:{id}')
    expect((await limiter.consume('id')).allowed).toBe(false)
    expect(await client.getBuffer('headgate:test:{id}')).toEqual(before)
  })

  test('the time of a decision is the time of Redis', async () => {
    const policies = [fixedWindow({ limit: 2, window: '1h' })]
    const ledger = redisStore({ client, timeout: '5s' }).open({ name: 'test', policies, scopes: ['default'] })
    const [seconds] = await client.time()
    const { at } = await ledger.run({ verb: 'consume', keys: ['id'], details: { at: true } })
    expect(Math.abs((at as number) - Number(seconds) * 1000)).toBeLessThan(2000)
  })

  test('a deploy with other policies carries over what is used, also while both deploys run', async () => {
    const day = fixedWindow({ name: 'day', limit: 100, window: '1d' })
    const before = limiterOf([day, fixedWindow({ name: 'burst', limit: 5, window: '1h' })])
    const after = limiterOf([
      fixedWindow({ name: 'burst', limit: 9, window: '1h' }),
      day,
      slidingLog({ limit: 50, window: '1m' }),
    ])
    await before.consume('id', { cost: 4 })
    expect((await after.consume('id')).policies.map(({ remaining }) => remaining)).toEqual([4, 95, 49])
    expect((await before.consume('id')).policies.map(({ remaining }) => remaining)).toEqual([95, 0])
    expect((await after.consume('id')).policies.map(({ remaining }) => remaining)).toEqual([3, 94, 48])
    // Both in one batch.
    const [one, two] = await Promise.all([after.consume('id'), before.peek('id')])
    expect([one, two].map(({ policies }) => policies.map(({ remaining }) => remaining))).toEqual([
      [2, 93, 47],
      [93, 0],
    ])
  })

  test('plans of one limiter share the state, also within one batch', async () => {
    const store = redisStore({ client, timeout: '5s' })
    const day = fixedWindow({ name: 'day', limit: 10, window: '1d' })
    const other = fixedWindow({ name: 'other', limit: 10, window: '1d' })
    const limiter = new RateLimiter({ name: 'default', policies: day, store })
    const limiters = [limiter, limiter.withPlan([day, other]), limiter.withPlan(other)]
    const [a, b, c, d] = await Promise.all([0, 1, 2, 0].map((n) => (limiters[n] as RateLimiter).consume('id')))
    expect([a, b, c, d].map((decision) => decision?.policies.map(({ remaining }) => remaining))).toEqual([
      [9],
      [8, 9],
      [8],
      [7],
    ])
  })

  test('an entry of a log takes 9 bytes, or 14 if its units are many', async () => {
    const limiter = limiterOf(slidingLog({ limit: 500, window: '1h' }), { batch: false })
    for (let n = 0; n < 200; n++) await limiter.consume('id')
    const head = 2 + 4 + (1 + 5 + 2) + 4 + 3 * 7
    expect(await client.strlen('headgate:test:{id}')).toBe(head + 9 * 200)
    const heavy = limiterOf(slidingLog({ limit: 2 ** 30, window: '1h' }), { batch: false }, 'heavy')
    for (let n = 0; n < 3; n++) await heavy.consume('id', { cost: 2 ** 23 })
    expect(await client.strlen('headgate:heavy:{id}')).toBe(head + 3 + 14 * 3)
  })

  test('a log decides as in memory while its totals and times outgrow the bytes of an entry', async () => {
    const clock = new ManualClock()
    const policies = slidingLog({ limit: 15_000_000, window: '366d' })
    const stores = [
      memoryStore({ clock: clock.now }),
      redisStore({ client, clock: clock.now, ttlMargin: '20d', timeout: '5s' }),
    ]
    const [memory, redis] = stores.map((store) => new RateLimiter({ name: 'default', policies, store })) as [
      RateLimiter,
      RateLimiter,
    ]
    for (let n = 0; n < 60; n++) {
      expect(await redis.consume('id', { cost: 3_000_000 })).toEqual(await memory.consume('id', { cost: 3_000_000 }))
      clock.advance('80d')
    }
    const book = async (limiter: RateLimiter) => {
      const { decision, wait } = await limiter.reserve('id', { cost: 12_000_000, maxWait: '366d' })
      return { decision, wait }
    }
    for (let n = 0; n < 20; n++) {
      expect(await book(redis)).toEqual(await book(memory))
      clock.advance('1d')
    }
  })

  test('a bucket takes 28 bytes', async () => {
    const limiter = limiterOf(tokenBucket({ limit: 1000, window: '1h' }), {}, 'bench')
    for (let n = 0; n < 3; n++) await limiter.consume('203.0.113.7')
    expect(await client.strlen('headgate:bench:{203.0.113.7}')).toBe(28)
  })

  test('a bucket with many open reservations is longer than a byte can tell, and is settled exactly', async () => {
    const clock = new ManualClock()
    const policies = tokenBucket({ limit: 1000, window: '1h', burst: 100 })
    const stores = [
      memoryStore({ clock: clock.now }),
      redisStore({ client, clock: clock.now, ttlMargin: '1d', timeout: '5s' }),
    ]
    const [memory, redis] = stores.map((store) => new RateLimiter({ name: 'default', policies, store })) as [
      RateLimiter,
      RateLimiter,
    ]
    const open: Reservation[][] = []
    for (let n = 0; n < 24; n++) {
      const options = { cost: 9 + n, maxWait: '1d' } as const
      open.push(await Promise.all([memory, redis].map((limiter) => limiter.reserve('id', options))))
      clock.advance('1s')
    }
    const [key] = await client.keys('*')
    expect(await client.strlen(key as string)).toBeGreaterThan(270)
    for (const [n, pair] of open.reverse().entries()) {
      await Promise.all(pair.map((reservation) => reservation.settle(n % 5)))
      expect(await redis.peek('id')).toEqual(await memory.peek('id'))
      clock.advance('1s')
    }
  })

  test('states of the layout before ids are read as states without reservations', async () => {
    const clock = new ManualClock(1_767_225_600_000)
    const options = { clock: clock.now, ttlMargin: '1d' }
    for (const policy of [
      slidingWindow({ limit: 10, window: '1h' }),
      segmentedWindow({ limit: 10, window: '1h', segments: 3 }),
    ]) {
      const limiter = limiterOf(policy, options, policy.algorithm.kind)
      await limiter.consume('id', { cost: 3 })
      const key = `headgate:${policy.algorithm.kind}:{id}`
      const value = (await client.getBuffer(key)) as Buffer
      expect((await limiter.peek('id')).remaining).toBe(7)
      // The last number was left out if it was 0: here the previous window, or the oldest segment.
      const older = Buffer.concat([Buffer.from([(value[0] as number) - 7]), value.subarray(1, value.length - 7)])
      await client.set(key, older)
      expect((await limiter.peek('id')).remaining).toBe(7)
      expect((await limiter.consume('id')).remaining).toBe(6)
    }
  })

  test.each([
    ['a foreign text', () => Buffer.from('some text of another program')],
    ['a record that was cut', (value: Buffer) => value.subarray(0, -3)],
    ['a record with a byte too many', (value: Buffer) => Buffer.concat([value, Buffer.from([7])])],
    ['the layout of an earlier build', (value: Buffer) => Buffer.concat([Buffer.from([2]), value.subarray(1)])],
    [
      'the layout of a later build',
      (value: Buffer) => Buffer.from(value.map((byte, n) => (n === 6 ? byte + 32 : byte))),
    ],
  ])('%s under a key is the error of that key alone, and stays until a reset', async (_, change) => {
    const options = { policies: fixedWindow({ limit: 10, window: '1h' }), store: redisStore({ client, timeout: '5s' }) }
    const limiter = new RateLimiter({ ...options, name: 'broken', onStoreError: 'throw' })
    await Promise.all(['a', 'b', 'c'].map((id) => limiter.consume(id)))
    const broken = change((await client.getBuffer('headgate:broken:{b}')) as Buffer)
    await client.set('headgate:broken:{b}', broken)
    const error = { code: 'HEADGATE_STORE_RECORD', message: expect.stringContaining('headgate:broken:{b}') }
    for (let n = 0; n < 6; n++) {
      const calls = ['a', 'b', 'b', 'c'].map((id) => limiter.consume(id))
      const reservation = limiter.reserve('b')
      const [a, b, again, c] = await Promise.allSettled(calls)
      expect([a, c].map((each) => (each as PromiseFulfilledResult<Decision>).value.remaining)).toEqual([8 - n, 8 - n])
      for (const each of [b, again]) expect((each as PromiseRejectedResult).reason).toMatchObject(error)
      await expect(reservation).rejects.toMatchObject(error)
    }
    expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
    expect(await client.getBuffer('headgate:broken:{b}')).toEqual(broken)
    await limiter.reset('b')
    expect((await limiter.consume('b')).remaining).toBe(9)
  })

  test('reset changes exactly one key', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 5, window: '1h' }))
    for (const id of ['a', 'b', '*', 'a*', '{a}']) await limiter.consume(id)
    await limiter.reset('*')
    const left = await Promise.all(['a', 'b', '*', 'a*', '{a}'].map((id) => limiter.peek(id)))
    expect(left.map(({ remaining }) => remaining)).toEqual([4, 4, 5, 4, 4])
  })

  test('calls keep their order with a reset among them', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 2, window: '1h' }))
    const calls = [limiter.consume('id'), limiter.consume('id'), limiter.consume('id'), limiter.reset('id')]
    const after = [limiter.consume('id'), limiter.peek('id')]
    await Promise.all(calls)
    expect((await Promise.all(after)).map(({ remaining }) => remaining)).toEqual([1, 1])
  })
})

describe('ids', () => {
  const hostile = [
    '',
    ' ',
    'a',
    'A',
    '{',
    '}',
    '{}',
    '{a}',
    'a}',
    ':',
    '*',
    '?',
    '[a]',
    '\n',
    '\r\n',
    '\0',
    '%',
    '%0025',
    '#',
    'é',
    'e\u0301',
    '\ud800',
    '\udc00',
    '\ud800\ud800',
    '😀',
    'x'.repeat(10_000),
    `${'x'.repeat(9999)}y`,
    'default:{a',
    'x}:default:{y',
  ]

  test('no id collides with another, in any scope or limiter', async () => {
    // Limiters of one name need a store each, as if in different processes.
    const store = () => redisStore({ client, timeout: '5s' })
    const policies = (scope: string) => fixedWindow({ limit: 1000, window: '1h', scope })
    const limiters = ['a', 'a:b', ' ', '{', 'a%003ab', '*'].flatMap((name) =>
      ['b', 'b:{', ':'].map((scope) => ({
        scope,
        limiter: new RateLimiter({ name, policies: policies(scope), store: store() }),
      })),
    )
    for (const { limiter, scope } of limiters) {
      const decisions = await Promise.all(hostile.map((id) => limiter.consume({ [scope]: id })))
      expect(decisions.map(({ remaining }) => remaining)).toEqual(hostile.map(() => 999))
    }
    const keys = await client.keys('*')
    expect(keys).toHaveLength(limiters.length * hostile.length)
    for (const key of keys) {
      expect(key).toMatch(/^headgate:[\w.%#-]+:[\w.%#-]+:\{[\w.:@%#-]+\}$/)
      expect(key.length).toBeLessThan(300)
    }
  })
})

describe('the cache of refusals', () => {
  const window = { limit: 2, window: '1h' } as const

  async function calls(): Promise<number> {
    const [, count] = /cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats')) ?? []
    return Number(count ?? 0)
  }

  test('a refusal by usage that was carried over from another plan is not cached', async () => {
    const clock = new ManualClock()
    const store = redisStore({ client, clock: clock.now, ttlMargin: '1d', timeout: '5s' })
    const limiter = new RateLimiter({
      name: 'default',
      policies: fixedWindow({ name: 'n', limit: 6, window: '90s' }),
      store,
    })
    const smaller = limiter.withPlan(slidingLog({ name: 'n', limit: 1, window: '2s' }))
    await limiter.consume('id')
    for (let n = 0; n < 3; n++) {
      expect((await smaller.consume('id')).resetAfter).toBe(90_000 - 500 * n) // when the unit of the other plan comes back
      clock.advance(500)
    }
  })

  test('a refusal under one plan is dropped when another plan is used on the key', async () => {
    const clock = new ManualClock()
    const store = redisStore({ client, clock: clock.now, ttlMargin: '1d', timeout: '5s' })
    const limiter = new RateLimiter({
      name: 'default',
      policies: tokenBucket({ name: 'n', limit: 60, window: '60s', burst: 1 }),
      store,
    })
    const larger = limiter.withPlan(tokenBucket({ name: 'n', limit: 60, window: '60s', burst: 3 }))
    await limiter.consume('id')
    expect((await limiter.consume('id')).retryAfter).toBe(1000)
    await larger.consume('id', { cost: 2 })
    clock.advance(400)
    expect((await larger.peek('id')).resetAfter).toBe(2600)
    expect((await limiter.consume('id')).retryAfter).toBe(2600) // and not the 600 of the refusal before
  })

  test('a refusal is repeated without a call to Redis, and its times count down', async () => {
    const clock = new ManualClock(0)
    const refusalCache = { longest: '1h' }
    const limiter = limiterOf(slidingWindow(window), { clock: clock.now, ttlMargin: '1d', refusalCache })
    const uncached = limiterOf(slidingWindow(window), { clock: clock.now, ttlMargin: '1d', refusalCache: false })
    for (let n = 0; n < 3; n++) await limiter.consume('id')
    const before = await calls()
    for (let n = 0; n < 5; n++) {
      clock.advance(9999)
      const decision = await limiter.consume('id')
      expect(await calls()).toBe(before + n)
      expect(decision).toEqual(await uncached.consume('id'))
    }
  })

  test.each([
    [undefined, 1000],
    [{ longest: '3s' }, 3000],
  ])(
    'a refusal is repeated for at most the time of the option %j: then Redis is asked again',
    async (option, longest) => {
      const clock = new ManualClock()
      const refusalCache = option === undefined ? {} : { refusalCache: option }
      const limiter = limiterOf(fixedWindow(window), { clock: clock.now, ttlMargin: '1d', ...refusalCache })
      for (let n = 0; n < 3; n++) await limiter.consume('id')
      const elsewhere = limiterOf(fixedWindow(window), { clock: clock.now, ttlMargin: '1d' })
      await elsewhere.reset('id')
      clock.advance(longest - 1)
      expect((await limiter.consume('id')).allowed).toBe(false)
      clock.advance(1)
      expect((await limiter.consume('id')).allowed).toBe(true)
    },
  )

  test('refunds, charges and resets through the same store take effect at once', async () => {
    const limiter = limiterOf(fixedWindow(window))
    const refuse = async () => {
      while ((await limiter.consume('id')).allowed);
    }
    await refuse()
    await limiter.refund('id')
    expect((await limiter.consume('id')).allowed).toBe(true)
    await refuse()
    await limiter.reset('id')
    expect((await limiter.consume('id')).allowed).toBe(true)
    await refuse()
    await limiter.charge('id')
    expect((await limiter.consume('id')).allowed).toBe(false)
  })

  test('so does a reset of one of the keys of a call', async () => {
    const store = redisStore({ client, timeout: '5s' })
    const ip = fixedWindow({ name: 'ip', scope: 'ip', limit: 100, window: '1h' })
    const user = fixedWindow({ name: 'user', scope: 'user', limit: 1, window: '1h' })
    const both = new RateLimiter({ name: 'default', policies: [ip, user], store })
    const users = both.withPlan([user])
    const key = { ip: '::1', user: 'me' }
    await both.consume(key)
    expect((await both.consume(key)).allowed).toBe(false)
    await users.reset('me')
    expect((await both.consume(key)).allowed).toBe(true)
  })

  test('a call with a cost for each policy is neither decided nor cached locally', async () => {
    const policies = [
      fixedWindow({ name: 'requests', limit: 1, window: '1h' }),
      fixedWindow({ name: 'tokens', limit: 9, window: '1h' }),
    ]
    const limiter = limiterOf(policies)
    const consume = async (requests: number, tokens: number) => {
      const { allowed, policies } = await limiter.consume('id', { cost: { requests, tokens } })
      return [allowed, ...policies.map(({ remaining }) => remaining)]
    }
    expect(await consume(1, 2)).toEqual([true, 0, 7])
    expect((await limiter.consume('id')).allowed).toBe(false)
    expect(await consume(1, 2)).toEqual([false, 0, 7])
    expect(await consume(0, 3)).toEqual([true, 0, 4])
    expect((await limiter.consume('id')).policies.map(({ remaining }) => remaining)).toEqual([0, 4])
  })

  test('nothing is cached for policies that count refused calls', async () => {
    const limiter = limiterOf(fixedWindow({ ...window, countRefused: true }))
    const before = await calls()
    for (let n = 0; n < 5; n++) await limiter.consume('id')
    expect((await calls()) - before).toBe(5)
  })

  test('nothing is cached for a penalty whose bans refusals extend', async () => {
    const penalty = { after: 1, within: '1h', ban: '1h' }
    const calls5 = async (extend: boolean) => {
      const store = redisStore({ client, prefix: `extend-${extend}` })
      const limiter = new RateLimiter({
        name: 'extend',
        policies: fixedWindow(window),
        store,
        penalty: { ...penalty, extend },
      })
      await limiter.consume('id', { cost: window.limit })
      await limiter.consume('id')
      const before = await calls()
      for (let n = 0; n < 5; n++) await limiter.consume('id')
      return (await calls()) - before
    }
    expect([await calls5(true), await calls5(false)]).toEqual([5, 0])
  })

  test('a refusal of a large cost does not refuse a smaller one', async () => {
    const limiter = limiterOf(fixedWindow(window))
    expect((await limiter.consume('id', { cost: 3 })).allowed).toBe(false)
    await limiter.consume('id')
    expect((await limiter.consume('id', { cost: 2 })).allowed).toBe(false)
    expect((await limiter.consume('id')).allowed).toBe(true)
  })
})

describe('leases', () => {
  /** The most units that may be spent in any span of time, from one call to another. */
  const bounded: Record<string, { policy: Policy; most: (from: number, to: number) => number }> = {
    fixedWindow: {
      policy: fixedWindow({ limit: 30, window: '1s' }),
      most: (from, to) => 30 * (Math.floor(to / 1e6) - Math.floor(from / 1e6) + 1),
    },
    segmentedWindow: {
      policy: segmentedWindow({ limit: 30, window: '1s', segments: 4 }),
      most: (from, to) => (to - from < 1e6 ? 30 : Infinity),
    },
    bucket: {
      policy: tokenBucket({ limit: 30, window: '1s', burst: 20 }),
      most: (from, to) => Math.floor(20 + (30 * (to - from)) / 1e6),
    },
  }

  test.each(Object.keys(bounded))(
    '%s: three processes never spend more than the limit, in any span of time',
    async (name) => {
      const { policy, most } = bounded[name] as (typeof bounded)[string]
      const clock = new ManualClock(0)
      const options = { clock: clock.now, ttlMargin: '1d', leases: { units: 7 }, refusalCache: false }
      const fleet = [1, 2, 3].map(() => limiterOf(policy, options, name))
      const spent: { at: number; cost: number }[] = []
      let random = 1
      const pick = (below: number) => {
        random = (random * 48271) % 2147483647
        return random % below
      }
      for (let n = 0; n < 1500; n++) {
        clock.set(clock.milliseconds + pick(40))
        const cost = 1 + pick(2)
        const { allowed } = await (fleet[pick(3)] as RateLimiter).consume('id', { cost })
        if (allowed) spent.push({ at: clock.now(), cost })
      }
      expect(spent.length).toBeGreaterThan(200)
      for (let first = 0; first < spent.length; first++) {
        const from = spent[first]?.at as number
        let units = 0
        for (const { at, cost } of spent.slice(first, first + 200)) {
          units += cost
          if (units > most(from, at)) throw new Error(`${units} units from ${from} to ${at} us`)
        }
      }
    },
  )

  test('leased units are spent locally, a reset removes them, and nothing is admitted beyond the limit', async () => {
    const policies = fixedWindow({ limit: 100, window: '1h' })
    const limiter = limiterOf(policies, { leases: { units: 10 } })
    const other = limiterOf(policies)
    expect((await limiter.consume('id')).remaining).toBe(99)
    expect((await other.peek('id')).remaining).toBe(90)
    expect((await limiter.consume('id')).remaining).toBe(98)
    expect((await other.peek('id')).remaining).toBe(90)
    for (let n = 0; n < 8; n++) await limiter.consume('id')
    await limiter.reset('id')
    let admitted = 0
    while ((await limiter.consume('id')).allowed) admitted++
    expect(admitted).toBe(100)
  })

  test('calls that come while a lease is requested wait for it and spend its units', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 100, window: '1h' }), { leases: { units: 50 }, batch: false })
    await client.config('RESETSTAT')
    const calls = Array.from({ length: 100 }, () => limiter.consume('id'))
    expect((await Promise.all(calls)).every(({ allowed }) => allowed)).toBe(true)
    const scripts = /cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1]
    expect(scripts).toBe('2')
    expect((await limiter.consume('id')).allowed).toBe(false)
  })

  test('a lease expires when time gives its units back', async () => {
    const clock = new ManualClock(0)
    const options = { clock: clock.now, ttlMargin: '1d' }
    const policies = fixedWindow({ limit: 10, window: '10s' })
    const limiter = limiterOf(policies, { ...options, leases: { units: 10 } })
    await limiter.consume('id')
    clock.advance('10s')
    const other = limiterOf(policies, options)
    await other.consume('id', { cost: 10 })
    expect((await limiter.consume('id')).allowed).toBe(false)
  })

  test('calls for which a lease under way has no units do not wait for another round trip', async () => {
    const proxy = await startProxy(server.port)
    const far = new Redis(proxy.port)
    await far.ping()
    proxy.delay = 40
    const store = redisStore({ client: far, timeout: '10s', leases: { units: 100 } })
    const limiter = new RateLimiter({ name: 'far', policies: fixedWindow({ limit: 100_000, window: '1h' }), store })
    await limiter.peek('id') // the script is loaded
    const began = performance.now()
    const decisions = await Promise.all(Array.from({ length: 512 }, () => limiter.consume('id')))
    const took = performance.now() - began
    expect(decisions.every(({ allowed }) => allowed)).toBe(true)
    expect((await limiter.peek('id')).remaining).toBe(100_000 - 600)
    expect(took).toBeLessThan(400) // six round trips would take 480
    far.disconnect()
    proxy.close()
  })

  test('a log gives no leases, and a bucket only what stays taken', async () => {
    for (const policies of [slidingLog({ limit: 100, window: '1h' }), tokenBucket({ limit: 100, window: '1s' })]) {
      const limiter = limiterOf(policies, { leases: { units: 10 } }, policies.name)
      await limiter.consume('id')
      const { remaining } = await limiterOf(policies, {}, policies.name).peek('id')
      expect(remaining).toBeGreaterThanOrEqual(policies.name === '1h' ? 99 : 90)
    }
  })
})

describe('options', () => {
  test.each([
    [{ client: {} }, /client must be/],
    [{ client: undefined }, /client must be/],
    [{ prefix: 'a{b' }, /prefix/],
    [{ timeout: 0 }, /timeout/],
    [{ time: 'server' }, /time must be 'redis' or 'client', got "server"/],
    [{ batch: { size: 0 } }, /batch.size/],
    [{ batch: { size: 5000 } }, /batch.size/],
    [{ leases: { units: 0 } }, /leases.units/],
    [{ leases: { units: 'all' } }, /leases.units/],
    [{ leases: { units: 5, most: 9 } }, /no option/],
    [{ leases: { units: 'auto', most: 0 } }, /leases.most/],
    [{ leases: true }, /leases must be "auto" or { units: 100 }, got true/],
    [{ leases: null }, /leases must be .*, got null/],
    [{ refusalCache: 1 }, /refusalCache/],
    [{ unknown: 1 }, /no option/],
  ])('%j throws with the fix', (options, message) => {
    expect(() => redisStore({ client, ...options } as RedisStoreOptions)).toThrow(message)
  })
})

test('a log whose limit falls and rises while units are booked ahead forgets no used unit, as in memory', async () => {
  const seen = await Promise.all(
    [
      memoryStore,
      (options: { clock: Clock }) => redisStore({ client, ttlMargin: '1d', timeout: '10s', ...options }),
    ].map(async (storeOf) => {
      const clock = new ManualClock()
      const store = storeOf({ clock: clock.now })
      const open = (limit: number, joins?: Ledger) =>
        store.open(
          { name: 'l', scopes: ['default'], onChange: 'retune', policies: [slidingLog({ limit, window: '1s' })] },
          joins,
        )
      const higher = open(10)
      const booked: Booking[] = []
      for (let call = 0; call < 13; call++) {
        booked.push(await higher.run({ verb: 'reserve', keys: ['k'], maxWait: Infinity }))
        clock.advance(1)
      }
      const lower = open(5, higher)
      const next = await lower.run({ verb: 'reserve', keys: ['k'], maxWait: Infinity })
      for (const { tickets } of booked.slice(10)) await lower.run({ verb: 'settle', keys: ['k'], costs: [-1], tickets })
      const { policies } = await lower.run({ verb: 'peek', keys: ['k'] })
      await lower.run({ verb: 'settle', keys: ['k'], costs: [-1], tickets: next.tickets })
      const again = await open(10, lower).run({ verb: 'peek', keys: ['k'] })
      return [next.decision.allowed, next.wait, policies[0]?.used, again.policies[0]?.used]
    }),
  )
  expect(seen[1]).toEqual(seen[0])
  expect(seen[0]).toEqual([true, 995, 11, 10])
})

test('a refused call that counts forgets no used unit while units are booked ahead, as in memory', async () => {
  const clock = new ManualClock()
  const stores = [
    memoryStore({ clock: clock.now }),
    redisStore({ client, clock: clock.now, ttlMargin: '1d', timeout: '10s' }),
  ]
  for (const store of stores) {
    const policies = slidingLog({ limit: 5, window: '1m', countRefused: true })
    const limiter = new RateLimiter({ policies, store, name: 'counted' })
    for (let call = 0; call < 5; call++) await limiter.consume('k')
    const seen: unknown[] = []
    for (let round = 0; round < 3; round++) {
      clock.advance(1)
      const reservation = await limiter.reserve('k', { cost: 5, maxWait: '2m' })
      for (let call = 0; call < 6; call++) seen.push((await limiter.consume('k')).allowed)
      await reservation.cancel()
      seen.push(reservation.allowed, (await limiter.peek('k')).remaining)
    }
    expect(seen).toEqual(Array(3).fill([false, false, false, false, false, false, true, 0]).flat())
  }
})
