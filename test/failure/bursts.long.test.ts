/* A healthy Redis behind a short trouble, or a burst, is not taken for a broken one. With real clients and their defaults. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterEach, describe, expect, test } from 'vitest'
import { type HeadgateError, RateLimiter } from '../../src/index.ts'
import { type RedisClient, type RedisStoreOptions, redisStore } from '../../src/stores/redis/index.ts'
import { encodeId, slotOf } from '../../src/stores/redis/keys.ts'
import { type RedisServer, startCluster, startRedis } from '../support/redis-server.ts'
import { startProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { useServer } from '../support/use-server.ts'

const server = await useServer(startRedis())
const closes: (() => unknown)[] = []
let names = 0

afterEach(() => {
  for (const close of closes.splice(0)) close()
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

async function limiterOn(client: RedisClient, options: Partial<RedisStoreOptions> = {}): Promise<RateLimiter> {
  const store = redisStore({ client, ...options })
  const limiter = new RateLimiter({ name: `burst-${names++}`, policies: '1000000/1h', store, onStoreError: 'closed' })
  await limiter.consume('warm')
  return limiter
}

function block(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

async function proxied(name: string): Promise<{ proxy: TcpProxy; limiter: RateLimiter }> {
  const proxy = await startProxy(server.port)
  closes.push(() => proxy.close())
  return { proxy, limiter: await limiterOn(await connect(name, proxy.port)) }
}

describe.each(['ioredis', 'node-redis'])('%s', (name) => {
  test('one stall of the server refuses only the calls that had to wait', async () => {
    // Long enough that a busy machine is no second stall, and that five exchanges in a row cannot fail.
    const [timeout, stall] = [400, 1000]
    const limiter = await limiterOn(await connect(name, server.port), { timeout })
    const calls: Promise<unknown>[] = []
    const states = new Set<string>()
    const refusedAt: number[] = []
    const began = performance.now()
    await server.command('CLIENT', 'PAUSE', `${stall}`, 'ALL')
    // 400 calls a second, each in a turn of its own.
    for (let n = 0; performance.now() < began + 2.5 * stall; n++) {
      const at = performance.now() - began
      calls.push(limiter.consume(`k-${n % 50}`).catch(() => refusedAt.push(at)))
      await sleep(2)
      states.add(limiter.health().state)
    }
    await Promise.all(calls)
    expect([...states]).toEqual(['closed'])
    expect(Math.min(...refusedAt)).toBeLessThan(stall - timeout)
    expect(Math.max(...refusedAt)).toBeLessThan(1.5 * stall)
  })

  test('a stall of this process fails no call', async () => {
    const limiter = await limiterOn(await connect(name, server.port), { timeout: 300 })
    const calls = Array.from({ length: 20 }, (_, n) => limiter.consume(`k-${n}`))
    block(450)
    const decisions = await Promise.all(calls)
    expect(decisions.every(({ allowed }) => allowed)).toBe(true)
    // Also while the answers are on their way.
    const later = Array.from({ length: 20 }, (_, n) => limiter.consume(`k-${n}`))
    await new Promise((resolve) => setImmediate(resolve))
    block(450)
    expect((await Promise.all(later)).every(({ allowed }) => allowed)).toBe(true)
    // And while the calls are made, which is so many that they leave in several batches.
    const slowly = Array.from({ length: 600 }, (_, n) => {
      if (n % 200 === 0) block(200)
      return limiter.consume(`k-${n}`)
    })
    expect((await Promise.all(slowly)).every(({ allowed }) => allowed)).toBe(true)
    expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
  })

  test('a stall of this process does not hide that the server hangs', async () => {
    const { proxy, limiter } = await proxied(name)
    proxy.silent = true
    const began = performance.now()
    const call = limiter.consume('k').catch((error) => error.code)
    block(150)
    expect(await call).toBe('HEADGATE_STORE_UNAVAILABLE')
    expect(performance.now() - began).toBeLessThan(450)
  })

  test('10,000 calls at once leave in few batches, which grow with what waits', async () => {
    const limiter = await limiterOn(await connect(name, server.port), { timeout: '20s' })
    const sent = async () =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await server.command('INFO', 'commandstats'))?.[1])
    const before = await sent()
    const decisions = await Promise.all(Array.from({ length: 10_000 }, (_, n) => limiter.consume(`k-${n % 5000}`)))
    expect(decisions.filter(({ source, allowed }) => source === 'store' && allowed)).toHaveLength(10_000)
    expect((await sent()) - before).toBeLessThan(30)
  })
})

describe.each(['ioredis', 'node-redis'])('%s: a Cluster', (name) => {
  test('with one shard stopped, calls on the other shards are decided by Redis', async () => {
    const cluster = await startCluster()
    closes.push(() => cluster.stop())
    for (const node of cluster.nodes) await node.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'no')
    const { port } = cluster.nodes[0] as RedisServer
    const client = await connectCluster(name, port)
    const store = redisStore({ client, timeout: 250 })
    const limiter = new RateLimiter({ name: 'shards', policies: '1000000/1h', store, onStoreError: 'closed' })
    const ids = Array.from({ length: 60 }, (_, n) => `user-${n}`)
    for (let n = 0; n < 5; n++) await Promise.all(ids.map((id) => limiter.consume(id).catch(() => undefined)))
    await expect.poll(() => limiter.consume('warm').catch(() => undefined)).toMatchObject({ source: 'store' })
    const stopped = cluster.nodes[1] as RedisServer
    const isDown = (id: string) => Math.min(2, Math.floor(slotOf(`{${encodeId(id)}}`) / 5461.5)) === 1
    await stopped.stop()
    let healthy = 0
    let refused = 0
    const down = new Set<unknown>()
    const causes = new Set<string>()
    const end = performance.now() + 2500
    const calls: Promise<unknown>[] = []
    for (let n = 0; performance.now() < end; n++) {
      const id = ids[n % ids.length] as string
      const call = limiter.consume(id)
      const failed = ({ code, cause }: HeadgateError) => {
        down.add(code)
        causes.add((cause as Error).message)
      }
      if (isDown(id)) calls.push(call.catch(failed))
      else calls.push(call.then(() => healthy++).catch(() => refused++))
      await sleep(2)
    }
    await Promise.all(calls)
    expect([...down]).toEqual(['HEADGATE_STORE_UNAVAILABLE'])
    expect([...causes].join()).toMatch(/The node is not connected: .*ECONN/)
    expect(healthy).toBeGreaterThan(100)
    expect(refused).toBeLessThan(healthy / 20) // A busy machine may be late for a few.
    expect(limiter.health().state).not.toBe('closed')
  })
})

async function connectCluster(name: string, port: number): Promise<RedisClient> {
  if (name === 'ioredis') {
    const client = new Cluster([{ host: '127.0.0.1', port }])
    client.on('error', () => undefined)
    closes.push(() => client.disconnect())
    return client
  }
  const client = createCluster({ rootNodes: [{ socket: { host: '127.0.0.1', port } }] })
  client.on('error', () => undefined)
  await client.connect()
  closes.push(() => client.destroy())
  return client as RedisClient
}

/** The CPU time of this process and of Redis, in milliseconds. */
async function cpuTime(): Promise<number> {
  const { user, system } = process.cpuUsage()
  const info = await server.command('INFO', 'cpu')
  const ofRedis = [...info.matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)].map(([, time]) => Number(time))
  return (user + system) / 1000 + ofRedis.reduce((sum, time) => sum + time * 1000, 0)
}

