/* A connection whose other end is gone without a word heals by itself, with the defaults of the clients. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createClient, type RedisClientOptions } from 'redis'
import { afterAll, expect, test, vi } from 'vitest'
import { RateLimiter } from '../../src/index.ts'
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts'
import { startRedis } from '../support/redis-server.ts'
import { startProxy } from '../support/tcp-proxy.ts'
import { useServer } from '../support/use-server.ts'

const server = await useServer(startRedis())
const closes: (() => unknown)[] = []
afterAll(() => {
  for (const close of closes) close()
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

test.each(['ioredis', 'node-redis'])('%s: the client is told to connect anew', async (name) => {
  const proxy = await startProxy(server.port)
  closes.push(() => proxy.close())
  const store = redisStore({ client: await connect(name, proxy.port), reconnectAfter: '1s' })
  const limiter = new RateLimiter({ name: `half-open-${name}`, policies: '1000/1h', store })
  await expect.poll(async () => (await limiter.consume('k')).source).toBe('store')
  proxy.forget()
  const began = performance.now()
  const sources: string[] = []
  while (sources.at(-1) !== 'store' && performance.now() - began < 8000) {
    sources.push((await limiter.consume('k')).source)
    await sleep(20)
  }
  expect(sources[0]).toBe('fallback')
  expect(sources.at(-1)).toBe('store')
  expect(performance.now() - began).toBeGreaterThan(900)
})

test.each(['ioredis', 'node-redis'])(
  '%s: a server that only accepts connections, until another takes its place',
  async (name) => {
    const proxy = await startProxy(server.port)
    closes.push(() => proxy.close())
    const store = redisStore({ client: await connect(name, proxy.port), reconnectAfter: '300ms' })
    const limiter = new RateLimiter({ name: `hung-${name}`, policies: '1000/1h', store })
    const source = async () => (await limiter.consume('k')).source
    await expect.poll(source).toBe('store')
    proxy.silent = true
    for (const began = performance.now(); performance.now() - began < 2500; await sleep(20)) await source()
    expect(await source()).toBe('fallback')
    proxy.forget()
    proxy.silent = false
    await expect.poll(source, { timeout: 8000 }).toBe('store')
  },
)

test('the options of node-redis in docs/production.md survive a Redis that stands still for longer than socketTimeout', async () => {
  const page = readFileSync(new URL('../../docs/production.md', import.meta.url), 'utf8')
  const [, strategy = '', options = ''] =
    /reconnectStrategy = (.*?)\nconst client = createClient\((\{.*?\n\})\)/s.exec(page) ?? []
  const read = new Function('reconnectStrategy', 'process', `return (${options})`)
  const reconnectStrategy = new Function(`return ${strategy.replaceAll(': number', '')}`)()
  const documented = read(reconnectStrategy, { env: {} }) as RedisClientOptions & { socket: { socketTimeout: number } }
  expect(documented.socket.socketTimeout).toBe(5000)
  const own = await startRedis()
  const socket = { ...documented.socket, port: own.port, socketTimeout: 500 }
  const client = createClient({ ...documented, pingInterval: 100, socket } as RedisClientOptions)
  const timedOut = vi.fn()
  client.on('error', timedOut)
  closes.push(
    () => client.destroy(),
    () => own.stop(),
  )
  await client.connect()
  const store = redisStore({ client: client as RedisClient, reconnectAfter: Infinity })
  const limiter = new RateLimiter({ name: 'documented', policies: '1000/1h', store })
  await expect.poll(async () => (await limiter.consume('k')).source).toBe('store')
  process.kill(own.pid, 'SIGSTOP')
  await expect.poll(() => timedOut.mock.calls.length, { timeout: 10_000 }).toBeGreaterThan(0)
  process.kill(own.pid, 'SIGCONT')
  await expect.poll(async () => (await limiter.consume('k')).source, { timeout: 10_000 }).toBe('store')
})
