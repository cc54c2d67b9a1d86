/* Nodes of Redis Cluster fail, and slots move, under calls on keys of several nodes. */
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { fixedWindow, RateLimiter } from '../../../src/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { encodeId, keyStart, slotOf } from '../../../src/stores/redis/keys.ts'
import { type RedisServer, startCluster } from '../../support/redis-server.ts'
import { useServer } from '../../support/use-server.ts'

const cluster = await useServer(startCluster())
for (const node of cluster.nodes) await node.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'no')
const { port } = cluster.nodes[0] as RedisServer
const ioredis = new Cluster([{ host: '127.0.0.1', port }])
ioredis.on('error', () => undefined)
const nodeRedis = createCluster({ rootNodes: [{ socket: { host: '127.0.0.1', port } }] })
nodeRedis.on('error', () => undefined)
await nodeRedis.connect()

afterAll(() => {
  ioredis.disconnect()
  nodeRedis.destroy()
})

const clients: [string, RedisClient][] = [
  ['ioredis', ioredis],
  ['node-redis', nodeRedis as RedisClient],
]

const scopes = ['ip', 'user'] as const
const policies = scopes.map((scope) => fixedWindow({ name: scope, scope, limit: 1_000_000, window: '1h' }))

function slotOfId(id: string): number {
  return slotOf(`{${encodeId(id)}}`)
}

/** The first ids, of many, that the node has: each master has a third of the slots. */
function idsOf(node: number, count: number): string[] {
  const bounds = [0, 5461, 10_923, 16_384] as const
  const ids = Array.from({ length: 1000 }, (_, n) => `id-${n}`)
  const first = bounds[node] as number
  const end = bounds[node + 1] as number
  return ids.filter((id) => slotOfId(id) >= first && slotOfId(id) < end).slice(0, count)
}

