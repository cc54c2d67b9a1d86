import { MemoryStore } from 'express-rate-limit'
import { describe, expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import {
  counter,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  type Store,
  slidingWindow,
} from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { type HitStoreOptions, hitStore } from '../../src/store.ts'
import { ManualClock } from '../../src/testing/index.ts'
import fc from '../support/fast-check.ts'

/** Hits in windows that open with the first one, in a Map. */
function counters(clock: ManualClock): Required<HitStoreOptions> {
  const all = new Map<string, { used: number; end: number }>()
  const live = (key: string) => {
    const entry = all.get(key)
    return entry !== undefined && entry.end > clock.now() ? entry : undefined
  }
  const hits = ({ used, end }: { used: number; end: number }) => ({ used, resetAfter: (end - clock.now()) / 1000 })
  return {
    hit(key, cost, { window }) {
      const entry = live(key) ?? { used: 0, end: clock.now() + window * 1000 }
      entry.used += cost
      all.set(key, entry)
      return hits(entry)
    },
    unhit(key, cost) {
      const entry = live(key)
      if (entry === undefined) return
      entry.used -= cost
      if (entry.used === 0) all.delete(key)
    },
    read(key) {
      const entry = live(key)
      return entry && hits(entry)
    },
    forget: (key) => all.delete(key),
    forgetAll: () => all.clear(),
    synchronous: true,
  }
}

const first = (countRefused = false) => fixedWindow({ limit: 3, window: '1s', align: 'first-request', countRefused })

describe('a hit store', () => {
  const operation = fc.record({
    verb: fc.constantFrom('consume', 'consume', 'consume', 'peek', 'refund', 'charge', 'reset', 'reserve', 'clear'),
    key: fc.constantFrom('ann', 'bob'),
    cost: fc.constantFrom(1, 1, 1, 2, 4),
    actual: fc.constantFrom(0, 1, 5),
    later: fc.constantFrom(0, 0, 300, 999, 1000),
  })

  test.each([
    ['a window', first, false],
    ['a counter', () => counter({ window: '1s' }), true],
  ])('decides as the memory store does, by %s', async (_, policy: () => Policy, debts) => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (script) => {
        const clock = new ManualClock()
        const stores: Store[] = [memoryStore({ clock: clock.now }), hitStore(counters(clock))]
        const limiters = stores.map((store) => new RateLimiter({ policies: policy(), store }))
        for (const { verb, key, cost, actual, later } of script) {
          if (verb === 'charge' && !debts) continue // debt ends with the window here
          clock.advance(later)
          const answers = await Promise.all(
            limiters.map(async (limiter) => {
              if (verb === 'clear') return limiter.clear()
              if (verb === 'reset') return limiter.reset(key)
              if (verb !== 'reserve') return limiter[verb](key, { cost })
              const reservation = await limiter.reserve(key, { cost })
              await reservation.settle(debts ? actual : Math.min(actual, cost))
              return [reservation.decision, await limiter.peek(key)]
            }),
          )
          expect(answers[1]).toEqual(answers[0])
        }
      }),
    )
  })

  test('counts refused calls if the policy does, and needs no unhit then', async () => {
    const { hit } = counters(new ManualClock())
    const limiter = new RateLimiter({ policies: first(true), store: hitStore({ hit, synchronous: true }) })
    const used = [1, 2, 3, 4, 5].map(() => limiter.consumeSync('ann'))
    expect(used.map(({ allowed, policies }) => [allowed, policies[0]?.used])).toEqual([
      [true, 1],
      [true, 2],
      [true, 3],
      [false, 4],
      [false, 5],
    ])
  })

  test('gives no hits back to the next window', async () => {
    const given: number[] = []
    let [used, resetAfter] = [0, 1000]
    const store = hitStore({
      async hit(_key, cost) {
        used += cost
        return { used, resetAfter }
      },
      async unhit(_key, cost) {
        used -= cost
        given.push(cost)
      },
      read: async () => ({ used, resetAfter }),
    })
    const limiter = new RateLimiter({ policies: first(), store })
    const [early, late, later] = await Promise.all([1, 1, 1].map(() => limiter.reserve('ann')))
    expect((await limiter.consume('ann')).allowed).toBe(false)
    expect(given).toEqual([1])
    await early?.settle(0)
    expect([given, used]).toEqual([[1, 1], 2])
    resetAfter = 499 // a call of unhit could arrive after the end of the window
    await late?.settle(0)
    for (let n = 0; n < 2; n++) await limiter.consume('ann')
    expect((await limiter.consume('ann')).allowed).toBe(false)
    expect([given, used]).toEqual([[1, 1], 5])
    ;[used, resetAfter] = [2, 1600] // this end is more than half a window after the end of the first window
    await later?.settle(0)
    expect([given, used]).toEqual([[1, 1], 2])
  })

  test('is the store of another rate limiter', async ({ onTestFinished }) => {
    vi.useFakeTimers({ now: 0 })
    onTestFinished(() => void vi.useRealTimers())
    const theirs = new MemoryStore()
    theirs.init({ windowMs: 1000 } as never)
    const hits = ({ totalHits, resetTime }: { totalHits: number; resetTime?: Date | undefined }) => {
      return { used: totalHits, resetAfter: resetTime === undefined ? undefined : resetTime.getTime() - Date.now() }
    }
    const store = hitStore({
      hit: async (key) => hits(await theirs.increment(key)),
      unhit: (key) => theirs.decrement(key),
      read: async (key) => {
        const entry = await theirs.get(key)
        return entry && hits(entry)
      },
      forget: (key) => theirs.resetKey(key),
      forgetAll: () => theirs.resetAll(),
    })
    const limiter = new RateLimiter({ policies: first(), store })
    const calls = [await limiter.consume('ann'), await limiter.consume('ann'), await limiter.consume('ann')]
    vi.setSystemTime(400)
    const refused = await limiter.consume('ann')
    expect(calls.map(({ remaining }) => remaining)).toEqual([2, 1, 0])
    expect([refused.allowed, refused.retryAfter, refused.source]).toEqual([false, 600, 'store'])
    expect((await theirs.get('ann'))?.totalHits).toBe(3)
    await limiter.clear()
    expect((await limiter.consume('ann')).remaining).toBe(2)
    theirs.shutdown()
  })

  test('serves one limiter, with one window from the first request', () => {
    const store = hitStore(counters(new ManualClock()))
    const limiter = (name: string, policies: Policy | Policy[]) => () => new RateLimiter({ name, policies, store })
    const refusal = expect.objectContaining({ code: 'HEADGATE_POLICY' })
    expect(limiter('a', slidingWindow({ limit: 1, window: '1s' }))).toThrow(refusal)
    expect(limiter('a2', fixedWindow({ limit: 1, window: '1s' }))).toThrow(refusal)
  })

  test('rejects a second limiter, whose keys would be the same', () => {
    const store = hitStore(counters(new ManualClock()))
    new RateLimiter({ name: 'a', policies: first(), store })
    expect(() => new RateLimiter({ name: 'b', policies: first(), store })).toThrow(
      expect.objectContaining({ code: 'HEADGATE_POLICY' }),
    )
  })

  test.each([undefined, null, 3, '3', {}, { used: NaN }, { used: '3' }, { used: null }, { used: 1, resetAfter: NaN }])(
    'has failed if a function returns %o',
    async (returned) => {
      const hit = () => returned as never
      const failed = { code: 'HEADGATE_STORE', message: expect.stringMatching(/hit returned .*Return numbers/) }
      const synchronous = new RateLimiter({ policies: first(true), store: hitStore({ hit, synchronous: true }) })
      expect(() => synchronous.consumeSync('ann')).toThrow(expect.objectContaining(failed))
      const store = () => hitStore({ hit: async () => hit() })
      const strict = new RateLimiter({ policies: first(true), store: store(), onStoreError: 'throw' })
      await expect(strict.consume('ann')).rejects.toMatchObject(failed)
      const local = new RateLimiter({ policies: first(true), store: store() })
      const calls = []
      for (let count = 0; count < 4; count++) calls.push(await local.consume('ann'))
      expect(calls.map(({ allowed, source }) => [allowed, source])).toEqual([
        ...Array.from({ length: 3 }, () => [true, 'fallback']),
        [false, 'fallback'],
      ])
      const reads = hitStore({ hit, read: () => (returned === undefined ? (NaN as never) : hit()), synchronous: true })
      const peeked = new RateLimiter({ policies: first(true), store: reads, onStoreError: 'throw' }).peek('ann')
      // A key without hits is null or undefined.
      if (returned === null) expect((await peeked).remaining).toBe(3)
      else await expect(peeked).rejects.toMatchObject({ code: 'HEADGATE_STORE' })
    },
  )

  test('says which function is missing', async () => {
    const { hit } = counters(new ManualClock())
    const limiter = new RateLimiter({ policies: first(true), store: hitStore({ hit, synchronous: true }) })
    const refusal = { code: 'HEADGATE_UNSUPPORTED' }
    await expect(limiter.peek('ann')).rejects.toMatchObject(refusal)
    await expect(limiter.reset('ann')).rejects.toMatchObject(refusal)
    await expect(limiter.refund('ann')).rejects.toMatchObject(refusal)
    await expect(limiter.clear()).rejects.toMatchObject(refusal)
    const strict = hitStore({ hit })
    expect(() => new RateLimiter({ policies: first(), store: strict })).toThrow(/no unhit.*countRefused/)
  })

  test.each([
    [{}, 'hit'],
    [{ hit: 1 }, 'hit'],
    [{ hit() {}, unhit() {} }, 'read'],
    [{ hit() {}, add() {} }, 'add'],
    [{ hit() {}, synchronous: 1 }, 'synchronous'],
  ])('rejects %j', (options, about) => {
    expect(() => hitStore(options as never)).toThrow(
      expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringContaining(about) }),
    )
  })
})

