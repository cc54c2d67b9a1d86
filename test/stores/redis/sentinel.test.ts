import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { RateLimiter } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { startSentinel } from '../../support/redis-sentinel.ts'
import { startRedis } from '../../support/redis-server.ts'

/** Waits until the condition holds. A failover takes seconds, and calls fail meanwhile. */
async function until(wanted: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 25_000; Date.now() < end; await sleep(100)) {
    if (await wanted().catch(() => false)) return
  }
  expect.fail('the failover did not happen')
}

test('Sentinel: calls go to the master, and after a failover to the new master, with the states it had received', async () => {
  const master = await startRedis()
  const replica = await startRedis('--replicaof', '127.0.0.1', `${master.port}`)
  await until(async () => (await master.command('INFO', 'replication')).includes('state=online'))
  const sentinel = await startSentinel(master.port)
  const client = new Redis({ sentinels: [{ host: '127.0.0.1', port: sentinel.port }], name: 'gate' })
  client.on('error', () => {}) // while there is no master
  try {
    const store = redisStore({ client, timeout: '1s', denyCache: false })
    const limiter = new RateLimiter({ name: 'default', policies: '3/1h sliding-log', store })
    await until(async () => (await limiter.peek('k')).remaining === 3)
    expect([(await limiter.consume('k')).remaining, (await limiter.consume('k')).remaining]).toEqual([2, 1])
    // Before the master stops, the sentinel has to know the replica, and the replica has to have the states.
    await until(async () => (await replica.command('DBSIZE')).startsWith(':1'))
    const known = new Redis(sentinel.port)
    await until(async () => ((await known.call('SENTINEL', 'replicas', 'gate')) as unknown[]).length === 1)
    known.disconnect()
    await master.stop()
    await until(async () => (await replica.command('ROLE')).includes('master'))
    // The new master has never seen the script.
    await until(async () => (await limiter.peek('k')).remaining === 1)
    expect((await limiter.consume('k')).remaining).toBe(0)
    expect((await limiter.consume('k')).allowed).toBe(false)
  } finally {
    client.disconnect()
    sentinel.stop()
    await Promise.all([master.stop(), replica.stop()])
  }
}, 60_000)
