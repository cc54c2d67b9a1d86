import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, expect, test, vi } from 'vitest'
import { fixedWindow, RateLimiter } from '../../../src/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { useRedis } from '../../support/use-server.ts'

const { server, client } = await useRedis()
const closes: (() => unknown)[] = []
afterAll(() => {
  for (const close of closes) close()
})

async function connect(name: string): Promise<RedisClient> {
  if (name === 'ioredis') {
    const ioredis = new Redis(server.port)
    closes.push(() => ioredis.disconnect())
    return ioredis
  }
  const nodeRedis = createClient({ socket: { port: server.port } })
  nodeRedis.on('error', () => undefined)
  closes.push(() => nodeRedis.destroy())
  return (await nodeRedis.connect()) as RedisClient
}

/** A limiter as each of several processes has it. */
async function limiterOf(name: string, options: object = {}): Promise<RateLimiter> {
  const own = await connect(name)
  const subscriber = await connect(name)
  const store = redisStore({ client: own, subscriber, timeout: '5s', refusalCache: { longest: '1h' }, ...options })
  return new RateLimiter({ name, policies: fixedWindow({ limit: 20, window: '1h' }), store })
}

const listeners = async () => Number(((await client.pubsub('NUMSUB', 'headgate:resets')) as [string, number])[1])

test.each(['ioredis', 'node-redis'])('%s: a reset by one process takes effect in the others at once', async (name) => {
  const before = await listeners()
  const [a, b] = [await limiterOf(name), await limiterOf(name)]
  await expect.poll(listeners).toBe(before + 2)
  for (let n = 0; n < 21; n++) await a.consume('ann')
  expect((await a.consume('ann')).allowed).toBe(false)
  await b.reset('ann')
  await expect.poll(async () => (await a.consume('ann')).allowed, { timeout: 300, interval: 5 }).toBe(true)
})

test('a reset by one process takes the leased units of the others', async () => {
  const before = await listeners()
  const [a, b] = [await limiterOf('ioredis', { leases: { units: 10 } }), await limiterOf('ioredis')]
  await expect.poll(listeners).toBe(before + 2)
  await b.reset('bob')
  expect((await a.consume('bob')).remaining).toBe(19)
  await b.reset('bob')
  // Without the lease it asks Redis, which knows of nothing.
  await expect.poll(async () => (await b.peek('bob')).remaining).toBe(20)
  await new Promise((resolve) => setTimeout(resolve, 50))
  await a.consume('bob')
  expect((await b.peek('bob')).remaining).toBe(10)
})

test.each(['ioredis', 'node-redis'])(
  '%s: a ban while the subscriber was not connected takes effect when it is',
  async (name) => {
    const before = await listeners()
    const [a, b] = [await limiterOf(name, { leases: { units: 10 } }), await limiterOf(name)]
    await expect.poll(listeners).toBe(before + 2)
    expect((await a.consume('gap')).allowed).toBe(true)
    await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await b.ban('gap', '1h')
    await expect.poll(listeners).toBe(before + 2)
    await expect
      .poll(async () => (await a.consume('gap', { cost: 1 })).policy, { timeout: 300, interval: 100 })
      .toBe('ban')
  },
)

test.each(['ioredis', 'node-redis'])('%s: a ban by one process takes effect in the others at once', async (name) => {
  const before = await listeners()
  const [a, b] = [await limiterOf(name, { leases: { units: 10 } }), await limiterOf(name)]
  await expect.poll(listeners).toBe(before + 2)
  expect((await a.consume('mary')).allowed).toBe(true)
  await b.ban('mary', '1h', { reason: 'é'.repeat(200) })
  await expect.poll(async () => (await a.consume('mary')).policy, { timeout: 300, interval: 5 }).toBe('ban')
  expect((await a.consume('mary')).ban?.reason).toBe('é'.repeat(200))
  const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1])
  const asked = await calls()
  for (let n = 0; n < 100; n++) expect((await a.consume('mary')).allowed).toBe(false)
  expect(await calls()).toBe(asked) // the refusal is repeated here
  await b.unban('mary')
  await expect.poll(async () => (await a.consume('mary')).allowed, { timeout: 300, interval: 5 }).toBe(true)
})

test('without a subscriber, a ban takes effect when the cached second ends, and in its own process at once', async () => {
  const options = { timeout: '5s', leases: { units: 10 } } as const
  const [a, b] = await Promise.all(
    [1, 2].map(async () => {
      const store = redisStore({ client: await connect('ioredis'), ...options })
      return new RateLimiter({ name: 'apart', policies: fixedWindow({ limit: 20, window: '1h' }), store })
    }),
  )
  await a?.consume('k')
  await b?.ban('k', Infinity)
  expect((await b?.consume('k'))?.retryAfter).toBe(Infinity)
  for (let n = 0; n < 9; n++) expect((await a?.consume('k'))?.allowed).toBe(true) // its lease
  expect((await a?.consume('k'))?.allowed).toBe(false)
  await b?.unban('k')
  await expect.poll(async () => (await a?.consume('k'))?.allowed, { timeout: 2000, interval: 20 }).toBe(true)
})

