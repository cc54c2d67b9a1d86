import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  type MemoryStoreOptions,
  memoryStore,
  policy,
  RateLimiter,
  segmentedWindow,
  slidingLog,
} from '../../../src/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Bytes held, by objects and by arrays of numbers. */
function held(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const megabyte = 2 ** 20

function setUp(policies: RateLimiter['policies'], options: MemoryStoreOptions = {}) {
  const clock = new ManualClock()
  const limiter = new RateLimiter({ policies, store: memoryStore({ clock: clock.now, ...options }) })
  const allowed = (key: string, cost = 1) => limiter.consumeSync(key, { cost }).allowed
  return { clock, limiter, allowed }
}

/** A million keys that nobody has seen before, a microsecond apart. */
function flood(call: (key: string) => unknown, keys = 1_000_000): void {
  for (let n = 0; n < keys; n++) call(`flood-${n}`)
}

describe('a flood of new keys', () => {
  test.each<{ text: string; onFull: 'forget' | 'remember'; most: number; keys?: number }>([
    { text: '1/1m fixed-window', onFull: 'forget', most: 12 },
    { text: '5/1m sliding-log', onFull: 'forget', most: 20, keys: 300_000 },
    { text: '1/1m fixed-window', onFull: 'remember', most: 12 + 21 }, // 600,000 places of 36 bytes
    { text: '5/1m sliding-log', onFull: 'remember', most: 20 + 64, keys: 300_000 },
  ])(
    'takes no more than maxKeys: 50000 allows: $text, $onFull, at most $most MB',
    ({ text, onFull, most, keys = 1_000_000 }) => {
      const { allowed } = setUp([policy(text)], { maxKeys: 50_000, onFull })
      const before = held()
      flood(allowed, keys)
      expect(held() - before).toBeLessThan(most * megabyte)
      // Still known, so the limiter was alive till here.
      if (onFull === 'forget') expect(allowed(`flood-${keys - 1}`, 1)).toBe(policy(text).limit > 1)
      else expect(allowed('flood-0', policy(text).limit), 'a key that had to go is remembered').toBe(false)
    },
    60_000,
  )

  test('takes no more than maxKeys: 20000 allows under a hundred plans with large states: at most 148 MB', () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock: clock.now, maxKeys: 20_000 })
    const first = new RateLimiter({ policies: '1/10m', store })
    const plans = Array.from({ length: 100 }, (_, n) => {
      return first.under(segmentedWindow({ limit: n + 2, window: '10m', segments: 50 }))
    })
    const before = held()
    let n = 0
    flood((key) => plans[n++ % 100]?.consumeSync(key), 250_000)
    expect(held() - before).toBeLessThan((20 + 128) * megabyte)
    expect(store.stats().merged, 'there is room for no more').toBeGreaterThan(10_000)
    expect(plans[0]?.consumeSync('flood-0', { cost: 2 }).allowed).toBe(false)
  }, 60_000)

  test.each([
    { what: 'of one call', text: '1/10m fixed-window', taken: 1, cost: 1, keys: 1_000_000 },
    { what: 'of a bucket', text: '5/10m token-bucket', taken: 5, cost: 1, keys: 200_000 },
    { what: 'of a window', text: '5/10m', taken: 5, cost: 1, keys: 200_000 },
    { what: 'of a log', text: '5/10m sliding-log', taken: 5, cost: 1, keys: 200_000 },
    { what: 'with a little left, for a larger cost', text: '5/10m fixed-window', taken: 4, cost: 2, keys: 200_000 },
  ])('frees no key that is being refused, $what: hammering or quiet', ({ text, taken, cost, keys }) => {
    const { clock, limiter, allowed } = setUp([policy(text)], { maxKeys: 50_000 })
    for (const key of ['hammering', 'quiet']) expect([allowed(key, taken), allowed(key, cost)]).toEqual([true, false])
    const { retryAfter } = limiter.consumeSync('quiet', { cost })

    let letIn = 0
    let calls = 0
    flood((key) => {
      allowed(key, limiter.policies[0]!.limit) // these have no more left than the refused ones
      if (++calls % 500 === 0 && allowed('hammering', cost)) letIn++
    }, keys)
    expect(letIn).toBe(0)

    clock.advance(retryAfter - 1)
    expect([allowed('hammering', cost), allowed('quiet', cost)]).toEqual([false, false])
    clock.advance(1)
    expect([allowed('hammering', cost), allowed('quiet', cost)]).toEqual([true, true])
  })

  test('does not free the refused user when each of a million addresses is refused for that user', () => {
    const user = fixedWindow({ name: 'user', scope: 'user', limit: 1, window: '10m' })
    const address = fixedWindow({ name: 'address', scope: 'address', limit: 5, window: '10m' })
    const clock = new ManualClock()
    const store = memoryStore({ clock: clock.now, maxKeys: 997 })
    const limiter = new RateLimiter({ policies: [user, address], store })
    const allowed = (key: { user: string; address: string }) => limiter.consumeSync(key).allowed
    for (let n = 0; n < 5; n++) allowed({ user: `u${n}`, address: 'worn out' })
    expect(allowed({ user: 'u5', address: 'worn out' })).toBe(false)
    expect(allowed({ user: 'mallory', address: 'first' })).toBe(true)
    let letIn = 0
    flood((key) => {
      allowed({ user: key, address: key })
      if (allowed({ user: 'mallory', address: key })) letIn++
    }, 20_000)
    expect(letIn).toBe(0)
    expect(allowed({ user: 'mallory', address: 'last' })).toBe(false)
    expect(allowed({ user: 'u6', address: 'worn out' })).toBe(false)
  })
})

