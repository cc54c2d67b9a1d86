import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  type MemoryStoreOptions,
  memoryStore,
  policy,
  RateLimiter,
  slidingLog,
} from '../../../src/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'

function setUp(policies: RateLimiter['policies'], options: MemoryStoreOptions = {}) {
  const clock = new ManualClock()
  const store = memoryStore({ clock: clock.now, ...options })
  const limiter = new RateLimiter({ policies, store })
  const allowed = (key: string, cost = 1) => limiter.consumeSync(key, { cost }).allowed
  return { clock, store, limiter, allowed }
}

/** Keys that the store has not seen before. */
function flood(call: (key: string) => unknown, keys: number): void {
  for (let n = 0; n < keys; n++) call(`flood-${n}`)
}

describe('a flood of new keys', () => {
  test.each([
    { what: 'of one unit', text: '1/10m fixed-window', taken: 1, cost: 1 },
    { what: 'of a bucket', text: '5/10m token-bucket', taken: 5, cost: 1 },
    { what: 'of a sliding window', text: '5/10m', taken: 5, cost: 1 },
    { what: 'of a log', text: '5/10m sliding-log', taken: 5, cost: 1 },
    { what: 'with a little left, for a larger cost', text: '5/10m fixed-window', taken: 4, cost: 2 },
  ])('does not free a key that is refused, $what', ({ text, taken, cost }) => {
    const { clock, limiter, allowed } = setUp([policy(text)], { maxKeys: 1000 })
    for (const key of ['hammering', 'quiet']) expect([allowed(key, taken), allowed(key, cost)]).toEqual([true, false])
    const { retryAfter } = limiter.consumeSync('quiet', { cost })

    let admitted = 0
    let calls = 0
    flood((key) => {
      allowed(key, limiter.policies[0]!.limit) // as little is left to these keys as to the refused ones
      if (++calls % 50 === 0 && allowed('hammering', cost)) admitted++
    }, 8000)
    expect(admitted).toBe(0)

    clock.advance(retryAfter - 1)
    expect([allowed('hammering', cost), allowed('quiet', cost)]).toEqual([false, false])
    clock.advance(1)
    expect([allowed('hammering', cost), allowed('quiet', cost)]).toEqual([true, true])
  })

  test('does not free a refused user whose calls each come from a new address', () => {
    const user = fixedWindow({ name: 'user', scope: 'user', limit: 1, window: '10m' })
    const address = fixedWindow({ name: 'address', scope: 'address', limit: 5, window: '10m' })
    const clock = new ManualClock()
    const store = memoryStore({ clock: clock.now, maxKeys: 97 })
    const limiter = new RateLimiter({ policies: [user, address], store })
    const allowed = (key: { user: string; address: string }) => limiter.consumeSync(key).allowed
    for (let n = 0; n < 5; n++) allowed({ user: `u${n}`, address: 'used up' })
    expect(allowed({ user: 'u5', address: 'used up' })).toBe(false)
    expect(allowed({ user: 'mallory', address: 'first' })).toBe(true)
    let admitted = 0
    flood((key) => {
      allowed({ user: key, address: key })
      if (allowed({ user: 'mallory', address: key })) admitted++
    }, 2000)
    expect(admitted).toBe(0)
    expect(allowed({ user: 'mallory', address: 'last' })).toBe(false)
    expect(allowed({ user: 'u6', address: 'used up' })).toBe(false)
  })

  test('does not free a budget that refuses while a pool pays', () => {
    const own = fixedWindow({ name: 'own', scope: 'team', limit: 1, window: '10m' })
    const pool = fixedWindow({ name: 'pool', scope: 'pool', limit: 1_000_000, window: '10m' })
    const store = memoryStore({ clock: new ManualClock().now, maxKeys: 97, onFull: 'forget' })
    const limiter = new RateLimiter({ policies: [own, pool], store })
    const cost = [
      { own: 1, pool: 0 },
      { own: 0, pool: 1 },
    ]
    const paid = (team: string) => limiter.consumeSync({ team, pool: 'all' }, { cost }).tried?.length
    const hammering = ['h1', 'h2', 'h3', 'h4']
    for (const team of hammering) expect([paid(team), paid(team)]).toEqual([0, 1])
    let minted = 0
    flood((key) => {
      if (paid(key) !== 0 || hammering.some((team) => paid(team) === 0)) minted++
    }, 2000)
    expect(minted).toBe(0)
  })

  test.each(['remember', 'forget'] as const)('never makes the store keep more than maxKeys: onFull %s', (onFull) => {
    const { store, allowed } = setUp([policy('5/1m sliding-log')], { maxKeys: 100, onFull })
    flood((key) => {
      allowed(key)
      expect(store.stats().keys).toBeLessThanOrEqual(100)
    }, 5000)
    const { keys, evictions, remembered, merged, forgotten } = store.stats()
    expect([keys, evictions]).toEqual([100, 4900])
    if (onFull === 'forget') expect([remembered, merged, forgotten]).toEqual([0, 0, 4900])
    else expect([remembered + merged, forgotten], 'each key is remembered or merged').toEqual([4900, 0])
  })
})