test('the functions get keys of at most 128 characters of ASCII, without blanks, and different keys stay different', async () => {
  const seen = new Set<string>()
  const hit = (key: string) => {
    seen.add(key)
    return { used: 1 }
  }
  const limiter = new RateLimiter({ policies: first(true), store: hitStore({ hit, synchronous: true }) })
  const long = 'a'.repeat(300)
  for (const key of ['ann', 'a b', 'a\u0000b', 'é', long, `${long}b`]) await limiter.consume(key)
  expect(seen.size).toBe(6)
  expect(seen).toContain('ann')
  for (const key of seen) expect(key).toMatch(/^[!-~]{1,128}$/)
})

test.each<[string, NonNullable<HitStoreOptions['unhit']>, boolean]>([
  [
    'throws',
    () => {
      throw new Error('no')
    },
    true,
  ],
  ['rejects', () => Promise.reject(new Error('no')), false],
  ['never answers', () => new Promise(() => {}), false],
])('a call that the counter has refused stays refused if unhit %s', async (_, unhit, synchronous) => {
  const functions = counters(new ManualClock())
  const hit: HitStoreOptions['hit'] = synchronous ? functions.hit : async (...given) => functions.hit(...given)
  const limiter = new RateLimiter({
    name: 'unhit',
    policies: first(),
    store: hitStore({ ...functions, hit, unhit, synchronous }),
    onStoreError: 'open',
  })
  const decisions = []
  for (let n = 0; n < 8; n++) decisions.push((await limiter.consume('ann')).allowed)
  expect(decisions).toEqual([true, true, true, false, false, false, false, false])
  expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
  expect((await limiter.consume('bob')).allowed).toBe(true)
})

