/* A connection whose other end is gone without a word heals by itself, with the defaults of the clients. */
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net'
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
  if (name.startsWith('ioredis')) {
    const commandTimeout = Number(/commandTimeout (\d+)/.exec(name)?.[1])
    const client = new Redis(port, commandTimeout ? { commandTimeout } : {})
    client.on('error', () => undefined)
    closes.push(() => client.disconnect())
    return client
  }
  const client = createClient({ socket: { port } })
  client.on('error', () => undefined)
  closes.push(() => client.isOpen && client.destroy())
  return (await client.connect()) as RedisClient
}

const gaveUp = ['ioredis, commandTimeout 50', 'ioredis, commandTimeout 300']

test.each(['ioredis', ...gaveUp, 'node-redis'])('%s: the client is told to connect anew', async (name) => {
  const proxy = await startProxy(server.port)
  closes.push(() => proxy.close())
  const store = redisStore({ client: await connect(name, proxy.port), reconnectAfter: '1s' })
  const limiter = new RateLimiter({ name: `half-open-${name.replaceAll(/\W/g, '-')}`, policies: '1000/1h', store })
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

test.each(['ioredis', 'node-redis'])(
  '%s: a balancer without a server closes new connections for a while',
  async (name) => {
    const proxy = await startProxy(server.port)
    const nobody = createServer((socket) => socket.end())
    await new Promise<void>((resolve) => nobody.listen(0, '127.0.0.1', resolve))
    closes.push(
      () => proxy.close(),
      () => nobody.close(),
    )
    const store = redisStore({ client: await connect(name, proxy.port), reconnectAfter: '300ms' })
    const limiter = new RateLimiter({ name: `closed-${name}`, policies: '1000/1h', store })
    const source = async () => (await limiter.consume('k')).source
    await expect.poll(source).toBe('store')
    proxy.forget()
    proxy.to = (nobody.address() as AddressInfo).port
    for (const began = performance.now(); performance.now() - began < 1500; await sleep(20)) await source()
    proxy.to = server.port
    await expect.poll(source, { timeout: 8000 }).toBe('store')
  },
)

test('ioredis: a connection that falls silent after its first answer is left', async () => {
  let connections = 0
  const answers = createServer((socket) => {
    const isFirst = connections++ === 0
    let chunks = 0
    const far = connectTcp(server.port, '127.0.0.1').on('error', () => undefined)
    far.on('data', (chunk) => (!isFirst || chunks++ === 0) && socket.write(chunk))
    socket.on('error', () => undefined).on('data', (chunk) => far.write(chunk))
    socket.on('close', () => far.destroy())
  })
  await new Promise<void>((resolve) => answers.listen(0, '127.0.0.1', resolve))
  const client = await connect('ioredis', (answers.address() as AddressInfo).port)
  const store = redisStore({ client, reconnectAfter: '300ms' })
  const limiter = new RateLimiter({ name: 'first-answer', policies: '1000/1h', store })
  await expect.poll(async () => (await limiter.consume('k')).source, { timeout: 20_000 }).toBe('store')
  ;(client as Redis).disconnect()
  answers.close()
})

test('ioredis: a server that loads its data keeps its connection', async () => {
  let connections = 0
  const body = '# Persistence\r\nloading:1\r\nloading_eta_seconds:1\r\n'
  const loading = createServer((socket) => {
    connections++
    socket
      .on('error', () => undefined)
      .on('data', (chunk) => {
        for (const [command] of chunk.toString('latin1').matchAll(/(?<=\n)(info|client|hello)\r/gi)) {
          if (/info/i.test(command)) socket.write(`$${body.length}\r\n${body}\r\n`)
          else
            socket.write(/hello/i.test(command) ? '-ERR unknown command `HELLO`\r\n' : '-LOADING Redis is loading\r\n')
        }
      })
  })
  await new Promise<void>((resolve) => loading.listen(0, '127.0.0.1', resolve))
  const client = await connect('ioredis', (loading.address() as AddressInfo).port)
  const limiter = new RateLimiter({
    name: 'loading',
    policies: '1000/1h',
    store: redisStore({ client, reconnectAfter: '1200ms' }),
  })
  for (const began = performance.now(); performance.now() - began < 4500; await sleep(20)) await limiter.consume('k')
  expect(connections).toBe(1)
  ;(client as Redis).disconnect()
  loading.close()
})

test('node-redis: a client that the application closes stays closed', async () => {
  const proxy = await startProxy(server.port)
  closes.push(() => proxy.close())
  const client = (await connect('node-redis', proxy.port)) as ReturnType<typeof createClient>
  const store = redisStore({ client: client as RedisClient, reconnectAfter: '300ms' })
  const limiter = new RateLimiter({ name: 'closing', policies: '1000/1h', store })
  await expect.poll(async () => (await limiter.consume('k')).source).toBe('store')
  proxy.forget()
  const { connections } = proxy
  while (proxy.connections === connections) {
    void limiter.consume('k') // has no answer, so `close` waits
    await sleep(5)
  }
  client.close().catch(() => undefined) // while headgate asks the server on another connection
  for (const began = performance.now(); performance.now() - began < 1500; await sleep(20)) await limiter.consume('k')
  expect(client.isOpen).toBe(false)
})

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
  const client = createClient({
    ...documented,
    url: undefined,
    pingInterval: 100,
    socket,
  } as unknown as RedisClientOptions)
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