describe('bounded', () => {
  test('with room for one key, the newest is held', () => {
    const { allowed } = setUp([policy('1/1m')], { maxKeys: 1, onFull: 'forget' })
    expect([allowed('a'), allowed('a'), allowed('b'), allowed('b'), allowed('a')]).toEqual([
      true,
      false,
      true,
      false,
      true,
    ])
  })

  test('a full table gives up the key with most left', () => {
    const { allowed } = setUp([policy('10/1m fixed-window')], { maxKeys: 3, onFull: 'forget' })
    allowed('nothing left', 10)
    allowed('most left', 1)
    allowed('little left', 9)
    allowed('new')
    expect(allowed('most left', 10), 'forgotten').toBe(true)
    expect(allowed('nothing left')).toBe(false)
    expect(allowed('little left', 2)).toBe(false)
  })

  test('calls that are refused or only look take no room', () => {
    const { limiter, allowed } = setUp([policy('5/1m')], { maxKeys: 1 })
    allowed('a', 5)
    flood((key) => limiter.consumeSync(key, { cost: 6 }), 1000)
    flood((key) => void limiter.peek(key), 1000)
    expect(allowed('a')).toBe(false)
  })

  test('the keys of each scope and of each limiter are counted apart', () => {
    const store = memoryStore({ maxKeys: 1 })
    const one = new RateLimiter({ name: 'one', policies: '1/1h', store })
    const other = new RateLimiter({ name: 'other', policies: '1/1h', store })
    one.consumeSync('a')
    other.consumeSync('b')
    expect([one.consumeSync('a').allowed, other.consumeSync('b').allowed]).toEqual([false, false])
  })
})

