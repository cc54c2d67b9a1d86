import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/fetch.ts'
import { thresholdsOf } from '../../src/algorithms/index.ts'
import { calendarWindow, quota } from '../../src/calendar/index.ts'
import { fixedWindow, lruStore, memoryStore, RateLimiter, type ThresholdEvent } from '../../src/index.ts'
import { compareAndSetStore } from '../../src/stores/compare-and-set.ts'
import type { Store } from '../../src/stores/contract/index.ts'
import { ShareStore } from '../../src/stores/shares/share-store.ts'
import { faultyStore, ManualClock } from '../../src/testing/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { MapDatabase } from '../support/map-store.ts'
import { sqliteClient, sqliteDatabase } from '../support/sqlite.ts'
import { describeThresholds, limiterOf, type MakeStore } from '../support/thresholds.ts'

const memory = (clock: ManualClock) => memoryStore({ clock: clock.now })

const stores: readonly (readonly [name: string, make: MakeStore])[] = [
  ['memory', memory],
  ['lru', (clock) => lruStore({ clock: clock.now })],
  ['records', (clock) => recordStore(clock)],
]

/** A compare-and-set store over a map, whose clock is `clock`. */
function recordStore(clock: ManualClock): Store {
  const texts = new Map<string, string>()
  return compareAndSetStore({
    clock: clock.now,
    read: (key) => {
      const text = texts.get(key)
      return text === undefined ? undefined : { text, version: text }
    },
    swap: (key, text, version) => {
      if (texts.get(key) !== version) return false
      texts.set(key, text)
      return true
    },
  })
}

for (const [name, make] of stores) describeThresholds(name, make, 150)
let prefixes = 0
for (const { name, create } of [sqliteDatabase(), sqliteClient()]) {
  describeThresholds(name, ({ now }) => create(now, `told-${prefixes++}`), 20)
}

const month = calendarWindow({ limit: 10, every: 'month', thresholds: [1, 0.8] })

test('the channel gets the event that the hook gets', async () => {
  const seen: unknown[] = []
  const listener = (event: unknown) => void seen.push(event)
  const { limiter, told } = limiterOf(quota('10/month', { thresholds: [0.5] }), memory)
  subscribe('headgate:threshold', listener)
  try {
    await limiter.consume('ann', { cost: 6 })
  } finally {
    unsubscribe('headgate:threshold', listener)
  }
  expect(told()).toEqual(['ann 0.5@6'])
  const resetAt = Date.UTC(2026, 11, 1)
  const used = { threshold: 0.5, used: 6, limit: 10, resetAt }
  expect(seen).toEqual([{ limiter: limiter.name, policy: 'month', key: 'ann', scope: 'default', ...used }])
})

test('the verdict of the call has the thresholds, and no other verdict has', async () => {
  const { limiter } = limiterOf(month, memory)
  const reached = async (cost: number) => (await limiter.consume('ann', { cost })).policies.map((each) => each.reached)
  expect([await reached(9), await reached(1), await reached(1)]).toEqual([[[0.8]], [[1]], [undefined]])
})

test('a hook that throws or rejects changes no decision', async () => {
  for (const onThreshold of [() => Promise.reject(new Error('down')), () => void JSON.parse('{')]) {
    const limiter = new RateLimiter({ policies: quota('2/month', { thresholds: [0.5] }), onThreshold })
    expect((await limiter.consume('ann')).allowed).toBe(true)
  }
})

test('a memory store that is full forgets no threshold that was told', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 23))
  const told: string[] = []
  const limiter = new RateLimiter({
    policies: calendarWindow({ limit: 10, every: 'month', thresholds: [0.5] }),
    store: memoryStore({ clock: clock.now, maxKeys: 2 }),
    onThreshold: ({ key }) => void told.push(key),
  })
  for (let n = 0; n < 300; n++) {
    const key = `k${n % 30}`
    await limiter.consume(key, { cost: 5 })
    await limiter.refund(key, { cost: 5 })
  }
  expect(told.length).toBe(new Set(told).size)
})

test('while the store fails, the process tells nothing; the charge tells when the store counts again', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 23))
  const faulty = faultyStore(memoryStore({ clock: clock.now }))
  const told: string[] = []
  const limiter = new RateLimiter({
    name: 'api',
    policies: calendarWindow({ limit: 10, every: 'month', thresholds: [0.5, 1] }),
    store: faulty,
    onThreshold: ({ key, threshold, used }) => void told.push(`${key} ${threshold}@${used}`),
  })
  await limiter.consume('ann', { cost: 4 })
  faulty.fail('error')
  const decision = await limiter.consume('ann', { cost: 6 })
  expect([decision.source, decision.policies[0]?.reached, told]).toEqual(['fallback', undefined, []])
  faulty.heal()
  await limiter.consume('ann')
  expect(told).toEqual(['ann 0.5@10', 'ann 1@10'])
})

test.each<[string, unknown]>([
  ['no list', 0.8],
  ['an empty list', []],
  ['a part of 0', [0]],
  ['a part above 1', [1.1]],
  ['a part with too many decimals', [1 / 3]],
  ['a part twice', [0.5, 0.5]],
  ['a text', ['0.8']],
  ['too many', Array.from({ length: 21 }, (_, n) => (n + 1) / 100)],
])('thresholds refuses %s with HEADGATE_OPTION', (_name, thresholds) => {
  const given = { limit: 10, thresholds: thresholds as number[] }
  const error = expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringContaining('thresholds') })
  expect(() => calendarWindow({ ...given, every: 'month' })).toThrow(error)
  expect(() => fixedWindow({ ...given, window: '1m' })).toThrow(error)
})