test.each([
  ['synchronous', true],
  ['asynchronous', false],
])('a pacer on %s functions lets calls wait for the next window', async (_, synchronous) => {
  const clock = new ManualClock()
  const functions = counters(clock)
  const hit: HitStoreOptions['hit'] = synchronous ? functions.hit : async (...given) => functions.hit(...given)
  const store = hitStore({ ...functions, hit, synchronous })
  const pacer = new Pacer(first(), { store, clock: clock.now, sleeper: clock.sleeper, random: () => 0 })
  const [begin, starts]: [number, number[]] = [clock.now(), []]
  const calls = Array.from({ length: 7 }, () => pacer.acquire().then(() => starts.push((clock.now() - begin) / 1000)))
  await clock.pass(2500)
  await Promise.all(calls)
  expect(starts).toEqual([0, 0, 0, 1000, 1000, 1000, 2000])
  expect(await pacer.tryAcquire(3, { timeout: '499ms' })).toBe(false)
})

test('delay of a middleware, which needs a later time from the store, is an error', () => {
  const store = hitStore(counters(new ManualClock()))
  expect(() => rateLimit({ policies: first(), store, delay: { max: '2s' } })).toThrow(
    expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringContaining('hitStore') }),
  )
})

test('hits whose answers are lost are not charged again with each call', async () => {
  let [used, isLost] = [0, true]
  const store = hitStore({
    async hit(_key, cost) {
      used += cost
      if (isLost) throw new Error('ECONNRESET')
      return { used }
    },
    async unhit(_key, cost) {
      used -= cost
    },
    read: async () => ({ used }),
  })
  const policies = fixedWindow({ limit: 1000, window: '1h', align: 'first-request' })
  const limiter = new RateLimiter({ policies, store })
  for (let n = 0; n < 4; n++) await limiter.consume('ann')
  isLost = false
  for (let n = 0; n < 3; n++) await limiter.consume('ann')
  expect(used).toBeLessThanOrEqual(8)
})
