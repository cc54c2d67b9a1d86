/* What the README of @upstash/ratelimit shows, on it and on headgate: both on one real Redis, without HTTP between. */
import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { fixedWindow, type Policy, RateLimiter, slidingWindow, tokenBucket } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { shareStore } from '../../src/stores/shares/index.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, '127.0.0.1')
})
afterAll(async () => {
  await client.quit()
  await server.stop()
})
beforeEach(() => client.flushall())

type Limiter = ConstructorParameters<typeof Ratelimit>[0]['limiter']

/** What the package asks of its client, on ioredis. */
function theirRedis(): ConstructorParameters<typeof Ratelimit>[0]['redis'] {
  const text = (values: unknown[]) => values.map((value) => `${value}`)
  const calls = {
    evalsha: () => Promise.reject(new Error('NOSCRIPT')),
    // Only servers of Upstash know the flag of the first line.
    eval: (script: string, keys: string[], args: unknown[]) =>
      client.eval(script.replace(/^#!.*\n/, ''), keys.length, ...keys, ...text(args)),
  }
  return calls as unknown as ConstructorParameters<typeof Ratelimit>[0]['redis']
}

const theirs = (limiter: Limiter) =>
  new Ratelimit({ redis: theirRedis(), limiter, prefix: 'shop', ephemeralCache: false, enableTelemetry: false })

const ours = (policies: Policy) =>
  new RateLimiter({ name: 'shop', policies, store: redisStore({ client, timeout: '5s' }) })

test.each<[string, Limiter, Policy]>([
  ['a fixed window', Ratelimit.fixedWindow(10, '1 d'), fixedWindow({ limit: 10, window: '1d' })],
  ['a sliding window', Ratelimit.slidingWindow(10, '1 d'), slidingWindow({ limit: 10, window: '1d' })],
  [
    'a token bucket',
    Ratelimit.tokenBucket(10, '1 d', 10),
    tokenBucket({ limit: 10, window: '1d', refill: 'interval' }),
  ],
])('%s of ten', async (_, limiter, policy) => {
  const [peer, own] = [theirs(limiter), ours(policy)]
  for (const left of [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]) {
    expect(await peer.limit('api')).toMatchObject({ success: true, remaining: left, limit: 10 })
    expect(await own.consume('api')).toMatchObject({ allowed: true, remaining: left, limit: 10 })
  }
  expect(await peer.limit('api')).toMatchObject({ success: false, remaining: 0 })
  expect(await own.consume('api')).toMatchObject({ allowed: false, remaining: 0 })
  expect(await peer.limit('another')).toMatchObject({ success: true })
  expect(await own.consume('another')).toMatchObject({ allowed: true })
})

test.each([
  ['leases', () => redisStore({ client, timeout: '5s', leases: 'auto' })],
  ['shares', () => shareStore({ store: redisStore({ client, timeout: '5s' }), instances: 1 })],
])('a cached fixed window, by a store with %s', async (_, createStore) => {
  const limiter = Ratelimit.cachedFixedWindow(10, '1 d')
  const peer = new Ratelimit({ redis: theirRedis(), limiter, ephemeralCache: new Map(), enableTelemetry: false })
  const policies = fixedWindow({ limit: 10, window: '1d' })
  const own = new RateLimiter({ name: 'shop', policies, store: createStore() })
  const calls = Array.from({ length: 12 }, (_, call) => call < 10)
  const [theirs, ours]: boolean[][] = [[], []]
  for (const _ of calls) {
    theirs?.push((await peer.limit('api')).success)
    ours?.push((await own.consume('api')).allowed)
  }
  expect(ours).toEqual(theirs)
  expect(ours).toEqual(calls)
})

test('the answer of a handler', async () => {
  const peer = theirs(Ratelimit.slidingWindow(1, '1 d'))
  const own = ours(slidingWindow({ limit: 1, window: '1d' }))
  const handlers = [
    async () => ((await peer.limit('api')).success ? 'Here it is.' : 'Too many requests.'),
    async () => ((await own.consume('api')).allowed ? 'Here it is.' : 'Too many requests.'),
  ]
  for (const handler of handlers) {
    expect([await handler(), await handler()]).toEqual(['Here it is.', 'Too many requests.'])
  }
})

test('the reset of a fixed window', async () => {
  const { reset } = await theirs(Ratelimit.fixedWindow(10, '1 d')).limit('api')
  const { resetAfter } = await ours(fixedWindow({ limit: 10, window: '1d' })).consume('api')
  expect(Math.abs(Date.now() + resetAfter - reset)).toBeLessThan(5000)
})

test('a rate for each call, what is left, and a reset', async () => {
  const peer = theirs(Ratelimit.fixedWindow(10, '1 d'))
  const own = ours(fixedWindow({ limit: 10, window: '1d' }))
  await peer.limit('api', { rate: 7 })
  await own.consume('api', { cost: 7 })
  expect(await peer.getRemaining('api')).toMatchObject({ remaining: 3 })
  expect(await own.peek('api')).toMatchObject({ remaining: 3 })
  await peer.resetUsedTokens('api')
  expect(await peer.getRemaining('api')).toMatchObject({ remaining: 10 })
  await own.reset('api')
  expect(await own.peek('api')).toMatchObject({ remaining: 10 })
})
