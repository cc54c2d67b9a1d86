import { expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import { fixedWindow, lruStore, memoryStore, RateLimiter, type ReserveOptions, tokenBucket } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { describeExpiring } from '../support/expiring.ts'
import { MapDatabase } from '../support/map-store.ts'
import { sqliteDatabase } from '../support/sqlite.ts'

const sqlite = sqliteDatabase()
let tables = 0

describeExpiring('memory', (clock) => memoryStore({ clock: clock.now }))
describeExpiring('lru', (clock) => lruStore({ clock: clock.now }))
describeExpiring('records', (clock) => new MapDatabase().store({ clock: clock.now }))
describeExpiring('SQLite', (clock) => sqlite.create(clock.now, `e${++tables}`) as never)

test.each<[string, object, RegExp]>([
  ['give-back without expires', { onExpiry: 'give-back' }, /needs expires/],
  ['another onExpiry', { expires: '1m', onExpiry: 'refund' }, /onExpiry.*'keep' or 'give-back'/],
  ['an expiry of 0', { expires: 0 }, /expires/],
  ['an expiry that is no duration', { expires: 'soon', onExpiry: 'give-back' }, /expires/],
])('reserve refuses %s with HEADGATE_OPTION', async (_, options, message) => {
  const limiter = new RateLimiter({ policies: calendarWindow({ limit: 10, every: 'month' }) })
  const error = expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringMatching(message) })
  await expect(limiter.reserve('ann', options as ReserveOptions)).rejects.toThrow(error)
  expect((await limiter.peek('ann')).remaining).toBe(10)
})

test('a limiter whose policies keep all units refuses give-back; the plan without limits admits it', async () => {
  const options = { expires: '1m', onExpiry: 'give-back' } as const
  const kept = [tokenBucket({ limit: 10, window: '1m', name: 'bucket' }), fixedWindow({ limit: 10, window: '1m' })]
  const limiter = new RateLimiter({ policies: kept })
  const error = expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringMatching(/giveBack: true/) })
  await expect(limiter.reserve('ann', options)).rejects.toThrow(error)
  expect((await limiter.withPlan('unlimited').reserve('ann', options)).allowed).toBe(true)
})

test('a fixed window with giveBack starts on the clock, and is not shorter than a second', () => {
  for (const options of [{ window: '1m', align: 'first-request' as const }, { window: '999ms' }]) {
    expect(() => fixedWindow({ limit: 1, giveBack: true, ...options })).toThrow(
      /giveBack needs a window of at least 1 s/,
    )
  }
  expect(() => fixedWindow({ limit: 1, window: '1m', giveBack: 1 as never })).toThrow(/giveBack/)
  expect(fixedWindow({ limit: 1, window: '1m', giveBack: false }).algorithm.kind).toBe('intervalBucket')
})

test('a full memory store gives back what it has not merged, and never more than was reserved', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 23, 12))
  const store = memoryStore({ clock: clock.now, maxKeys: 8 })
  const limiter = new RateLimiter({ policies: calendarWindow({ limit: 10, every: 'month' }), store })
  const keys = Array.from({ length: 60 }, (_, n) => `k${n}`)
  for (const key of keys) {
    await limiter.consume(key, { cost: 3 })
    await limiter.reserve(key, { cost: 4, expires: '10m', onExpiry: 'give-back' })
  }
  const used = async (key: string) => (await limiter.peek(key)).policies[0]?.used as number
  for (const key of keys) expect(await used(key)).toBeGreaterThanOrEqual(7)
  clock.advance(10 * 60_000)
  const after = await Promise.all(keys.map(used))
  expect(Math.min(...after)).toBe(3)
  expect(after.filter((each) => each === 3).length).toBeGreaterThanOrEqual(8)
})