/** How many of 10,000 calls at once failed, and for how many milliseconds neither process had a CPU. */
async function burst(client: RedisClient, keyOf: (n: number) => string): Promise<{ failed: number; idle: number }> {
  const store = redisStore({ client })
  const limiter = new RateLimiter({ name: `burst-${names++}`, policies: '1000000/1h', store, onStoreError: 'closed' })
  await limiter.consume('warm').catch(() => undefined)
  const cpu = await cpuTime()
  const began = performance.now()
  const outcomes = await Promise.allSettled(Array.from({ length: 10_000 }, (_, n) => limiter.consume(keyOf(n))))
  const took = performance.now() - began
  const failed = outcomes.filter(({ status }) => status === 'rejected').length
  return { failed, idle: took - ((await cpuTime()) - cpu) }
}

test.each<[string, string, (n: number) => string]>([
  ['one key', 'ioredis', () => 'hot'],
  ['a key each', 'ioredis', (n) => `k-${n}`],
  ['one key', 'node-redis', () => 'hot'],
  ['a key each', 'node-redis', (n) => `k-${n}`],
])('10,000 calls at once are all decided by Redis: %s, %s', async (_, name, keyOf) => {
  const client = await connect(name, server.port)
  for (;;) {
    const { failed, idle } = await burst(client, keyOf)
    if (failed === 0) return
    // On a machine that is busy otherwise, Redis itself may answer too late. Then another burst counts.
    if (idle < 50) expect({ failed, idle }).toEqual({ failed: 0, idle })
  }
})
