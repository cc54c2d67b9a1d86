/* What a degraded process says: the true cause, once, and whether a call may have counted. With real clients. */
import { channel } from 'node:diagnostics_channel'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { createClient, createClientPool, createSentinel } from 'redis'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { forgetWarnings } from '../../src/common/warn.ts'
import { type HeadgateError, RateLimiter, type Store, type StoreStateEvent } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts'
import { lockedUser, startPostgres } from '../support/postgres-server.ts'
import { startSentinel } from '../support/redis-sentinel.ts'
import { startRedis } from '../support/redis-server.ts'
import { startProxy } from '../support/tcp-proxy.ts'
import { useServer } from '../support/use-server.ts'

const open = await useServer(startRedis())
const locked = await useServer(startRedis())
await locked.command('CONFIG', 'SET', 'requirepass', 'secret')
const postgres = await useServer(startPostgres())
const closes: (() => unknown)[] = []
let warned: ReturnType<typeof vi.spyOn>

beforeEach(() => {
  warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
})

afterEach(() => {
  warned.mockRestore()
  for (const close of closes.splice(0)) close()
})

/** The texts of the warnings about the state of a store. */
function warnings(): string[] {
  const of = warned.mock.calls as unknown as [string, { code: string }][]
  return of.filter(([, { code }]) => code === 'HEADGATE_STORE_STATE').map(([message]) => message)
}

function ioredis(port: number, options: object = {}): Redis {
  const client = new Redis(port, options)
  closes.push(() => client.disconnect())
  return client
}

/** node-redis that is told to connect, as an application does that goes on without waiting. */
function nodeRedis(port: number, options: object = {}, connect = true): RedisClient {
  const client = createClient({
    socket: { port, ...('host' in options ? { host: options.host as string } : {}) },
    ...options,
  })
  client.on('error', () => undefined)
  if (connect) client.connect().catch(() => undefined)
  closes.push(() => client.isOpen && client.destroy())
  return client as RedisClient
}

function pool(port: number, { host, ...options }: { host?: string } = {}): RedisClient {
  const client = createClientPool({ socket: { port, ...(host && { host }) }, ...options })
  client.on('error', () => undefined)
  client.connect().catch(() => undefined)
  closes.push(() => client.destroy())
  return client as RedisClient
}

let names = 0
async function degraded(store: Store): Promise<RateLimiter> {
  const limiter = new RateLimiter({ name: `causes-${names++}`, policies: '5/1h', store })
  const events: StoreStateEvent[] = []
  const listener = (event: unknown) => void events.push(event as StoreStateEvent)
  channel('headgate:store-state').subscribe(listener)
  for (let n = 0; n < 20; n++) expect((await limiter.consume('k')).source).toBe('fallback')
  channel('headgate:store-state').unsubscribe(listener)
  expect(events.map(({ limiter, prefix, from, to }) => [limiter, prefix, from, to])).toEqual([
    [limiter.name, 'causes', 'closed', 'open'],
  ])
  expect(events[0]?.error).toBe(limiter.health().lastError)
  return limiter
}

/** The limiter, the prefix, the action and the cause are in one warning and in `health()`. */
async function tellsCause(store: Store, cause: RegExp): Promise<void> {
  const limiter = await degraded(store)
  const { state, lastError } = limiter.health()
  expect(state).toBe('open')
  expect((lastError as Error).message).toMatch(cause)
  expect((lastError as HeadgateError).uncounted).toBe(true)
  expect((lastError as Error).message).not.toMatch(/not known whether/)
  expect(warnings()).toHaveLength(1)
  const [warning] = warnings()
  expect(warning).toMatch(cause)
  expect(warning).toContain(`limiter "${limiter.name}", prefix "causes"`)
  expect(warning).toContain("calls are decided in this process (onStoreError: 'local')")
}

const clients: [string, (port: number, options?: object) => RedisClient][] = [
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
  ['a pool of node-redis', pool],
]