describe.each(clients)('%s, with a node that stands still', (name, client) => {
  test('five calls wait for it, whichever other nodes they need, and the rest goes on', async () => {
    const store = redisStore({ client, timeout: 250 })
    const limiter = new RateLimiter({ name: `still-${name}`, policies, store, onStoreError: 'closed' })
    const alone = new RateLimiter({ name: `alone-${name}`, policies: '1000000/1h', store, onStoreError: 'closed' })
    const [first, still, third] = [0, 1, 2].map((node) => idsOf(node, 9)) as [string[], string[], string[]]
    const healthy = first.map((ip, n) => ({ ip, user: third[n] as string }))
    const ill = still.flatMap((id, n) => [
      { ip: id, user: first[n] as string },
      { ip: third[n] as string, user: id },
      { ip: id, user: still[(n + 1) % still.length] as string },
    ])
    const outcome = (call: Promise<{ source: string }>): Promise<string> =>
      call.then(
        ({ source }) => source,
        ({ code }) => code as string,
      )
    for (const keys of [...healthy, ...ill]) await outcome(limiter.consume(keys))
    for (const id of still) await outcome(alone.consume(id))
    const { pid } = cluster.nodes[1] as RedisServer
    process.kill(pid, 'SIGSTOP')
    try {
      let waited = 0
      const timed = async (call: () => Promise<{ source: string }>) => {
        const began = performance.now()
        const result = await outcome(call())
        if (performance.now() - began > 240) waited++
        return result
      }
      const results: string[] = []
      // Healthy calls between: they must not hide the failures, nor suffer from them.
      const others: Promise<string>[] = []
      for (const [n, keys] of ill.entries()) {
        others.push(outcome(limiter.consume(healthy[n % healthy.length] as { ip: string; user: string })))
        results.push(await timed(() => limiter.consume(keys)))
      }
      for (const id of still) results.push(await timed(() => alone.consume(id)))
      expect(new Set(results)).toEqual(new Set(['HEADGATE_STORE_UNAVAILABLE']))
      expect(waited).toBeLessThanOrEqual(5)
      expect(new Set(await Promise.all(others))).toEqual(new Set(['store']))
      expect(limiter.health().state).not.toBe('closed')
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    for (const keys of ill) await expect.poll(() => outcome(limiter.consume(keys)), { timeout: 10_000 }).toBe('store')
    expect(limiter.health().state).toBe('closed')
  })
})

describe.each(clients)('%s, with a slot that is half moved', (name, client) => {
  test('it is no failure of its nodes, and a call is tried once more', async () => {
    const store = redisStore({ client, timeout: '2s' })
    const limiter = new RateLimiter({ name: `half-${name}`, policies, store, onStoreError: 'closed' })
    const ids = idsOf(0, name === 'ioredis' ? 1 : 2)
    const id = ids.at(-1) as string
    const [from, to] = cluster.nodes as readonly [RedisServer, RedisServer]
    const slot = `${slotOfId(id)}`
    const keys = { ip: id, user: id }
    const storeKeys = scopes.map((scope) => `${keyStart('headgate', limiter.name, scope)}${encodeId(id)}}`)
    const nodeId = async ({ command }: RedisServer) =>
      /[0-9a-f]{40}/.exec(await command('CLUSTER', 'MYID'))?.[0] as string
    const [fromId, toId] = await Promise.all([nodeId(from), nodeId(to)])
    const move = (key: string) => from.command('MIGRATE', '127.0.0.1', `${to.port}`, key, '0', '5000')
    await limiter.consume(keys)
    expect(await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId)).toContain('OK')
    expect(await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId)).toContain('OK')
    expect(await move(storeKeys[0] as string)).toContain('OK')
    // Five in a row would open the breaker of the node.
    for (let n = 0; n < 12; n++) {
      const began = performance.now()
      await expect(limiter.consume(keys)).rejects.toMatchObject({
        code: 'HEADGATE_STORE_UNAVAILABLE',
        cause: { code: 'HEADGATE_STORE', uncounted: true, message: expect.stringContaining('TRYAGAIN') },
      })
      expect(performance.now() - began).toBeLessThan(1000)
    }
    expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
    expect((await limiter.consume({ ip: idsOf(0, 3)[2] as string, user: idsOf(0, 3)[2] as string })).source).toBe(
      'store',
    )
    // The other key follows while a call is tried. A busy machine may take longer for that than the call waits.
    let used = 1
    for (let tries = 0; used === 1 && tries < 20; tries++) {
      const call = limiter.consume(keys).catch(() => undefined)
      expect(await move(storeKeys[1] as string)).toContain('OK')
      if ((await call)?.source === 'store') used++
      else await to.command('MIGRATE', '127.0.0.1', `${from.port}`, storeKeys[1] as string, '0', '5000')
    }
    expect(used).toBe(2)
    expect(await to.command('CLUSTER', 'SETSLOT', slot, 'NODE', toId)).toContain('OK')
    await from.command('CLUSTER', 'SETSLOT', slot, 'NODE', toId) // else the node hears of it from the other one
    expect(await limiter.consume(keys)).toMatchObject({ source: 'store', remaining: 999_997 })
  })
})