describe('a store of maxKeys', () => {
  test('1 holds the newest key', () => {
    const { allowed } = setUp([policy('1/1m')], { maxKeys: 1, onFull: 'forget' })
    const answers = ['a', 'a', 'b', 'b', 'a'].map((key) => allowed(key))
    expect(answers).toEqual([true, false, true, false, true])
  })

  test('3 evicts the key with most left', () => {
    const { allowed } = setUp([policy('10/1m fixed-window')], { maxKeys: 3, onFull: 'forget' })
    allowed('nothing left', 10)
    allowed('most left', 1)
    allowed('little left', 9)
    allowed('new')
    expect(allowed('most left', 10), 'it starts anew').toBe(true)
    expect(allowed('nothing left')).toBe(false)
    expect(allowed('little left', 2)).toBe(false)
  })

  test('1 gives no row to calls that are refused or only peek', () => {
    const { store, limiter, allowed } = setUp([policy('5/1m')], { maxKeys: 1 })
    allowed('a', 5)
    flood((key) => limiter.consumeSync(key, { cost: 6 }), 1000)
    flood((key) => void limiter.peek(key), 1000)
    expect(allowed('a')).toBe(false)
    expect(store.stats()).toMatchObject({ keys: 1, evictions: 0 })
  })

  test('1 holds one key of each scope and of each limiter', () => {
    const store = memoryStore({ maxKeys: 1 })
    const one = new RateLimiter({ name: 'one', policies: '1/1h', store })
    const other = new RateLimiter({ name: 'other', policies: '1/1h', store })
    one.consumeSync('a')
    other.consumeSync('b')
    expect([one.consumeSync('a').allowed, other.consumeSync('b').allowed]).toEqual([false, false])
    expect(store.stats().keys).toBe(2)
  })
})

describe('keys at full quota again', () => {
  test('are dropped long before the table is full', () => {
    const { clock, store, allowed } = setUp([policy('5/1s')])
    let most = 0
    for (let second = 0; second < 50; second++) {
      flood((key) => allowed(`${second}-${key}`), 1000)
      clock.advance('5s')
      most = Math.max(most, store.stats().keys)
    }
    expect(most, '50,000 keys came').toBeLessThan(6000)
    expect(store.stats().evictions).toBe(0)
  })

  test('are kept if the clock goes back to a time before their full quota', () => {
    const { clock, allowed } = setUp([policy('1/10m token-bucket')])
    clock.advance('1h')
    allowed('a')
    clock.set(clock.milliseconds - 300_000)
    flood(allowed, 5000)
    expect(allowed('a')).toBe(false)
  })

  test('have nothing of a large log any more', () => {
    const { clock, limiter, allowed } = setUp([slidingLog({ limit: 20_000, window: '10s' })])
    for (let call = 0; call < 20_000; call++) {
      if (call % 100 === 0) clock.set(clock.milliseconds + 0.001)
      allowed('a')
    }
    expect(allowed('a')).toBe(false)
    clock.advance('10s')
    expect(limiter.consumeSync('a')).toMatchObject({ allowed: true, remaining: 19_999 })
  })

  test('include those whose reservations were all cancelled', async () => {
    const { clock, limiter } = setUp([slidingLog({ limit: 5, window: '1h' })])
    for (let call = 0; call < 1000; call++) {
      const first = await limiter.reserve('a')
      clock.set(clock.milliseconds + 0.001)
      const second = await limiter.reserve('a')
      await first.cancel()
      clock.set(clock.milliseconds + 0.001)
      await limiter.reserve('a').then((third) => third.cancel())
      await second.cancel()
    }
    expect(await limiter.peek('a')).toMatchObject({ remaining: 5, resetAfter: 0 })
  })
})

describe('the clock', () => {
  test('is running by default', () => {
    const limiter = new RateLimiter({ policies: '1/366d fixed-window' })
    expect([limiter.consumeSync('a').allowed, limiter.consumeSync('a').allowed]).toEqual([true, false])
  })

  test('is read once for each decision', () => {
    let readings = 0
    const store = memoryStore({ clock: () => ++readings })
    const limiter = new RateLimiter({ policies: ['1/1s', '2/1m', '3/1h'], store })
    const before = readings
    limiter.consumeSync('a')
    expect(readings - before).toBe(1)
  })
})

test('long keys that differ in one character have separate states, lone surrogates too', async () => {
  const { allowed, limiter } = setUp([policy('1/1h')])
  const keys = ['a', 'b', '\ud800', '\ud801'].map((end) => 'k'.repeat(200) + end)
  expect(keys.map((key) => allowed(key))).toEqual([true, true, true, true])
  expect(keys.map((key) => allowed(key))).toEqual([false, false, false, false])
  await limiter.reset(keys[2] as string)
  expect(keys.map((key) => allowed(key))).toEqual([false, false, true, false])
})
