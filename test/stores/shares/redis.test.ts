import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { quota } from '../../../src/calendar/index.ts'
import { memoryStore, RateLimiter } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { shareStore } from '../../../src/stores/shares/index.ts'
import { until } from '../../support/contract.ts'
import { useRedis } from '../../support/use-server.ts'

const { client, server } = await useRedis()

/** One of two processes, each with a store of its own. */
function process(prefix: string): RateLimiter {
  const store = shareStore({ store: redisStore({ client, prefix, timeout: '5s' }), instances: 2, report: '20ms' })
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

test('a start without Redis says so, and takes the part of instances', async () => {
  const own = new Redis(1, { retryStrategy: () => 50 })
  own.on('error', () => undefined)
  const store = shareStore({ store: redisStore({ client: own }), instances: 8 })
  const limiter = new RateLimiter({ name: 'api', policies: '1000/1h', store, onStoreError: 'local' })
  const decisions = await Promise.all(Array.from({ length: 125 }, () => limiter.consume('k')))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(125)
  expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['fallback']))
  own.disconnect()
})

test.each(['reset', 'clear'] as const)(
  'after a %s while Redis stands still, Redis decides again once it runs',
  async (verb) => {
    const store = shareStore({ store: redisStore({ client, prefix: `shares-${verb}` }), instances: 2, report: '20ms' })
    const limiter = new RateLimiter({ name: 'api', policies: '100/1h fixed-window', store })
    await limiter.consume('k', { cost: 5 })
    globalThis.process.kill(server.pid, 'SIGSTOP')
    await sleep(150)
    const done = limiter[verb]('k').catch(() => undefined)
    await sleep(800)
    globalThis.process.kill(server.pid, 'SIGCONT')
    await done
    await expect.poll(async () => (await limiter.consume('k')).source, { timeout: 8000 }).toBe('store')
    await limiter.reset('k')
    await limiter.consume('k', { cost: 20 })
    await limiter.refund('k', { cost: 15 })
    await sleep(100)
    expect((await limiter.peek('k')).remaining).toBe(95)
  },
)

test('inspect says what this process has not reported', async () => {
  const store = shareStore({
    store: redisStore({ client, prefix: 'shares-i', timeout: '5s' }),
    instances: 2,
    report: '1h',
  })
  const limiter = new RateLimiter({ name: 'o', policies: '6/1h', store })
  await limiter.consume('ann')
  const { notes, policies, others } = await limiter.inspect('ann')
  expect(notes).toEqual([
    'Processes admit by their shares and report every 3600000 ms. This process has admitted 1 unit that it has not reported.',
  ])
  expect([policies[0]?.used, others]).toEqual([0, []])
  await limiter.ban('ann', '1h')
  expect((await limiter.inspect('ann')).words).toMatch(/^Banned by hand for /)
  for await (const { key, inspection } of limiter.list({ refused: true })) {
    expect([key, inspection.ban?.scope]).toEqual(['ann', 'default'])
  }
})

test('leases and shares: both processes together never admit more than twice the limit, and Redis counts every unit', async () => {
  const processes = [1, 2].map(() => {
    const exact = redisStore({ client, prefix: 'shares-l', timeout: '5s', leases: { units: 10 } })
    const store = shareStore({ store: exact, instances: 2, report: '20ms' })
    return new RateLimiter({ name: 'api', policies: '100/1h fixed-window', store })
  })
  const calls = processes.flatMap((each) => Array.from({ length: 300 }, () => each.consume('k')))
  const admitted = (await Promise.all(calls)).filter(({ allowed }) => allowed).length
  expect(admitted).toBeGreaterThanOrEqual(100)
  expect(admitted).toBeLessThanOrEqual(200)
  const exact = redisStore({ client, prefix: 'shares-l', timeout: '5s' })
  const strict = new RateLimiter({ name: 'api', policies: '100/1h fixed-window', store: exact })
  expect((await strict.peek('k')).policies[0]?.used).toBeGreaterThanOrEqual(admitted)
})

test.each([800, -800])(
  'Redis counts each report under a calendar once, if the clocks are %i days apart',
  async (days) => {
    const clock = () => (Date.now() + days * 86_400_000) * 1000
    const exact = redisStore({ client, prefix: `shares-apart-${days}`, timeout: '5s', clock })
    const limiter = new RateLimiter({
      name: 'api',
      policies: quota('100/year'),
      store: shareStore({ store: exact, instances: 2, report: '20ms' }),
    })
    const decisions = await Promise.all(Array.from({ length: 40 }, () => limiter.consume('k')))
    expect(decisions.every(({ allowed }) => allowed)).toBe(true)
    await sleep(100)
    expect((await limiter.peek('k')).policies[0]?.used).toBe(40)
  },
)

const redis = () => redisStore({ client })

test.each([
  [() => ({ store: memoryStore(), instances: 2 }), /store must be a store of redisStore/],
  [() => ({ instances: 2 }), /store must be a store of redisStore/],
  [() => ({ store: shareStore({ store: redis(), instances: 2 }), instances: 2 }), /must be a store of redisStore/],
  [() => ({ store: redis() }), /instances/],
  [() => ({ store: redis(), instances: 0 }), /instances/],
  [() => ({ store: redis(), instances: 2, report: 0 }), /report/],
  [() => ({ store: redis(), instances: 2, report: '2h' }), /report must be from 1 ms to 1h in whole milliseconds/],
  [() => ({ store: redis(), instances: 2, mode: 'shares' }), /mode/],
])('%s is an error', (options, message) => {
  expect(() => shareStore(options() as never)).toThrow(
    expect.objectContaining({
      code: expect.stringMatching('HEADGATE_OPTION'),
      message: expect.stringMatching(message),
    }),
  )
})

test('close reports the units that are not reported yet, and never again', async () => {
  const own = { client, prefix: 'last-report', timeout: '5s' } as const
  const policies = '1000/1h fixed-window'
  const limiter = new RateLimiter({
    name: 'api',
    policies,
    store: shareStore({ store: redisStore(own), instances: 1, report: '1h' }),
  })
  for (let n = 0; n < 5; n++) await limiter.consume('ann')
  limiter.close()
  const exact = new RateLimiter({ name: 'api', policies, store: redisStore(own) })
  await expect.poll(async () => (await exact.peek('ann')).policies[0]?.used).toBe(5)
})
