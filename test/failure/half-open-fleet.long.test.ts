/* The connections of a Cluster, a pool, and a pool of Postgres also heal by themselves when the other end is gone without a word. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import { Pool } from 'pg'
import { createClientPool, createCluster, createSentinel } from 'redis'
import { afterAll, expect, test } from 'vitest'
import { RateLimiter, type Store } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { startSentinel } from '../support/redis-sentinel.ts'
import { startCluster, startRedis } from '../support/redis-server.ts'
import { startProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { useServer } from '../support/use-server.ts'

const cluster = await useServer(startCluster())
const server = await useServer(startRedis())
const closes: (() => unknown)[] = []
afterAll(() => {
  for (const close of closes) close()
})

async function proxyTo(port: number): Promise<TcpProxy> {
  const proxy = await startProxy(port)
  closes.push(() => proxy.close())
  return proxy
}

const ids = Array.from({ length: 30 }, (_, n) => `user-${n}`)

async function sourcesOn(limiter: RateLimiter): Promise<Set<string>> {
  return new Set(await Promise.all(ids.map(async (id) => (await limiter.consume(id)).source)))
}

/** All keys are decided by the store again within some seconds after these connections were lost without a word. */
async function heals(store: Store, forget: () => void): Promise<void> {
  const limiter = new RateLimiter({ name: 'half-open', policies: '1000000/1h', store })
  await expect.poll(() => sourcesOn(limiter), { timeout: 5000 }).toEqual(new Set(['store']))
  let began = performance.now()
  // A read of overrides may have the only connection that is lost, and the calls then have another one.
  const lost = async () => {
    forget()
    began = performance.now()
    return await sourcesOn(limiter)
  }
  await expect.poll(lost, { timeout: 5000 }).toContain('fallback')
  for (;;) {
    const sources = await sourcesOn(limiter)
    if (!sources.has('fallback')) break
    if (performance.now() - began > 60_000) expect.fail('it did not heal')
    await sleep(20)
  }
}

test.each(['ioredis', 'node-redis'])('%s: a Cluster, one node of which is gone', async (name) => {
  const proxies = await Promise.all(cluster.nodes.map(({ port }) => proxyTo(port)))
  const addresses = cluster.nodes.map(({ port }, n) => [
    `127.0.0.1:${port}`,
    { host: '127.0.0.1', port: proxies[n]?.port as number },
  ])
  const map = Object.fromEntries(addresses)
  const [root] = Object.values(map) as [{ host: string; port: number }]
  let client: RedisClient
  if (name === 'ioredis') {
    const own = new Cluster([root], { natMap: map })
    own.on('error', () => undefined)
    closes.push(() => own.disconnect())
    client = own
  } else {
    const own = createCluster({ rootNodes: [{ socket: root }], nodeAddressMap: map })
    own.on('error', () => undefined)
    await own.connect()
    closes.push(() => own.destroy())
    client = own as RedisClient
  }
  await heals(redisStore({ client, reconnectAfter: '1s', prefix: name }), () => proxies[1]?.forget())
})

test.each(['ioredis', 'node-redis'])('%s: the master of a Sentinel', async (name) => {
  const sentinel = await startSentinel(server.port)
  closes.push(() => sentinel.stop())
  const proxy = await proxyTo(server.port)
  const map = { [`127.0.0.1:${server.port}`]: { host: '127.0.0.1', port: proxy.port } }
  const root = { host: '127.0.0.1', port: sentinel.port }
  let client: RedisClient
  if (name === 'ioredis') {
    const own = new Redis({ sentinels: [root], name: 'gate', natMap: map })
    own.on('error', () => undefined)
    closes.push(() => own.disconnect())
    client = own
  } else {
    const own = createSentinel({ sentinelRootNodes: [root], name: 'gate', nodeAddressMap: map })
    own.on('error', () => undefined)
    await own.connect()
    closes.push(() => own.destroy())
    client = own as RedisClient
  }
  await heals(redisStore({ client, reconnectAfter: '1s', prefix: `sentinel-${name}` }), () => proxy.forget())
})

test('node-redis: a Sentinel whose master only accepts connections, until another takes its place', async () => {
  const own = await startRedis()
  const sentinel = await startSentinel(own.port) // of its own: other sentinels would send messages about this one
  closes.push(
    () => sentinel.stop(),
    () => own.stop(),
  )
  const proxy = await proxyTo(own.port)
  const map = { [`127.0.0.1:${own.port}`]: { host: '127.0.0.1', port: proxy.port } }
  const client = createSentinel({
    sentinelRootNodes: [{ host: '127.0.0.1', port: sentinel.port }],
    name: 'gate',
    nodeAddressMap: map,
  })
  client.on('error', () => undefined)
  await client.connect()
  closes.push(() => client.destroy())
  const store = redisStore({ client: client as RedisClient, reconnectAfter: '300ms' })
  const limiter = new RateLimiter({ name: 'hung', policies: '1000/1h', store })
  const source = async () => (await limiter.consume('k')).source
  await expect.poll(source).toBe('store')
  proxy.silent = true
  for (const began = performance.now(); performance.now() - began < 2500; await sleep(20)) await source()
  proxy.forget()
  proxy.silent = false
  await expect.poll(source, { timeout: 8000 }).toBe('store')
})

test('node-redis: a pool', async () => {
  const proxy = await proxyTo(server.port)
  const pool = createClientPool({ socket: { port: proxy.port } })
  pool.on('error', () => undefined)
  await pool.connect()
  closes.push(() => pool.destroy())
  await heals(redisStore({ client: pool as RedisClient, reconnectAfter: '1s' }), () => proxy.forget())
})

test('pg: a pool', async () => {
  const postgres = await startPostgres()
  closes.push(() => postgres.stop())
  const proxy = await proxyTo(postgres.port)
  const pool = new Pool({ ...postgres.config, port: proxy.port })
  pool.on('error', () => undefined)
  closes.push(() => pool.end())
  const store = postgresStore({ pool })
  await store.migrate()
  await heals(store, () => proxy.forget())
})
