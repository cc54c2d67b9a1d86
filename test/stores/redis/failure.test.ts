import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createClient, createSentinel } from 'redis'
import { afterAll, expect, test } from 'vitest'
import { fixedWindow, RateLimiter } from '../../../src/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { failure } from '../../support/failure.ts'
import { startProxy } from '../../support/proxy.ts'
import { startSentinel } from '../../support/redis-sentinel.ts'
import { startRedis } from '../../support/redis-server.ts'
import { useServer } from '../../support/use-server.ts'

const server = await useServer(startRedis())
const closes: (() => void)[] = []

afterAll(() => {
  for (const close of closes) close()
})

const policies = fixedWindow({ limit: 100, window: '1h' })
let names = 0

function limiterOf(client: RedisClient, options: object = {}): RateLimiter {
  const store = redisStore({ client, ...options })
  return new RateLimiter({ name: `failure-${names++}`, policies, store, onStoreError: 'closed' })
}

function ioredis(port: number, options: object = {}): Redis {
  const client = new Redis(port, options)
  client.on('error', () => {})
  closes.push(() => client.disconnect())
  return client
}

async function nodeRedis(port: number): Promise<RedisClient> {
  const client = createClient({ socket: { port } })
  client.on('error', () => {})
  await client.connect()
  closes.push(() => client.destroy())
  return client
}

test('after SCRIPT FLUSH no call counts twice, even if many come at once', async () => {
  const client = ioredis(server.port)
  const limiter = limiterOf(client, { timeout: '5s', batch: { size: 2 } })
  await limiter.consume('id')
  await client.script('FLUSH')
  const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume('id')))
  expect(decisions.every(({ allowed }) => allowed)).toBe(true)
  expect((await limiter.peek('id')).remaining).toBe(79)
})

test.each(['ioredis', 'node-redis'])('%s: calls keep their order after Redis has lost its scripts', async (name) => {
  const client = name === 'ioredis' ? ioredis(server.port) : await nodeRedis(server.port)
  const limiter = limiterOf(client, { timeout: '5s' })
  await limiter.consume('id')
  await limiter.peek('id')
  await server.command('SCRIPT', 'FLUSH')
  await limiter.consume('id') // that of the plan is back, the whole one is not
  const reset = limiter.reset('id')
  await new Promise((resolve) => process.nextTick(resolve)) // it is under way
  await Promise.all([reset, limiter.consume('id')])
  expect((await limiter.peek('id')).remaining).toBe(99)
})

test.each(['ioredis', 'node-redis'])(
  '%s: while the server is down, calls reject within the timeout; after a restart they work again',
  async (name) => {
    const own = await startRedis()
    const client = name === 'ioredis' ? ioredis(own.port) : await nodeRedis(own.port)
    const limiter = limiterOf(client, { timeout: 150 })
    await limiter.consume('id')
    await own.stop()
    for (let n = 0; n < 5; n++) {
      const { code, after } = await failure(limiter.consume('id'))
      expect(code).toMatch(/^HEADGATE_STORE(_TIMEOUT)?$/)
      expect(after).toBeLessThan(600)
    }
    await own.start()
    let decision: Awaited<ReturnType<RateLimiter['consume']>> | undefined
    for (let tries = 0; tries < 60 && decision === undefined; tries++) {
      decision = await limiter.consume('id').catch(() => undefined)
      if (decision === undefined) await sleep(50)
    }
    // The calls that were rejected while the server was down did not count afterwards.
    expect(decision?.remaining).toBe(99)
    await own.stop()
  },
)

test('while the server hangs, every call rejects at the timeout', async () => {
  const own = await startRedis()
  const limiter = limiterOf(ioredis(own.port), { timeout: 100 })
  await limiter.consume('id')
  process.kill(own.pid, 'SIGSTOP')
  const reservation = limiter.reserve('id')
  const calls = [limiter.consume('id'), limiter.peek('id'), limiter.refund('id'), limiter.reset('id'), reservation]
  for (const { code, after } of await Promise.all(calls.map(failure))) {
    expect(code).toBe('HEADGATE_STORE_TIMEOUT')
    expect(after).toBeGreaterThan(90)
    expect(after).toBeLessThan(600)
  }
  process.kill(own.pid, 'SIGCONT')
  await own.stop()
})

const shadowed = [
  fixedWindow({ limit: 100, window: '1h' }),
  fixedWindow({ name: 'shadow', limit: 20, window: '1h', shadow: true }),
]
const lateCalls: Record<string, (limiter: RateLimiter) => Promise<unknown>> = {
  consume: (limiter) => limiter.consume('id', { cost: 7 }),
  'a list of costs': (limiter) =>
    limiter.consume('id', { cost: [{ shadow: 1, [limiter.policies[0]?.name as string]: 7 }] }),
  reserve: (limiter) => limiter.reserve('id', { cost: 7 }),
  'a reservation that expires': (limiter) => limiter.reserve('id', { cost: 7, expires: '10m' }),
}

