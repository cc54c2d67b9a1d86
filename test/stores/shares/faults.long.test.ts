/* Processes with shares while Redis fails, and a client that turns through them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { RateLimiter, tokenBucket } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { shareStore } from '../../../src/stores/shares/index.ts'
import { connectRedis } from '../../support/redis-client.ts'
import { startProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { useRedis } from '../../support/use-server.ts'
import { beyondBucket } from '../../support/virtual-fleet.ts'

const { client, server } = await useRedis()

interface Fault {
  readonly begin: (proxy: TcpProxy) => void
  readonly end: (proxy: TcpProxy) => void
}

const faults: Record<string, Fault> = {
  'Redis stands still': {
    begin: () => process.kill(server.pid, 'SIGSTOP'),
    end: () => process.kill(server.pid, 'SIGCONT'),
  },
  'Redis is further away than the timeout': { begin: delay(60), end: delay(0) },
  'replies are lost with their connection': { begin: cut(3), end: cut(0) },
  'connections go dead': { begin: (proxy) => proxy.forget(), end: (proxy) => proxy.cut() },
}

function delay(milliseconds: number): Fault['begin'] {
  return (proxy) => {
    proxy.delay = milliseconds
  }
}

function cut(every: number): Fault['begin'] {
  return (proxy) => {
    proxy.cutEvery = every
  }
}

test.each(Object.entries(faults))('%s: every admitted unit is counted, and once', async (name, { begin, end }) => {
  const proxy = await startProxy(server.port)
  const prefix = `shares-${name.replaceAll(' ', '-')}`
  const policies = '100000/1d fixed-window'
  const connected = await Promise.all(
    ['ioredis', 'ioredis', 'node-redis'].map((each) => connectRedis(each, proxy.port)),
  )
  const processes = connected.map((each) => {
    const exact = redisStore({ client: each.client, prefix, timeout: '100ms' })
    const store = shareStore({ store: exact, instances: 3, report: '20ms' })
    return new RateLimiter({ name: 'api', policies, store, onStoreError: 'closed' })
  })
  let refused = 0
  let admitted = 0
  let calling = true
  const callers = processes.map(async (limiter) => {
    while (calling) {
      await limiter.consume('k').then(
        ({ allowed }) => {
          if (allowed) admitted++
          else refused++
        },
        () => undefined,
      )
      await sleep(5)
    }
  })
  await sleep(300)
  begin(proxy)
  await sleep(1500)
  end(proxy)
  await sleep(300)
  calling = false
  await Promise.all(callers)
  const exact = new RateLimiter({ name: 'api', policies, store: redisStore({ client, prefix, timeout: '5s' }) })
  const used = async () => (await exact.peek('k')).policies[0]?.used
  await expect.poll(used, { timeout: 8000 }).toBeGreaterThanOrEqual(admitted)
  await sleep(500) // nothing is counted again
  expect(await used()).toBe(admitted)
  expect(admitted).toBeGreaterThan(50)
  expect(refused).toBe(0)
  for (const key of await client.keys(`${prefix}:%007ereports:*`)) {
    expect(await client.pttl(key)).toBeLessThanOrEqual(120_000)
    expect(await client.pttl(key)).toBeGreaterThan(0)
  }
  for (const { close } of connected) close()
  proxy.close()
})

test('a client that turns through six processes gets the rate, and not one for each of them', async () => {
  const policies = tokenBucket({ limit: 200, window: '1s' })
  const processes = Array.from({ length: 6 }, () => {
    const exact = redisStore({ client, prefix: 'shares-c', timeout: '5s' })
    const store = shareStore({ store: exact, instances: 6, report: '20ms' })
    return new RateLimiter({ name: 'api', policies, store })
  })
  for (const each of processes) await each.consume('other')
  await sleep(300)
  const times: number[] = []
  const began = performance.now()
  for (let turn = 0; performance.now() - began < 5000; turn++) {
    const limiter = processes[turn % 6] as RateLimiter
    for (const until = performance.now() + 120; performance.now() < until; await sleep(1)) {
      if ((await limiter.consume('k')).allowed) times.push(performance.now() - began)
    }
  }
  expect(beyondBucket(times, 200, 0.2)).toBeLessThanOrEqual(200)
  expect(times.filter((time) => time > 2500).length / 2.5).toBeLessThan(1.15 * 200)
})