test('a ban adds no command to a decision, and its bytes go with it', async () => {
  const limiter = await limiterOf('ioredis')
  const key = 'headgate:ioredis:{sized}'
  await limiter.consume('sized')
  const before = await client.strlen(key)
  await limiter.ban('sized', '1h')
  expect((await client.strlen(key)) - before).toBe(21)
  expect(await client.pttl(key)).toBeGreaterThan(3_599_000)
  await limiter.unban('sized')
  expect(await client.strlen(key)).toBe(before)
  await limiter.ban('forever', Infinity)
  expect(await client.pttl('headgate:ioredis:{forever}')).toBeGreaterThan(200 * 366 * 86_400_000)
  await limiter.unban('forever')
  expect(await client.exists('headgate:ioredis:{forever}')).toBe(0)
})

test.each(['ioredis', 'node-redis'])('%s: clear forgets the keys of one limiter, in every process', async (name) => {
  const before = await listeners()
  const [a, b] = [await limiterOf(name), await limiterOf(name)]
  await expect.poll(listeners).toBe(before + 2)
  const keys = Array.from({ length: 3000 }, (_, n) => `user-${n}`)
  await Promise.all(keys.map((key) => b.consume(key)))
  for (let n = 0; n < 21; n++) await a.consume('ann')
  expect((await a.consume('ann')).allowed).toBe(false)
  await client.set(`headgate:${name}-other:{ann}`, 'kept')
  await b.clear()
  await expect.poll(async () => (await a.consume('ann')).allowed, { timeout: 300, interval: 5 }).toBe(true)
  expect(await client.keys(`headgate:${name}:*`)).toEqual([`headgate:${name}:{ann}`])
  expect(await client.keys(`headgate:${name}-other:*`)).toHaveLength(1)
})

test.each(['ioredis', 'node-redis', 'node-redis with bytes'])(
  '%s: clear finds the keys behind a keyPrefix',
  async (name) => {
    const keyPrefix = 'app[1]*:'
    const bytes = name.endsWith('bytes') ? Buffer.from(keyPrefix) : keyPrefix
    const own =
      name === 'ioredis'
        ? new Redis(server.port, { keyPrefix })
        : await createClient({ socket: { port: server.port }, keyPrefix: bytes })
            .on('error', () => {})
            .connect()
    closes.push(() => own.disconnect())
    const limiter = new RateLimiter({
      name: 'prefixed',
      policies: '1/1h',
      store: redisStore({ client: own, timeout: '5s' }),
    })
    await limiter.consume('ann')
    expect(await client.exists('app[1]*:headgate:prefixed:{ann}')).toBe(1)
    const listed: (string | undefined)[] = []
    for await (const { key } of limiter.list()) listed.push(key)
    expect(listed).toEqual(['ann'])
    await limiter.clear()
    expect(await client.exists('app[1]*:headgate:prefixed:{ann}')).toBe(0)
  },
)

test('a client without scan rejects clear with the reason', async () => {
  const bare = { evalSha: async () => [0], eval: async () => [0] }
  const limiter = new RateLimiter({ name: 'bare', policies: '1/1h', store: redisStore({ client: bare }) })
  await expect(limiter.clear()).rejects.toMatchObject({ code: 'HEADGATE_UNSUPPORTED' })
})

test('a subscriber that cannot subscribe is a warning, and a subscriber that is the client is an error', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const own = await connect('node-redis')
  const closed = new Redis(server.port)
  closed.disconnect()
  redisStore({ client: own, subscriber: closed })
  await expect.poll(() => warned.mock.calls.length).toBe(1)
  expect(warned.mock.calls[0]).toMatchObject([
    expect.stringMatching(/cannot subscribe to resets/),
    { code: 'HEADGATE_SUBSCRIBER' },
  ])
  warned.mockRestore()
  expect(() => redisStore({ client: own, subscriber: own })).toThrow(/subscriber must be a client of its own/)
})

test.each(['ioredis', 'node-redis'])('%s: close ends the subscription, and no connection', async (name) => {
  const before = await listeners()
  const own = await connect(name)
  const subscriber = await connect(name)
  const create = () => redisStore({ client: own, subscriber, timeout: '5s' })
  const [a, b] = [create(), create()].map(
    (store, n) => new RateLimiter({ name: `close ${n}`, policies: '20/1h', store }),
  )
  await expect.poll(listeners).toBe(before + 1)
  a?.close()
  a?.close()
  expect(await listeners()).toBe(before + 1)
  b?.close()
  await expect.poll(listeners).toBe(before)
  expect((await b?.consume('ann'))?.source).toBe('store')
})

test.each(['reset', 'forget', 'clear', 'unban'] as const)(
  'the own message about %s takes no units that this process has leased since',
  async (verb) => {
    const before = await listeners()
    const limiter = await limiterOf('ioredis', { leases: { units: 10 } })
    await expect.poll(listeners).toBe(before + 1)
    for (let n = 0; n < 3; n++) await limiter.consume(`own ${verb}`)
    if (verb === 'clear') await limiter.clear()
    else if (verb === 'forget') await limiter.forget([`own ${verb}`])
    else await limiter[verb](`own ${verb}`)
    let admitted = verb === 'unban' ? 3 : 0
    for (let n = 0; n < 30; n++) {
      if ((await limiter.consume(`own ${verb}`)).allowed) admitted++
      if (n === 0) await new Promise((resolve) => setTimeout(resolve, 50))
    }
    expect(admitted).toBe(20)
    limiter.close()
  },
)