describe.each(clients)('%s', (_, connect) => {
  const store = (client: RedisClient) => redisStore({ client, prefix: 'causes', timeout: 250 })

  test('a wrong password', () => tellsCause(store(connect(locked.port, { password: 'wrong' })), /WRONGPASS/))
  test('no password', () => tellsCause(store(connect(locked.port)), /NOAUTH/))
  test('a refused connection', () => tellsCause(store(connect(1)), /ECONNREFUSED/))
  test('an unknown host', () =>
    tellsCause(store(connect(6379, { host: 'no-such-host.invalid' })), /ENOTFOUND|EAI_AGAIN/))

  test('a full server', async () => {
    await open.command('CONFIG', 'SET', 'maxmemory', '1')
    await tellsCause(store(connect(open.port)), /OOM/)
    await open.command('CONFIG', 'SET', 'maxmemory', '0')
  })

  test('a read-only replica', async () => {
    await open.command('REPLICAOF', '127.0.0.1', '1')
    await tellsCause(store(connect(open.port)), /READONLY|MASTERDOWN/)
    await open.command('REPLICAOF', 'NO', 'ONE')
  })

  test('a server that hangs: it is not known whether the call counted', async () => {
    const proxy = await startProxy(open.port)
    closes.push(() => proxy.close())
    const client = connect(proxy.port)
    const limiter = new RateLimiter({ name: `causes-${names++}`, policies: '5/1h', store: store(client) })
    await expect.poll(async () => (await limiter.consume('k')).source).toBe('store')
    proxy.silent = true
    for (let n = 0; n < 6; n++) await limiter.consume('k')
    const { lastError } = limiter.health()
    expect(lastError).toMatchObject({
      code: 'HEADGATE_STORE_TIMEOUT',
      message: expect.stringMatching(/not known whether/),
    })
    expect(lastError).not.toHaveProperty('uncounted')
    const strict = new RateLimiter({
      name: limiter.name,
      policies: '5/1h',
      store: store(client),
      onStoreError: 'throw',
    })
    for (let n = 0; n < 6; n++) await strict.consume('k').catch(() => undefined)
    await expect(strict.consume('k')).rejects.toMatchObject({
      code: 'HEADGATE_STORE_TIMEOUT',
      message: expect.stringMatching(/^The call was not sent/),
      uncounted: true,
    })
  })

  test('a connection that breaks before the reply: the error says that the connection broke', async () => {
    const proxy = await startProxy(open.port)
    closes.push(() => proxy.close())
    const own = redisStore({ client: connect(proxy.port), prefix: 'causes', timeout: 5000 })
    const limiter = new RateLimiter({ name: `causes-${names++}`, policies: '5/1h', store: own })
    await expect.poll(async () => (await limiter.consume('k')).source).toBe('store')
    proxy.silent = true
    const call = limiter.consume('k')
    await expect.poll(() => proxy.swallowed).toContain('causes:') // the request has come, and gets no reply
    proxy.cut()
    proxy.silent = false
    expect((await call).source).toBe('fallback')
    const { lastError } = limiter.health()
    expect(lastError).toMatchObject({
      code: 'HEADGATE_STORE',
      message: expect.stringMatching(/connection broke|socket/i),
    })
    expect(lastError).not.toHaveProperty('uncounted')
  })

  test('the warning of the end says how long it took', async () => {
    const server = await startRedis()
    const client = connect(server.port)
    const limiter = new RateLimiter({ name: `causes-${names++}`, policies: '9/1h', store: store(client) })
    await expect.poll(async () => (await limiter.consume('k')).source).toBe('store')
    await server.stop()
    for (let n = 0; n < 10; n++) await limiter.consume('k')
    await server.start()
    await expect.poll(async () => (await limiter.consume('k')).source, { timeout: 5000 }).toBe('store')
    expect(warnings()).toEqual([
      expect.stringMatching(/^The store of limiter .* fails\. /),
      expect.stringMatching(/^The store of limiter .* answers again, after \d\.\d s\.$/),
    ])
    await server.stop()
  })
})

test('node-redis that nobody connected', async () => {
  const client = nodeRedis(open.port, {}, false)
  await tellsCause(redisStore({ client, prefix: 'causes', timeout: 250 }), /await client\.connect\(\)/)
})

