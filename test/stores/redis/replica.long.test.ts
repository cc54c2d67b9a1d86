/* A failover behind a balancer: the connection stays on the old master, which is a replica now and answers quickly. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { RateLimiter } from '../../../src/index.ts'
import { type RedisStoreOptions, redisStore } from '../../../src/stores/redis/index.ts'
import { connectRedis } from '../../support/redis-client.ts'
import { startRedis } from '../../support/redis-server.ts'
import { startProxy } from '../../support/tcp-proxy.ts'

const closes: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closes) await close()
})

/** Two servers, and a balancer that leads to the first. */
async function balanced(library: string) {
  const [first, second] = await Promise.all([startRedis(), startRedis()])
  const balancer = await startProxy(first.port)
  const { client, close } = await connectRedis(library, balancer.port)
  closes.push(
    close,
    () => balancer.close(),
    () => first.stop(),
    () => second.stop(),
  )
  return {
    balancer,
    limiter(name: string, options: Partial<RedisStoreOptions> = {}) {
      const store = redisStore({ client, ...options })
      return new RateLimiter({ name, policies: '100000/1h', store })
    },
    demote: () => first.command('REPLICAOF', '127.0.0.1', `${second.port}`),
    switch: () => {
      balancer.to = second.port
    },
  }
}

/** The sources of calls for so many milliseconds, or until one is the store's. */
async function sources(limiter: RateLimiter, milliseconds: number): Promise<string[]> {
  const began = performance.now()
  const all: string[] = []
  while (performance.now() - began < milliseconds && all.at(-1) !== 'store') {
    all.push((await limiter.consume('k')).source)
    await sleep(10)
  }
  return all
}

/** A busy machine may need more than the timeout for the first call. */
async function decides(limiter: RateLimiter): Promise<void> {
  await expect.poll(async () => (await limiter.consume('k')).source).toBe('store')
}

const libraries = ['ioredis', 'node-redis']

test.each(libraries)('%s: the client connects anew, to the new master', async (library) => {
  const { balancer, limiter, ...servers } = await balanced(library)
  const api = limiter('api')
  await decides(api)
  servers.switch()
  await servers.demote()
  const after = await sources(api, 8000)
  expect(after[0]).toBe('fallback')
  expect(after.at(-1)).toBe('store')
  expect(balancer.connections).toBe(2)
  expect((await api.consume('k')).source).toBe('store')
})

test.each(libraries)('%s: it does so at most once in reconnectAfter, however many stores it has', async (library) => {
  const { balancer, limiter, ...servers } = await balanced(library)
  const terms = { reconnectAfter: '1s', breaker: { failures: 1, openFor: '20ms', probeEvery: '20ms' } } as const
  const limiters = ['a', 'b', 'c'].map((name) => limiter(name, { prefix: name, ...terms }))
  for (const each of limiters) await decides(each)
  await servers.demote()
  const began = performance.now()
  const before = await Promise.all(limiters.map((each) => sources(each, 2500)))
  expect(before.flat()).not.toContain('store')
  const seconds = Math.ceil((performance.now() - began) / 1000)
  expect(balancer.connections).toBeGreaterThan(2)
  expect(balancer.connections).toBeLessThanOrEqual(1 + seconds)
  servers.switch()
  for (const each of limiters) expect((await sources(each, 8000)).at(-1)).toBe('store')
})

test.each(libraries)('%s: reconnectAfter: Infinity leaves it to the client', async (library) => {
  const { balancer, limiter, ...servers } = await balanced(library)
  const api = limiter('api', { reconnectAfter: Infinity })
  await decides(api)
  servers.switch()
  await servers.demote()
  expect(await sources(api, 1500)).not.toContain('store')
  expect(balancer.connections).toBe(1)
})
