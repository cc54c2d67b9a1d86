/* Redis dies, stands still, or takes the password no more, under clients with their default options: calls stay short, the bound holds, and it heals. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterEach, describe, expect, test } from 'vitest'
import { RateLimiter } from '../../src/index.ts'
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'

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
    const limiter = new RateLimiter({ name: 'drill', policies: `${limit}/1d fixed-window`, store })
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