test('a fixed window with thresholds starts on the clock, and is not shorter than a second', () => {
  const given = { limit: 10, thresholds: [1] }
  for (const options of [{ window: '1m', align: 'first-request' as const }, { window: '999ms' }]) {
    expect(() => fixedWindow({ ...given, ...options })).toThrow(
      expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringMatching(/window of at least 1 s/) }),
    )
  }
  expect(fixedWindow({ limit: 10, window: '1m' }).algorithm.kind).toBe('intervalBucket')
})

test('the units of a threshold are exact for every limit', () => {
  const part = (limit: number, each: number) => {
    const [threshold] = thresholdsOf(calendarWindow({ limit, every: 'day', thresholds: [each] }))
    return threshold?.units
  }
  expect(part(100, 0.07)).toBe(7)
  expect(part(3, 0.333334)).toBe(2)
  expect(part(2 ** 52, 1)).toBe(2 ** 52)
  expect(part(2 ** 52 - 1, 0.000_001)).toBe(4_503_599_628)
  expect(thresholdsOf(calendarWindow({ limit: 0, every: 'day', thresholds: [1] }))).toEqual([])
})

test('a share tells when its report is counted, once over the fleet', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 23))
  const exact = asyncStore(memoryStore({ clock: clock.now }))
  const told: string[] = []
  const processOf = (name: string) => {
    const store = new ShareStore(exact, 100, 2, clock.now, clock.sleeper)
    const policies = calendarWindow({ limit: 20, every: 'month', thresholds: [0.5, 1] })
    const onThreshold = ({ threshold, used }: ThresholdEvent) => void told.push(`${name} ${threshold}@${used}`)
    return new RateLimiter({ name: 'api', policies, store, storeTimeout: Infinity, onThreshold })
  }
  const [a, b] = [processOf('a'), processOf('b')]
  for (const limiter of [a, b]) await limiter.consume('ann', { cost: 5 })
  expect(told).toEqual([])
  await clock.pass('100ms')
  expect(told).toEqual(['b 0.5@10'])
  for (const limiter of [a, b]) for (let n = 0; n < 5; n++) await limiter.consume('ann')
  await clock.pass('100ms')
  expect(told).toEqual(['b 0.5@10', expect.stringMatching(/^[ab] 1@20$/)])
})

test('a call whose answer comes after its timeout tells too, because the store has counted it', async () => {
  let text: string | undefined
  let release = () => {}
  const told: number[] = []
  const limiter = new RateLimiter({
    name: 'api',
    policies: calendarWindow({ limit: 10, every: 'month', thresholds: [0.5] }),
    store: compareAndSetStore({
      timeout: '10ms',
      read: () => (text === undefined ? undefined : { text, version: text }),
      swap: async (_key, next) => {
        await new Promise<void>((resolve) => {
          release = resolve
        })
        text = next
        return true
      },
    }),
    onStoreError: 'throw',
    onThreshold: ({ threshold }) => void told.push(threshold),
  })
  await expect(limiter.consume('ann', { cost: 5 })).rejects.toMatchObject({ code: 'HEADGATE_STORE_TIMEOUT' })
  expect(told).toEqual([])
  release()
  await vi.waitFor(() => expect(told).toEqual([0.5]))
})

test('two processes that write two keys at the same time: what was told before a write is undone is told once', async () => {
  const database = new MapDatabase()
  const clock = new ManualClock(Date.UTC(2026, 10, 23))
  const told: string[] = []
  const policies = ['a', 'b'].map((scope) => {
    return calendarWindow({ name: scope, scope, limit: 10, every: 'month', thresholds: [0.5] })
  })
  const processOf = (name: string) =>
    new RateLimiter({
      name: 'api',
      policies,
      store: database.store({ clock: clock.now }),
      onStoreError: 'throw',
      onThreshold: ({ scope, used }) => void told.push(`${name} ${scope}@${used}`),
    })
  const [slow, fast] = [processOf('slow'), processOf('fast')]
  database.before = async (key) => {
    if (!key.includes(':b:')) return
    database.before = () => undefined
    await fast.consume({ a: 'x', b: 'y' }) // after the slow process has written the key of a, and before that of b
  }
  await slow.consume({ a: 'x', b: 'y' }, { cost: 5 })
  expect(told.toSorted()).toEqual(['slow a@5', 'slow b@6'])
  expect((await slow.usage({ a: 'x', b: 'y' })).policies).toMatchObject([{ used: 6 }, { used: 6 }])
})

test('a middleware passes the hook to its limiter, also with policies of the request', async () => {
  const plan = calendarWindow({ limit: 2, every: 'month', thresholds: [0.5] })
  for (const policies of [plan, () => plan]) {
    const told: string[] = []
    const onThreshold = ({ key }: ThresholdEvent) => void told.push(key)
    const limit = rateLimit({ policies, keys: () => 'ann', onThreshold })
    for (let n = 0; n < 3; n++) await limit(new Request('http://a/'))
    expect(told).toEqual(['ann'])
  }
})

test('onThreshold must be a function', () => {
  const options = { policies: '1/1s', onThreshold: 'log' as never }
  expect(() => new RateLimiter(options)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
})