describe('a node that is full for a moment', () => {
  const [whole, full] = cluster.nodes as readonly [RedisServer, RedisServer]
  const limitMemory = ({ command }: RedisServer, bytes: '0' | '1') => command('CONFIG', 'SET', 'maxmemory', bytes)
  const keys = { ip: idsOf(0, 9)[8] as string, user: idsOf(1, 9)[8] as string }
  afterEach(async () => void (await Promise.all([limitMemory(whole, '0'), limitMemory(full, '0')])))
  const usedBy = async (limiter: RateLimiter) => (await limiter.peek(keys)).policies.map(({ used }) => used)

  test.each([
    ['throw', 'cancel', 30],
    ['local', 'cancel', 30],
    ['open', 'cancel', 30],
    ['closed', 'cancel', 30],
    ['local', 'settle', 65],
  ] as const)('does not make another node settle twice: %s, %s', async (onStoreError, method, used) => {
    const name = `full-${onStoreError}-${method}`
    const store = redisStore({ client: ioredis, timeout: '2s' })
    const limiter = new RateLimiter({ name, policies, store, onStoreError })
    await limiter.consume(keys, { cost: 30 })
    const reservation = await limiter.reserve(keys, { cost: 20 })
    await limitMemory(full, '1')
    await (method === 'cancel' ? reservation?.cancel() : reservation?.settle(35))?.catch(() => undefined)
    await limitMemory(full, '0')
    await expect.poll(() => usedBy(limiter)).toEqual([used, used])
  })

  test('whose penalty cannot count a call does not make the admitted call fail', async () => {
    const store = redisStore({ client: ioredis, timeout: '5s' })
    const name = 'full-penalty'
    const spent = [...policies.slice(0, 1), fixedWindow({ name: 'user', scope: 'user', limit: 1, window: '1h' })]
    const penalty = { on: 'spent', ban: '1m', scope: 'user' } as const
    const limiter = new RateLimiter({ name, policies: spent, penalty, store, onStoreError: 'throw' })
    const alone = new RateLimiter({ name, policies: spent.slice(1), store: redisStore({ client: ioredis }) })
    process.kill(whole.pid, 'SIGSTOP')
    const admitted = limiter.consume(keys)
    try {
      await expect.poll(async () => (await alone.peek(keys.user)).policies[0]?.used).toBe(1)
      await limitMemory(full, '1')
    } finally {
      process.kill(whole.pid, 'SIGCONT')
    }
    expect(await admitted).toMatchObject({ allowed: true, source: 'store' })
    await limitMemory(full, '0')
    expect(await limiter.consume(keys)).toMatchObject({ allowed: false, policy: 'user' })
    expect(await limiter.inspect(keys)).toMatchObject({ ban: undefined })
  })

  test('gets the units of a refused call back later', async () => {
    const store = redisStore({ client: ioredis, timeout: '5s' })
    const limiter = new RateLimiter({ name: 'full-back', policies, store, onStoreError: 'throw' })
    const refusals = async () => /errorstat_OOM:count=(\d+)/.exec(await whole.command('INFO', 'errorstats'))?.[1] ?? '0'
    await limiter.consume(keys)
    await limitMemory(full, '1')
    process.kill(full.pid, 'SIGSTOP')
    const refused = expect(limiter.consume(keys)).rejects.toMatchObject({ uncounted: true })
    try {
      const alone = new RateLimiter({
        name: 'full-back',
        policies: policies.slice(0, 1),
        store: redisStore({ client: ioredis }),
      })
      await expect.poll(async () => (await alone.peek(keys.ip)).policies[0]?.used).toBe(2)
      await limitMemory(whole, '1')
    } finally {
      process.kill(full.pid, 'SIGCONT')
    }
    await refused
    await expect.poll(refusals).not.toBe('0')
    await Promise.all([limitMemory(whole, '0'), limitMemory(full, '0')])
    await expect.poll(() => usedBy(limiter), { timeout: 10_000 }).toEqual([1, 1])
  })
})

test('a slot that has moved, under ioredis with enableAutoPipelining: a refused call says that it did not count', async () => {
  const client = new Cluster([{ host: '127.0.0.1', port }], { enableAutoPipelining: true })
  client.on('error', () => undefined)
  try {
    const names = { name: 'piped', policies, onStoreError: 'throw' } as const
    const limiter = new RateLimiter({ ...names, store: redisStore({ client, timeout: '2s' }) })
    const [ip, user] = idsOf(0, 6).slice(4) as [string, string]
    const keys = { ip, user }
    await limiter.consume(keys)
    const [from, to] = cluster.nodes as readonly [RedisServer, RedisServer]
    const toId = /[0-9a-f]{40}/.exec(await to.command('CLUSTER', 'MYID'))?.[0] as string
    const fromId = /[0-9a-f]{40}/.exec(await from.command('CLUSTER', 'MYID'))?.[0] as string
    const slot = `${slotOfId(ip)}`
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId)
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId)
    const key = `${keyStart('headgate', limiter.name, 'ip')}${encodeId(ip)}}`
    expect(await from.command('MIGRATE', '127.0.0.1', `${to.port}`, key, '0', '5000')).toContain('OK')
    for (const { command } of cluster.nodes) await command('CLUSTER', 'SETSLOT', slot, 'NODE', toId)
    const outcome = async () => limiter.consume(keys).catch((error) => error)
    const outcomes = await Promise.all(Array.from({ length: 5 }, outcome))
    const refused = outcomes.filter((each) => each instanceof Error)
    expect(refused).toMatchObject(refused.map(() => ({ code: 'HEADGATE_STORE', uncounted: true })))
    expect(refused.length).toBeGreaterThan(0)
    const exact = new RateLimiter({ ...names, store: redisStore({ client: ioredis, timeout: '2s' }) })
    const { policies: used } = await exact.peek(keys)
    expect(used.map((each) => each.used)).toEqual([6 - refused.length, 6 - refused.length])
  } finally {
    client.disconnect()
  }
})
