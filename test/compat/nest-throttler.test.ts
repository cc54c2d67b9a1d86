/* The storage alone. Beside the package, in an application of NestJS, it is tested in test/frameworks/nest. */
import Database from 'libsql'
import { expect, test, vi } from 'vitest'
import { HeadgateThrottlerStorage } from '../../adapters/compat/nest-throttler.ts'
import { memoryStore, RateLimiter, type Store, wallClock } from '../../src/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

test('limits that differ by request share the hits of a key', async () => {
  const storage = new HeadgateThrottlerStorage()
  const banned: boolean[] = []
  const totals: number[] = []
  for (const limit of [2, 2, 4, 2, 4, 4]) {
    const { isBlocked, totalHits } = await storage.increment('ann', 60_000, limit, 0, 'default')
    banned.push(isBlocked)
    totals.push(totalHits)
  }
  expect(banned).toEqual([false, false, false, true, false, true])
  expect(totals).toEqual([1, 2, 3, 3, 4, 5])
})

test('after a ban that is shorter than the window, the count starts anew, in one call each', async () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1), toFake: ['Date'] })
  const memory = memoryStore({ clock: wallClock })
  let calls = 0
  const ledgers: Store['open'] = (terms, joins) => {
    const ledger = memory.open(terms, joins)
    const run: typeof ledger.run = (command) => {
      calls++
      return ledger.run(command)
    }
    return Object.assign(Object.create(ledger), { run })
  }
  const storage = new HeadgateThrottlerStorage({ store: Object.assign(Object.create(memory), { open: ledgers }) })
  const hit = () => storage.increment('ann', 10_000, 2, 3000, 'default')
  for (const totalHits of [1, 2]) expect(await hit()).toMatchObject({ totalHits, isBlocked: false })
  const banned = { totalHits: 3, timeToExpire: 3, isBlocked: true, timeToBlockExpire: 3 }
  expect([await hit(), await hit()]).toEqual([banned, banned])
  vi.setSystemTime(Date.now() + 3000)
  expect(await hit()).toMatchObject({ totalHits: 1, isBlocked: false })
  expect(calls).toBe(5)
  vi.useRealTimers()
})

test('throttlers count apart; windows and bans that differ by request share the hits of a key', async () => {
  const storage = new HeadgateThrottlerStorage()
  const hit = async (ttl: number, ban: number, name: string) => {
    const { isBlocked, totalHits } = await storage.increment('ann', ttl, 3, ban, name)
    return isBlocked ? 'banned' : totalHits
  }
  const hits: [number, number, string][] = [
    [60_000, 0, 'a'],
    [60_000, 0, 'b'],
    [59_000, 0, 'a'],
    [58_000, 9, 'a'],
    [57_000, 0, 'a'],
    [57_000, 0, 'b'],
  ]
  const seen: (string | number)[] = []
  for (const each of hits) seen.push(await hit(...each))
  expect(seen).toEqual([1, 1, 2, 3, 'banned', 2])
})

test('numbers may be texts, fractions, and beyond any range', async () => {
  const storage = new HeadgateThrottlerStorage()
  const hits = async (ttl: unknown, limit: unknown, ban: unknown, name: string) => {
    const hit = () => storage.increment('ann', ttl as number, limit as number, ban as number, name)
    return [(await hit()).isBlocked, (await hit()).isBlocked, (await hit()).isBlocked]
  }
  expect(await hits('60000', '2', '1000', 'texts')).toEqual([false, false, true])
  expect(await hits(60_000.5, 2.5, 0.5, 'fractions')).toEqual([false, false, true])
  expect(await hits(Infinity, 1, Infinity, 'without end')).toEqual([false, true, true])
  expect(await hits(60_000, Infinity, undefined, 'no limit')).toEqual([false, false, false])
  expect(await hits(60_000, -1, -1, 'nobody')).toEqual([true, true, true])
  expect(await hits(60_000, 1, 0, '')).toEqual([false, true, true])
  expect(await hits(60_000, 1, 0, 'é'.repeat(90))).toEqual([false, true, true])
})

test.each<[unknown, unknown, RegExp]>([
  [Number.NaN, 1, /^ThrottlerModule: ttl must be a number, got NaN\.$/],
  ['1m', 1, /^ThrottlerModule: ttl must be a number, got "1m"\.$/],
  [1000, undefined, /^ThrottlerModule: limit must be a number, got undefined\.$/],
  [1000, Number.NaN, /^ThrottlerModule: limit must be a number, got NaN\.$/],
])('an error names the option that is no number: ttl %s, limit %s', async (ttl, limit, message) => {
  const hit = new HeadgateThrottlerStorage().increment('ann', ttl as number, limit as number, 0, 'default')
  await expect(hit).rejects.toThrow(message)
})

test('a window until a fixed time ends then, however many requests come before', async () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1), toFake: ['Date'] })
  const storage = new HeadgateThrottlerStorage()
  const midnight = Date.UTC(2026, 0, 2)
  const hit = async () => (await storage.increment('ann', midnight - Date.now(), 2, 0, 'default')).isBlocked
  const seen: boolean[] = []
  for (let hour = 0; hour < 20; hour++) {
    vi.setSystemTime(Date.UTC(2026, 0, 1, hour))
    seen.push(await hit())
  }
  expect(seen).toEqual(seen.map((_, hour) => hour >= 2))
  vi.setSystemTime(midnight)
  expect(await storage.increment('ann', 86_400_000, 2, 0, 'default')).toMatchObject({ isBlocked: false, totalHits: 1 })
  vi.useRealTimers()
})

test.each([0, 5000])(
  'a ban and an override by an operator tell when they end, beside blockDuration %i',
  async (block) => {
    const database = new Database(':memory:')
    const clock = new ManualClock()
    const store = () => sqliteStore({ database, clock: clock.now })
    const storage = new HeadgateThrottlerStorage({ store: store() })
    const operator = new RateLimiter({ name: 'default', policies: '1/1m', store: store() })
    const hit = (key: string) => storage.increment(key, 60_000, 3, block, 'default')
    for (const key of ['ann', 'bob']) await hit(key)
    await operator.ban('ann', '1h')
    expect(await hit('ann')).toMatchObject({ isBlocked: true, timeToBlockExpire: 3600 })
    await operator.override('bob', { policies: ['1/1m sliding-log', '2/1h sliding-log'] })
    await expect.poll(() => hit('bob'), { timeout: 3000, interval: 300 }).toMatchObject({ isBlocked: true })
    expect((await hit('bob')).timeToBlockExpire).toBe(block === 0 ? 60 : 5)
  },
)