describe('memory comes back', () => {
  test('keys that are like new again make room for others, long before the table is full', () => {
    const { clock, allowed } = setUp([policy('5/1s')])
    const before = held()
    for (let second = 0; second < 100; second++) {
      flood((key) => allowed(`${second}-${key}`), 5000)
      clock.advance('5s')
    }
    expect(held() - before, '500,000 keys came, no more than some 30,000 are held').toBeLessThan(8 * megabyte)
    expect(allowed('a')).toBe(true)
  })

  test('a log of 200,000 calls shrinks with the first call after they have left', () => {
    const { clock, allowed } = setUp([slidingLog({ limit: 200_000, window: '10s' })])
    const before = held()
    for (let call = 0; call < 200_000; call++) {
      if (call % 100 === 0) clock.set(clock.milliseconds + 0.001)
      allowed('a')
    }
    flood(() => clock.set(clock.milliseconds + 0.001), 10)
    for (let call = 0; call < 100_000; call++) {
      clock.set(clock.milliseconds + 0.001)
      allowed('b')
    }
    expect(held() - before).toBeGreaterThan(megabyte)
    clock.advance('10s')
    allowed('a')
    allowed('b')
    expect(held() - before).toBeLessThan(megabyte / 4)
    expect(allowed('b', 199_999)).toBe(true)
  })

  test('a log that is always in use holds its window and no more', () => {
    const { clock, allowed } = setUp([slidingLog({ limit: 1000, window: '1s' })])
    const before = held()
    for (let call = 0; call < 200_000; call++) {
      clock.advance(1)
      allowed('a')
    }
    expect(held() - before).toBeLessThan(megabyte / 2)
  })

  test.each([{ countRefused: true }, { countRefused: false }])(
    'a log of limit 5 stays small under hammering, %o',
    (options) => {
      const { clock, allowed } = setUp([slidingLog({ limit: 5, window: '1h', ...options })])
      const before = held()
      for (let call = 0; call < 200_000; call++) {
        clock.set(clock.milliseconds + 0.001)
        allowed('a')
      }
      expect(held() - before).toBeLessThan(megabyte / 2)
    },
  )

  test('reservations that are cancelled leave nothing in a log', async () => {
    const { clock, limiter } = setUp([slidingLog({ limit: 5, window: '1h' })])
    const before = held()
    for (let call = 0; call < 20_000; call++) {
      const first = await limiter.reserve('a')
      clock.set(clock.milliseconds + 0.001)
      const second = await limiter.reserve('a')
      await first.cancel()
      clock.set(clock.milliseconds + 0.001)
      await limiter.reserve('a').then((third) => third.cancel())
      await second.cancel()
    }
    expect(held() - before).toBeLessThan(megabyte / 2)
    expect(await limiter.peek('a')).toMatchObject({ remaining: 5, resetAfter: 0 })
  })
})

describe('clocks', () => {
  test('without one the store keeps its own, which runs', () => {
    const limiter = new RateLimiter({ policies: '1/366d fixed-window' })
    expect([limiter.consumeSync('a').allowed, limiter.consumeSync('a').allowed]).toEqual([true, false])
  })

  test('an injected one is read once for each decision', () => {
    let readings = 0
    const store = memoryStore({ clock: () => ++readings })
    const limiter = new RateLimiter({ policies: ['1/1s', '2/1m', '3/1h'], store })
    const before = readings
    limiter.consumeSync('a')
    expect(readings - before).toBe(1)
  })

  test('a clock that goes back does not get a key dropped whose state still tells', () => {
    const { clock, allowed } = setUp([policy('1/10m token-bucket')])
    clock.advance('1h')
    allowed('a')
    clock.set(clock.milliseconds - 300_000)
    flood(allowed, 5000)
    expect(allowed('a')).toBe(false)
  })
})

describe('long keys', () => {
  test('take no more room than short ones', () => {
    const { allowed } = setUp([policy('1/1h')], { maxKeys: 20_000 })
    const before = held()
    for (let n = 0; n < 20_000; n++) allowed(`${n}`.padEnd(6000, 'x'))
    expect((held() - before) / megabyte).toBeLessThan(8)
    expect(allowed('7'.padEnd(6000, 'x'))).toBe(false)
  })

  test('stay apart, to the last character, and lone surrogates too', async () => {
    const { allowed, limiter } = setUp([policy('1/1h')])
    const keys = ['a', 'b', '\ud800', '\ud801'].map((end) => 'k'.repeat(200) + end)
    expect(keys.map((key) => allowed(key))).toEqual([true, true, true, true])
    expect(keys.map((key) => allowed(key))).toEqual([false, false, false, false])
    await limiter.reset(keys[2] as string)
    expect(keys.map((key) => allowed(key))).toEqual([false, false, true, false])
  })
})
