/*
 * Redis dies, stands still, loses its connections, or takes the password no more, under clients with their default options: calls
 * stay short, the bound holds, no units are lost or counted twice, and it heals.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterEach, describe, expect, test } from 'vitest'
import { concurrency, fixedWindow, RateLimiter } from '../../src/index.ts'
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { startProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const closes: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closes.splice(0)) await close()
})

async function connect(name: string, port: number): Promise<RedisClient> {
  if (name === 'ioredis') {
    const client = new Redis(port)
    client.on('error', () => undefined)
    closes.push(() => client.disconnect())
    return client
  }
  const client = createClient({ socket: { port } })
  client.on('error', () => undefined)
  closes.push(() => client.isOpen && client.destroy())
  return (await client.connect()) as RedisClient
}

const faults: Record<string, { begin(server: RedisServer): unknown; end(server: RedisServer): unknown }> = {
  SIGKILL: { begin: (server) => server.stop(), end: (server) => server.start() },
  SIGSTOP: {
    begin: ({ pid }) => process.kill(pid, 'SIGSTOP'),
    end: ({ pid }) => process.kill(pid, 'SIGCONT'),
  },
  'a wrong password': {
    async begin(server) {
      await server.command('CONFIG', 'SET', 'requirepass', 'another')
      const admin = new Redis(server.port, { password: 'another' })
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal')
      admin.disconnect()
    },
    async end(server) {
      const admin = new Redis(server.port, { password: 'another' })
      await admin.config('SET', 'requirepass', '')
      admin.disconnect()
    },
  },
}

const limit = 50

describe.each(['ioredis', 'node-redis'])('%s', (name) => {
  test.each(Object.keys(faults))('%s', async (fault) => {
    const server = await startRedis()
    closes.push(() => server.stop())
    const store = redisStore({ client: await connect(name, server.port) })
    const policies = fixedWindow({ limit, window: '1d', align: 'first-request' })
    const limiter = new RateLimiter({ name: 'drill', policies, store })
    await expect.poll(async () => (await limiter.consume('warm')).source).toBe('store')
    let admitted = 0
    let longest = 0
    const call = async () => {
      const began = performance.now()
      const { allowed, source } = await limiter.consume('k')
      longest = Math.max(longest, performance.now() - began)
      if (allowed) admitted++
      return source
    }
    for (let n = 0; n < 10; n++) await call()
    await faults[fault]?.begin(server)
    const sources = new Set<string>()
    for (let n = 0; n < 100; n++) {
      sources.add(await call())
      await sleep(5)
    }
    expect([...sources]).toEqual(['fallback'])
    expect(longest).toBeLessThan(500) // 100 ms, on a busy machine
    await faults[fault]?.end(server)
    await expect.poll(call, { timeout: 10_000 }).toBe('store')
    for (let n = 0; n < 100; n++) await call()
    expect(admitted).toBeGreaterThan(limit)
    expect(admitted).toBeLessThanOrEqual(2 * limit)
    expect(limiter.health()).toMatchObject({ state: 'closed', owing: 0 })
  })
})

/** A limiter behind a proxy, and the proxy. */
async function behindProxy(name: string, policies: ConstructorParameters<typeof RateLimiter>[0]['policies']) {
  const server = await startRedis()
  const proxy = await startProxy(server.port)
  closes.push(
    () => proxy.close(),
    () => server.stop(),
  )
  const store = redisStore({ client: await connect(name, proxy.port) })
  const limiter = new RateLimiter({ name: 'drill', policies, store })
  await expect.poll(async () => (await limiter.consume('warm')).source).toBe('store')
  return { limiter, proxy }
}

/** Breaks all connections. New ones get no answer until `silent` is false. */
async function disconnect(proxy: TcpProxy): Promise<void> {
  proxy.silent = true
  proxy.cut()
  await sleep(50)
}

async function used(limiter: RateLimiter): Promise<string> {
  const { source, policies } = await limiter.peek('k')
  return `${source} ${policies[0]?.used}`
}

describe.each(['ioredis', 'node-redis'])('%s, while there is no connection', (name) => {
  test('units in flight that are released are free when there is one again', async () => {
    const { limiter, proxy } = await behindProxy(name, concurrency({ limit: 20, lease: '1h' }))
    const calls = await Promise.all(Array.from({ length: 10 }, () => limiter.reserve('k')))
    expect(await used(limiter)).toBe('store 10')
    await disconnect(proxy)
    for (const call of calls) {
      void call.release()
      await sleep(20)
    }
    proxy.silent = false
    proxy.cut()
    await expect.poll(() => used(limiter), { timeout: 10_000 }).toBe('store 0')
  })

  test.each([3, 4, 5])('units admitted locally are charged once, if answer %i afterwards is lost', async (n) => {
    const { limiter, proxy } = await behindProxy(name, '1000/1d fixed-window')
    await disconnect(proxy)
    let admitted = 0
    while (admitted < 20) if ((await limiter.consume('k')).source === 'fallback') admitted++
    proxy.cutEvery = n
    proxy.silent = false
    proxy.cut()
    const { connections } = proxy
    await expect
      .poll(() => limiter.peek('k').then(() => proxy.connections), { timeout: 10_000 })
      .toBeGreaterThan(connections + 1)
    proxy.cutEvery = 0
    await expect.poll(() => used(limiter), { timeout: 10_000 }).toMatch('store')
    await expect.poll(() => limiter.health().owing, { timeout: 10_000 }).toBe(0)
    expect(await used(limiter)).toBe(`store ${admitted}`)
  })
})
