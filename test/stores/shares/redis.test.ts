import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect, test, vi } from 'vitest'
import { RateLimiter, tokenBucket } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { until } from '../../support/contract.ts'
import { connectRedis } from '../../support/redis-client.ts'
import { startProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { useRedis } from '../../support/use-server.ts'
import { beyondBucket } from '../../support/virtual-fleet.ts'

const { client, server } = await useRedis()

/** A process with the store of its own. */
function process(prefix: string): RateLimiter {
  const store = redisStore({ client, prefix, mode: 'shares', report: '20ms', timeout: '5s' })
  return new RateLimiter({ name: 'api', policies: '100/1h fixed-window', store })
}

test('two processes decide at once and agree with Redis after their reports', async () => {
  const processes = [process('shares-a'), process('shares-a')]
  const exact = new RateLimiter({
    name: 'api',
    policies: '100/1h fixed-window',
    store: redisStore({ client, prefix: 'shares-a', timeout: '5s' }),
  })
  const decisions = await Promise.all(processes.flatMap((each) => Array.from({ length: 20 }, () => each.consume('k'))))
  expect(decisions.every(({ allowed }) => allowed)).toBe(true)
  let used = 0
  await until(() => {
    void exact.peek('k').then(({ policies }) => (used = policies[0]?.used ?? 0))
    return used === 40
  })
  for (const each of processes) expect((await each.consume('k')).remaining).toBeLessThanOrEqual(80)
})

interface Fault {
  readonly begin: (proxy: TcpProxy) => void
  readonly end: (proxy: TcpProxy) => void
}

const faults: Record<string, Fault> = {
  'Redis stands still': {
    begin: () => globalThis.process.kill(server.pid, 'SIGSTOP'),
    end: () => globalThis.process.kill(server.pid, 'SIGCONT'),
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
    const store = redisStore({ client: each.client, prefix, mode: 'shares', report: '20ms', timeout: '100ms' })
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
  expect(admitted).toBeGreaterThan(150)
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
    const store = redisStore({ client, prefix: 'shares-c', mode: 'shares', report: '20ms', timeout: '5s' })
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
  expect(beyondBucket(times, 200, 0.2)).toBeLessThanOrEqual(1.5 * 200 + 6)
  expect(times.filter((time) => time > 2500).length / 2.5).toBeLessThan(1.15 * 200)
})

test('a start without Redis says so, and takes the part of instances', async () => {
  const own = new Redis(1, { retryStrategy: () => 50 })
  own.on('error', () => undefined)
  const store = redisStore({ client: own, mode: 'shares' })
  const limiter = new RateLimiter({ name: 'api', policies: '1000/1h', store, instances: 8 })
  const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.consume('k')))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(125)
  expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['fallback']))
  own.disconnect()
})

test('if the record of the processes is none, Redis decides every call, and a warning says so', async () => {
  const warned = vi.spyOn(globalThis.process, 'emitWarning').mockImplementation(() => undefined)
  const record = 'shares-b:%007eprocesses:all:{processes}'
  await client.set(record, 'hello')
  const processes = Array.from({ length: 5 }, () => process('shares-b'))
  for (const each of processes) await each.consume('other')
  await expect.poll(() => warned.mock.calls.map(([text]) => text).join()).toMatch(/counts the processes/)
  await new Promise((resolve) => setTimeout(resolve, 50))
  const decisions = await Promise.all(processes.flatMap((each) => Array.from({ length: 40 }, () => each.consume('k'))))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100)
  expect(await client.get(record)).toBe('hello')
  warned.mockRestore()
})

test.each([
  [{ mode: 'fast' }, /mode must be 'strict' or 'shares', got "fast"/],
  [{ report: '1s' }, /Give mode: 'shares' too/],
  [{ mode: 'shares', report: 0 }, /report/],
  [{ mode: 'shares', report: '2h' }, /report must be from 1 ms to 1h in whole milliseconds/],
  [{ mode: 'shares', leases: { units: 5 } }, /Leave leases out/],
])('%j is an error', (options, message) => {
  expect(() => redisStore({ client, ...options } as never)).toThrow(
    expect.objectContaining({ message: expect.stringMatching(message) }),
  )
})
