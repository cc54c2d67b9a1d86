import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createSentinel } from 'redis'
import { expect, test } from 'vitest'
import { RateLimiter } from '../../../src/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { startSentinel } from '../../support/redis-sentinel.ts'
import { startRedis } from '../../support/redis-server.ts'

async function sentinelCommand(port: number, ...words: [string, ...string[]]): Promise<string | unknown[]> {
  const client = new Redis(port)
  client.on('error', () => {})
  try {
    return (await client.call(...words)) as string | unknown[]
  } finally {
    client.disconnect()
  }
}

/** Waits until the condition holds. A failover takes seconds, and calls fail meanwhile. */
async function until(wanted: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 25_000; Date.now() < end; await sleep(100)) {
    if (await wanted().catch(() => false)) return
  }
  expect.fail('the failover did not happen')
}

const name = 'gate'
const clients: Record<string, (port: number) => Promise<{ client: RedisClient; close: () => unknown }>> = {
  async ioredis(port) {
    const client = new Redis({ sentinels: [{ host: '127.0.0.1', port }], name, keyPrefix: 'app:' })
    client.on('error', () => {}) // while there is no master
    return { client, close: () => client.disconnect() }
  },
  async 'node-redis'(port) {
    const client = createSentinel({ sentinelRootNodes: [{ host: '127.0.0.1', port }], name, keyPrefix: 'app:' })
    client.on('error', () => {})
    await client.connect()
    return { client: client as RedisClient, close: () => client.destroy() }
  },
}

test.each(Object.keys(clients))(
  '%s: calls go to the master, and after a failover to the new master, with the states it had received',
  async (library) => {
    const master = await startRedis()
    const replica = await startRedis('--replicaof', '127.0.0.1', `${master.port}`)
    await until(async () => (await master.command('INFO', 'replication')).includes('state=online'))
    const sentinel = await startSentinel(master.port)
    await until(async () => (await sentinelCommand(sentinel.port, 'ping')) === 'PONG')
    const { client, close } = await (clients[library] as (typeof clients)[string])(sentinel.port)
    try {
      const store = redisStore({ client, timeout: '1s', refusalCache: false })
      const limiter = new RateLimiter({ name: 'default', policies: '3/1h sliding-log', store })
      await until(async () => (await limiter.peek('k')).remaining === 3)
      expect([(await limiter.consume('k')).remaining, (await limiter.consume('k')).remaining]).toEqual([2, 1])
      expect(await master.command('KEYS', '*')).toContain('app:headgate:default:{k}')
      // Before the master stops, the sentinel has to know the replica, and the replica has to have the states.
      await until(async () => (await replica.command('DBSIZE')).startsWith(':1'))
      await until(async () => (await sentinelCommand(sentinel.port, 'SENTINEL', 'replicas', name)).length === 1)
      await master.stop()
      await until(async () => (await replica.command('ROLE')).includes('master'))
      // The new master has never seen the script.
      await until(async () => (await limiter.peek('k')).remaining === 1)
      expect((await limiter.consume('k')).remaining).toBe(0)
      expect((await limiter.consume('k')).allowed).toBe(false)
    } finally {
      close()
      sentinel.stop()
      await Promise.all([master.stop(), replica.stop()])
    }
  },
  60_000,
)
