/*
 * The wait of a refused call under an override that ends: refused 1 ms before, admitted at that time, whatever the overrides that apply
 * until then and after.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { quota } from '../../src/calendar/index.ts'
import {
  fixedWindow,
  memoryStore,
  type OverrideOptions,
  type Policy,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
  wallClock,
} from '../../src/index.ts'
import fc from '../support/fast-check.ts'

const start = Date.UTC(2026, 10, 24, 12)
const store = () => memoryStore({ clock: wallClock })

beforeEach(() => void vi.useFakeTimers({ now: start, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

test('a month that a scale has spent is open again when the scale ends', async () => {
  const limiter = new RateLimiter({ policies: ['10/10s sliding-log', quota('1000/month')], store: store() })
  await limiter.consume('ann', { cost: { '10s': 1, month: 700 } })
  await limiter.override('*', { scale: 0.1, until: '30m' })
  vi.setSystemTime(start + 60_000)
  const refused = { allowed: false, policy: 'month', retryAfter: 29 * 60_000 }
  expect(await limiter.consume('ann')).toMatchObject(refused)
  expect((await limiter.consume('ann')).policies[1]).toMatchObject({ name: 'month', retryAfter: 29 * 60_000 })
  expect((await limiter.reserve('ann')).decision).toMatchObject(refused)
  expect(await limiter.peek('ann', { cost: { '10s': 1, month: 300 } })).toMatchObject(refused)
  expect(await limiter.peek('ann', { cost: 300 })).toMatchObject({ policy: '10s', retryAfter: Infinity })
  expect(await limiter.inspect('ann')).toMatchObject({
    retryAfter: 29 * 60_000,
    words: 'Refused for 29 m more by the policy "month".',
  })
  // More than is left in the month: the window ends after the override.
  const nextMonth = Date.UTC(2026, 11, 1) - Date.now()
  expect(await limiter.peek('ann', { cost: { '10s': 1, month: 301 } })).toMatchObject({ retryAfter: nextMonth })
  vi.setSystemTime(start + 30 * 60_000)
  expect((await limiter.consume('ann')).allowed).toBe(true)
})

test('a call that is refused just before the override ends has a wait', async () => {
  // The store decides in the last millisecond of the override.
  const clock = () => {
    const now = wallClock()
    if (now === (start + 59_999) * 1000) vi.setSystemTime(start + 60_000)
    return now
  }
  const limiter = new RateLimiter({ policies: '100/1h', store: memoryStore({ clock }) })
  await limiter.override('ann', { limit: 1, until: '1m' })
  await limiter.consume('ann')
  vi.setSystemTime(start + 59_999)
  expect(await limiter.consume('ann')).toMatchObject({ allowed: false, retryAfter: 1 })
  expect(await limiter.consume('ann')).toMatchObject({ allowed: true, retryAfter: 0 })
})

test('a cost that fits only after the override, and one that fits only a list later', async () => {
  const policies = [
    fixedWindow({ name: 'own', limit: 10, window: '1h' }),
    fixedWindow({ name: 'pool', limit: 10, window: '1h' }),
  ]
  const limiter = new RateLimiter({ policies, store: store() })
  await limiter.override('ann', { policy: 'own', limit: 2, until: '5m' })
  await limiter.override('ann', { policy: 'pool', limit: 1, until: '7m' })
  expect(await limiter.consume('ann', { cost: 4 })).toMatchObject({ allowed: false, retryAfter: 7 * 60_000 })
  const cost = [
    { own: 3, pool: 0 },
    { own: 0, pool: 3 },
  ]
  expect(await limiter.consume('ann', { cost })).toMatchObject({
    retryAfter: 5 * 60_000,
    tried: [{ retryAfter: 5 * 60_000 }, { retryAfter: 5 * 60_000 }],
  })
})

const kinds = [fixedWindow, slidingWindow, slidingLog, segmentedWindow, tokenBucket]
const numbers = fc.oneof(
  fc.record({ limit: fc.integer({ min: 1, max: 20 }) }),
  fc.constant({ limit: 10 }), // the own number of the policy
  fc.record({ add: fc.integer({ min: 1, max: 10 }) }),
  fc.record({ scale: fc.constantFrom(0.1, 0.25, 0.5, 1, 2) }),
  fc.record({ policies: fc.constantFrom('2/3s sliding-log', '7/2s fixed-window') }),
)
const override = fc.record({
  target: fc.constantFrom('ann', { prefix: 'an' }, '*'),
  numbers,
  until: fc.integer({ min: 1, max: 9000 }),
})
const call = fc.record({ cost: fc.integer({ min: 1, max: 6 }), wait: fc.integer({ min: 0, max: 2000 }) })

test('refused 1 ms before, admitted at the told time, under any overrides', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 2 }),
      fc.array(override, { minLength: 1, maxLength: 4 }),
      fc.array(call, { minLength: 1, maxLength: 12 }),
      fc.boolean(),
      async (makers, overrides, calls, named) => {
        vi.setSystemTime(start)
        const policies = makers.map(
          (make, n): Policy => make({ name: `p${n}`, limit: 10, window: n === 0 ? '4s' : '20s' }),
        )
        const limiter = new RateLimiter({ policies, store: store() })
        for (const { target, numbers, until } of overrides) {
          const policy = 'limit' in numbers || 'add' in numbers ? { policy: 'p0' } : {}
          await limiter.override(target, { ...numbers, ...policy, until: start + until }).catch(({ code }) => {
            expect(code).toBe('HEADGATE_OVERRIDE') // two numbers for the same keys
          })
        }
        for (const { cost, wait } of calls) {
          vi.setSystemTime(Date.now() + wait)
          const options = { cost: named ? Object.fromEntries(policies.map(({ name }) => [name, cost])) : cost }
          const { allowed, retryAfter } = await limiter.consume('ann', options)
          if (allowed) continue
          const told = Date.now() + retryAfter
          const inspected = cost === 1 ? (await limiter.inspect('ann')).retryAfter : retryAfter
          expect(inspected).toBe(retryAfter)
          if (retryAfter === Infinity) {
            vi.setSystemTime(start + 10_000)
            expect((await limiter.peek('ann', options)).retryAfter).toBe(Infinity)
            return
          }
          vi.setSystemTime(told - 1)
          expect((await limiter.peek('ann', options)).retryAfter).toBe(1)
          vi.setSystemTime(told)
          expect((await limiter.peek('ann', options)).allowed).toBe(true)
        }
      },
    ),
    { numRuns: 300 },
  )
})

test.each<[string, OverrideOptions]>([
  ['the same limit', { limit: 3 }],
  ['the same policy', { policies: '3/30d fixed-window' }],
])('an override with %s shields a key until its end, and is named', async (_what, options) => {
  const limiter = new RateLimiter({ policies: '3/30d fixed-window', store: store() })
  await limiter.override('*', { limit: 25 })
  await limiter.override({ prefix: 'an' }, { limit: 3, until: '4s', reason: 'prefix' })
  await limiter.override('ann', { ...options, until: '2s', reason: 'kept low' })
  await limiter.consume('ann', { cost: 3 })
  const refused = { allowed: false, limit: 3, retryAfter: 4000 }
  expect(await limiter.consume('ann')).toMatchObject({ ...refused, override: [{ reason: 'kept low' }] })
  vi.setSystemTime(start + 2000)
  expect(await limiter.consume('ann')).toMatchObject({ ...refused, retryAfter: 2000, override: [{ reason: 'prefix' }] })
  vi.setSystemTime(start + 4000)
  expect(await limiter.consume('ann', { cost: 22 })).toMatchObject({ allowed: true, limit: 25, remaining: 0 })
})

test('a scale of 1 leaves the limits, and is named', async () => {
  const limiter = new RateLimiter({ policies: '3/1h', store: store() })
  const { id } = await limiter.override('ann', { scale: 1 })
  expect(await limiter.consume('ann')).toMatchObject({ limit: 3, remaining: 2, override: [{ id }] })
})

type Row = readonly [target: Parameters<RateLimiter['override']>[0], numbers: OverrideOptions, seconds?: number]

/** Overrides of which the last end gives the key `ann` at least 5 units: until then, the key has the policy's own limit of 3, or less. */
const shields: readonly { what: string; overrides: readonly Row[]; seconds: number; ids: readonly string[] }[] = [
  {
    what: 'a scale of 1, because the smallest scale applies',
    overrides: [
      ['*', { scale: 10 }],
      ['ann', { scale: 1 }, 2],
    ],
    seconds: 2,
    ids: ['2'],
  },
  {
    what: 'a scale that is rounded up to the own limit',
    overrides: [
      ['*', { scale: 10 }],
      ['ann', { scale: 0.9 }, 2],
    ],
    seconds: 2,
    ids: ['2'],
  },
  {
    what: 'the own limit, after a less specific own limit has ended',
    overrides: [
      ['*', { limit: 25 }],
      [{ prefix: 'an' }, { limit: 3 }, 2],
      ['ann', { limit: 3 }, 5],
    ],
    seconds: 5,
    ids: ['3'],
  },
  {
    what: 'the own limit, after a scale has ended',
    overrides: [
      ['*', { limit: 25 }],
      ['ann', { limit: 3 }, 5],
      ['*', { scale: 0.5 }, 2],
    ],
    seconds: 5,
    ids: ['2', '3'],
  },
]

test.each(shields)('every verb knows the end of $what', async ({ overrides, seconds, ids }) => {
  const limiter = new RateLimiter({ policies: '3/30d fixed-window', store: store() })
  await limiter.consume('ann', { cost: 3 })
  for (const [target, numbers, end] of overrides) {
    const until = end === undefined ? {} : { until: start + end * 1000 }
    expect(await limiter.override(target, { ...numbers, ...until })).toMatchObject({ effective: true })
  }
  const told = { retryAfter: seconds * 1000, override: ids.map((id) => ({ id })) }
  for (const cost of [1, 5]) {
    expect(await limiter.consume('ann', { cost })).toMatchObject({ allowed: false, ...told })
    expect(await limiter.peek('ann', { cost })).toMatchObject({ allowed: false, ...told })
    expect((await limiter.reserve('ann', { cost })).decision).toMatchObject({ allowed: false, ...told })
  }
  expect(await limiter.inspect('ann')).toMatchObject(told)
  vi.setSystemTime(start + seconds * 1000)
  expect((await limiter.consume('ann', { cost: 5 })).allowed).toBe(true)
})
