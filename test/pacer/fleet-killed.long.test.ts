/* Processes that are killed while calls wait in them, with the clients' default options. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from 'redis'
import { afterAll, describe, expect, test } from 'vitest'
import { type Policy, slidingLog, smoothBursty, smoothWarmingUp } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts'
import { useRedis } from '../support/use-server.ts'

const { server, client: ioredis } = await useRedis()
const nodeRedis = await createClient({ socket: { port: server.port } }).connect()
afterAll(() => nodeRedis.destroy())
const clients: Record<string, RedisClient> = { ioredis, 'node-redis': nodeRedis as RedisClient }
const worker = new URL('../support/pacer-worker.mjs', import.meta.url)

/** A process that makes so many calls at once through this pace, and dies half a second after the first of them reached Redis. */
async function killedProcess(task: {
  library: string
  limit: number
  window: number
  calls: number
  algorithm?: string
}): Promise<void> {
  const child = fork(worker, [JSON.stringify({ port: server.port, ...task })])
  await once(child, 'message')
  child.send('go')
  while ((await ioredis.dbsize()) === 0) await sleep(5)
  await sleep(500)
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

describe.each(Object.keys(clients))('%s', (library) => {
  function pacerOf(limit: number, window: number, policy: Policy = slidingLog({ limit, window })): Pacer {
    const store = redisStore({ client: clients[library] as RedisClient, timeout: '5s' })
    return new Pacer(policy, { name: 'third-party', store })
  }

  test('a process that is killed with 1,000 calls waiting holds the others up for about two seconds', async () => {
    const pace = { limit: 100, window: 1000 }
    await ioredis.flushall()
    await killedProcess({ library, ...pace, calls: 1000 })
    const waited = await pacerOf(pace.limit, pace.window).acquire()
    expect(waited).toBeGreaterThan(500)
    expect(waited).toBeLessThan(4000)
  })

  test.each([
    ['smoothBursty', smoothBursty({ rate: 100 })],
    ['smoothWarmingUp', smoothWarmingUp({ rate: 100, warmup: '1s' })],
  ])('%s too: three others wait for about two seconds', async (algorithm, policy) => {
    const pace = { limit: 100, window: 1000 }
    await ioredis.flushall()
    await killedProcess({ library, algorithm, ...pace, calls: 1000 })
    const others = Array.from({ length: 3 }, () => pacerOf(pace.limit, pace.window, policy))
    const waited = await Promise.all(others.map((pacer) => pacer.acquire()))
    expect(Math.min(...waited)).toBeGreaterThan(500)
    expect(Math.max(...waited)).toBeLessThan(4000)
  })

  test('after reset nobody waits for what it had booked', async () => {
    const pace = { limit: 1, window: 60_000 }
    await ioredis.flushall()
    await killedProcess({ library, ...pace, calls: 3 })
    const pacer = pacerOf(pace.limit, pace.window)
    await pacer.reset()
    expect(await pacer.acquire()).toBeLessThan(1000)
  })
})