test.each(['closed', 'open', 'local'] as const)(
  "late answers of Redis give the units back, with '%s'",
  async (onStoreError) => {
    const own = await startRedis()
    for (const [what, call] of Object.entries(lateCalls)) {
      const store = redisStore({ client: ioredis(own.port), timeout: 250 })
      const limiter = new RateLimiter({ name: `late-${onStoreError}-${what}`, policies: shadowed, store, onStoreError })
      const isLocal = onStoreError === 'local' // this process has then counted the calls, also under the shadow policy
      const used = async () =>
        (await limiter.usage('id')).policies.map((policy) => policy.used).slice(0, isLocal ? 1 : 2)
      await expect.poll(async () => (await limiter.peek('id')).source).toBe('store')
      await limiter.consume('id', { cost: 20 })
      process.kill(own.pid, 'SIGSTOP')
      const calls = await Promise.allSettled(Array.from({ length: 3 }, () => call(limiter)))
      process.kill(own.pid, 'SIGCONT')
      const expected = isLocal ? [20 + calls.length * 7] : [20, 20]
      await expect.poll(used, { message: what, timeout: 5000 }).toEqual(expected)
    }
    await own.stop()
  },
)

test('a late lease is given back whole', async () => {
  const own = await startRedis()
  const store = redisStore({ client: ioredis(own.port), timeout: 250, leases: { units: 10 } })
  const limiter = new RateLimiter({ name: 'late-lease', policies, store, onStoreError: 'closed' })
  const used = async () => (await limiter.usage('id')).policies[0]?.used
  process.kill(own.pid, 'SIGSTOP')
  await failure(limiter.consume('id'))
  process.kill(own.pid, 'SIGCONT')
  await expect.poll(used, { timeout: 5000 }).toBe(0)
  await own.stop()
})

test('with a client that never connects, a call rejects at the timeout', async () => {
  const { code, after } = await failure(limiterOf(ioredis(1), { timeout: 50 }).consume('id'))
  expect(code).toBe('HEADGATE_STORE_TIMEOUT')
  expect(after).toBeLessThan(300)
})

test('an error of Redis is the cause of the error of the call', async () => {
  const client = ioredis(server.port)
  const limiter = limiterOf(client)
  await limiter.consume('id')
  await client.config('SET', 'maxmemory', 1)
  const cause = { code: 'HEADGATE_STORE', cause: expect.any(Error) }
  await expect(limiter.consume('id')).rejects.toMatchObject({ code: 'HEADGATE_STORE_UNAVAILABLE', cause })
  await client.config('SET', 'maxmemory', 0)
})

/** Clients of a server that they reach through a proxy at this port. */
const proxied: Record<string, (port: number) => Promise<RedisClient>> = {
  ioredis: async (port) => ioredis(port, { retryStrategy: () => 10 }),
  'ioredis with a prefix': async (port) => ioredis(port, { retryStrategy: () => 10, keyPrefix: 'app:' }),
  'ioredis that gathers commands': async (port) => {
    return ioredis(port, { retryStrategy: () => 10, enableAutoPipelining: true })
  },
  'node-redis': nodeRedis,
  async 'ioredis with a Sentinel'(port) {
    const { root, map } = await sentinelOf(port)
    const client = new Redis({ sentinels: [root], name: 'gate', natMap: map, retryStrategy: () => 10 })
    client.on('error', () => {})
    closes.push(() => client.disconnect())
    return client
  },
  async 'node-redis with a Sentinel'(port) {
    const { root, map } = await sentinelOf(port)
    const client = createSentinel({ sentinelRootNodes: [root], name: 'gate', nodeAddressMap: map })
    client.on('error', () => {})
    await client.connect()
    closes.push(() => client.destroy())
    return client as RedisClient
  },
}

async function sentinelOf(port: number) {
  const sentinel = await startSentinel(server.port)
  closes.push(sentinel.stop)
  const root = { host: '127.0.0.1', port: sentinel.port }
  return { root, map: { [`127.0.0.1:${server.port}`]: { host: '127.0.0.1', port } } }
}

test.each(Object.keys(proxied))('%s: a call whose reply was lost is not repeated', async (name) => {
  const proxy = await startProxy(server.port)
  closes.push(() => proxy.close())
  const client = (await proxied[name]?.(proxy.port)) as RedisClient
  const limiter = limiterOf(client, { timeout: '1s' })
  // It also loads the script.
  await expect.poll(() => limiter.consume('warm').catch(() => undefined)).toMatchObject({ allowed: true })
  proxy.fault = 'lose replies'
  const lost = failure(limiter.consume('id'))
  await expect.poll(() => proxy.lost).toBeGreaterThan(0)
  proxy.fault = undefined
  expect((await lost).code).toMatch(/^HEADGATE_STORE(_TIMEOUT)?$/)
  await sleep(500) // time for the client to send the call again
  const direct = new RateLimiter({
    name: limiter.name,
    policies,
    store: redisStore({ client: ioredis(server.port, { keyPrefix: prefixOf(client) }), timeout: '5s' }),
  })
  expect((await direct.peek('id')).remaining).toBe(99)
})

function prefixOf(client: RedisClient): string {
  return (client as Partial<Redis>).options?.keyPrefix ?? ''
}