test('node-redis with a Sentinel whose master is gone', async () => {
  const server = await startRedis()
  const sentinel = await startSentinel(server.port)
  const root = { host: '127.0.0.1', port: sentinel.port }
  const client = createSentinel({ sentinelRootNodes: [root], name: 'gate' })
  client.on('error', () => undefined)
  await client.connect()
  closes.push(
    () => client.destroy(),
    () => sentinel.stop(),
  )
  await server.stop()
  await tellsCause(
    redisStore({ client: client as RedisClient, prefix: 'causes', timeout: 250 }),
    /no connection to the master/,
  )
})

test.each([
  ['that refuses connections', { port: 1 }, /ECONNREFUSED/],
  ['on an unknown host', { host: 'no-such-host.invalid' }, /ENOTFOUND|EAI_AGAIN/],
  ['with a wrong password', { user: lockedUser, password: 'wrong' }, /28P01|password authentication failed/],
])('Postgres %s', async (_, options, cause) => {
  const pool = new Pool({ ...postgres.config, ...options })
  closes.push(() => pool.end())
  await tellsCause(postgresStore({ pool, prefix: 'causes', timeout: '1s' }), cause)
})

test('a limiter that refuses or lets through says so', async () => {
  for (const [onStoreError, text] of [
    ['open', 'let through uncounted'],
    ['throw', "rejected with the store's error"],
  ] as const) {
    const store = redisStore({ client: ioredis(1), timeout: 30 })
    const limiter = new RateLimiter({ name: 'api', policies: '5/1h', store, onStoreError })
    for (let n = 0; n < 10; n++) await limiter.consume('k').catch(() => undefined)
    expect(warnings().at(-1)).toContain(`calls are ${text} (onStoreError: '${onStoreError}')`)
  }
})

test.each([
  ['EVALSHA', (port: number) => ioredis(port)],
  ['MGET', (port: number) => nodeRedis(port)],
])('a server without %s: the first call says what the store needs', async (command, connect) => {
  const server = await startRedis('--rename-command', command, '')
  const client = connect(server.port)
  const store = redisStore({ client, timeout: '5s' })
  const limiter = new RateLimiter({ name: 'api', policies: '5/1h', store, onStoreError: 'throw' })
  await expect(limiter.consume('k')).rejects.toMatchObject({
    code: 'HEADGATE_STORE',
    message: expect.stringMatching(/needs Redis 5 or later, or Valkey, with EVALSHA, EVAL, MGET/),
  })
  await server.stop()
})

test('a user who may not run a command: the first call says where the list of commands is', async () => {
  await open.command('ACL', 'SETUSER', 'poor', 'on', '>secret', '~*', '+@all', '-mget')
  const store = redisStore({ client: ioredis(open.port, { username: 'poor', password: 'secret' }), timeout: '5s' })
  const limiter = new RateLimiter({ name: 'api', policies: '5/1h', store, onStoreError: 'throw' })
  await expect(limiter.consume('k')).rejects.toThrow(/docs\/redis\.md lists under ACL/)
})

test('a client whose errors nobody hears is a warning, once, and shows the cause all the same', async () => {
  forgetWarnings()
  const client = new Redis(1)
  closes.push(() => client.disconnect())
  for (let n = 0; n < 2; n++) {
    const store = redisStore({ client, timeout: 50 })
    const limiter = new RateLimiter({ name: 'api', policies: '5/1h', store })
    await limiter.consume('k')
    expect((limiter.health().lastError as Error).message).toMatch(/ECONNREFUSED/)
  }
  const healthy = createClient({ socket: { port: open.port } })
  await healthy.connect()
  closes.push(() => healthy.destroy())
  await new RateLimiter({
    name: 'a',
    policies: '5/1h',
    store: redisStore({ client: healthy as RedisClient, timeout: '5s' }),
  }).consume('k')
  const heard = ioredis(open.port)
  heard.on('error', () => undefined)
  await new RateLimiter({ name: 'a', policies: '5/1h', store: redisStore({ client: heard, timeout: '5s' }) }).consume(
    'k',
  )
  const calls = warned.mock.calls as unknown as [string, { code: string }][]
  const texts = calls.filter(([, { code }]) => code === 'HEADGATE_CLIENT').map(([text]) => text)
  expect(texts).toEqual([
    expect.stringMatching(/^The Redis client has no listener for 'error'\. Nobody then sees why a connection breaks/),
    expect.stringMatching(
      /^The Redis client has no listener for 'error'\. A connection that breaks then ends this process/,
    ),
  ])
})
