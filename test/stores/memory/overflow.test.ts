import { isDeepStrictEqual } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { withLimit } from '../../../src/algorithms/define-policy.ts'
import {
  fixedWindow,
  memoryStore,
  type Policy,
  policy,
  RateLimiter,
  type Store,
  tokenBucket,
} from '../../../src/index.ts'
import type { Ledger } from '../../../src/store.ts'
import { MemoryStore } from '../../../src/stores/memory/memory-store.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { seededRandom } from '../../support/seeded-random.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

function setUp(policies: Policy | Policy[] = policy('5/10m fixed-window'), maxKeys = 1) {
  const clock = new ManualClock()
  const store = new MemoryStore({ clock: clock.now, maxKeys }, [7, 9])
  const limiter = new RateLimiter({ policies, store })
  const allowed = (key: string, cost = 1) => limiter.consumeSync(key, { cost }).allowed
  return { clock, store, limiter, allowed }
}

function open(store: MemoryStore, policies: readonly Policy[]): Ledger {
  return store.open({ name: 'ledger', policies, scopes: ['default'] })
}

const algorithms: Record<string, Policy[]> = {
  tokenBucket: [policy('4/1s burst 6 token-bucket')],
  'tokenBucket, by interval': [tokenBucket({ limit: 3, window: '1s', burst: 7, refill: 'interval' })],
  fixedWindow: [policy('4/1s fixed-window')],
  'fixedWindow, from the first request': [fixedWindow({ limit: 4, window: '1s', align: 'first-request' })],
  slidingWindow: [policy('4/1s')],
  segmentedWindow: [policy('4/1s segmented-window')],
  slidingLog: [policy('4/1s sliding-log')],
  several: [policy('4/1s'), policy('9/5s sliding-log'), policy('20/1h token-bucket', { countRefused: true })],
}

describe.each(Object.entries(algorithms))('%s', (_name, policies) => {
  test('an evicted key is decided as if it had not been evicted, with every verb', () => {
    const clock = new ManualClock()
    const full = new MemoryStore({ clock: clock.now, maxKeys: 4 }, [1, 2])
    const ledgers = [full, memoryStore({ clock: clock.now })].map((store) => open(store, policies))
    const random = seededRandom(5)
    for (let call = 0; call < 3000; call++) {
      clock.set(clock.milliseconds + random(200))
      const keys = [`${random(18)}`]
      const cost = 1 + random(3)
      const verb = (['consume', 'consume', 'consume', 'peek', 'charge', 'refund', 'reserve', 'reset'] as const)[
        random(8)
      ]
      const settles = random(2) === 0
      const [one, other] = ledgers.map((ledger) => {
        if (verb === 'reset') return ledger.run({ verb, keys })
        if (verb !== 'reserve') return ledger.run({ verb: verb ?? 'peek', keys, costs: cost })
        const booking = ledger.run({ verb: 'reserve', keys, costs: cost, maxWait: 2_000_000 })
        if ('then' in booking || !booking.tickets || !settles) return 'decision' in booking && booking.decision
        return ledger.run({ verb: 'settle', keys, costs: policies.map(() => -1), tickets: booking.tickets })
      })
      if (!isDeepStrictEqual(one, other)) expect(one, `call ${call}: ${verb} ${keys} ${cost}`).toEqual(other)
    }
    expect(full.stats()).toMatchObject({ keys: 4, merged: 0, forgotten: 0 })
    expect(full.stats().evictions).toBeGreaterThan(100)
  })

  test('a remembered state is adopted when the limits are set again', () => {
    const clock = new ManualClock()
    const full = new MemoryStore({ clock: clock.now, maxKeys: 2 }, [1, 2])
    const stores = [full, memoryStore({ clock: clock.now })]
    let ledgers = stores.map((store) => open(store, policies))
    for (let n = 0; n < 8; n++) for (const ledger of ledgers) ledger.run({ verb: 'consume', keys: [`${n}`], costs: 3 })
    expect(full.stats()).toMatchObject({ keys: 2, remembered: 6 })
    const slower = policies.map((each) => withLimit(each, 2))
    const terms = { name: 'l', policies: slower, scopes: ['default'], onChange: 'retune', replaces: true } as const
    ledgers = ledgers.map((ledger, n) => (stores[n] as Store).open(terms, ledger))
    clock.advance(100)
    for (let n = 0; n < 8; n++) {
      const [one, other] = ledgers.map((ledger) => ledger.run({ verb: 'peek', keys: [`${n}`] }))
      expect(one).toEqual(other)
    }
  })
})

describe('a remembered key', () => {
  test('keeps its place if it is refused or peeked at', async () => {
    const { store, limiter, allowed } = setUp()
    allowed('a', 5)
    allowed('b')
    const before = store.stats()
    expect(before).toEqual({ keys: 1, evictions: 1, remembered: 1, merged: 0, forgotten: 0 })
    const refused = limiter.consumeSync('a')
    expect(refused).toMatchObject({ allowed: false, remaining: 0 })
    expect(await limiter.peek('a')).toEqual(refused)
    expect(store.stats()).toEqual(before)
  })

  test('has its full quota after a reset, and gets back no more than a refund gives', async () => {
    const { limiter, allowed } = setUp()
    for (const key of ['a', 'b', 'c']) allowed(key, 5)
    await limiter.reset('a')
    expect([allowed('a', 5), allowed('a')]).toEqual([true, false])
    expect(await limiter.refund('b', { cost: 2 })).toMatchObject({ remaining: 2 })
    expect([allowed('b', 2), allowed('b')]).toEqual([true, false])
    expect(await limiter.refund('never seen', { cost: 2 })).toMatchObject({ remaining: 5, resetAfter: 0 })
  })

  test('gets back the units of a reservation that was made before it was evicted', async () => {
    const { limiter, allowed } = setUp(policy('5/10m token-bucket'))
    const reservation = await limiter.reserve('a', { cost: 5 })
    allowed('b', 5)
    allowed('c', 5)
    await reservation.settle(2)
    expect(await limiter.peek('a')).toMatchObject({ remaining: 3 })
  })

  test('is dropped once it has its full quota again, while other keys come', () => {
    const { clock, store, allowed } = setUp(policy('5/1s fixed-window'), 10)
    for (let n = 0; n < 60; n++) allowed(`${n}`)
    expect(store.stats()).toMatchObject({ keys: 10, remembered: 50, evictions: 50 })
    for (let n = 0; n < 100; n++) {
      clock.advance('1s')
      allowed(`later ${n}`)
    }
    expect(store.stats()).toMatchObject({ remembered: 0, evictions: 50 })
  })
})

describe('keys that were merged', () => {
  /** So many keys that none has a place of its own for long. */
  function crowded(limit: number) {
    const made = setUp(policy(`${limit}/10m fixed-window`))
    for (let n = 0; n < 500; n++) made.allowed(`${n}`, 1 + (n % limit))
    expect(made.store.stats().merged).toBeGreaterThan(0)
    return made
  }

  test('are refused because of one another, and never admitted because of one another', () => {
    const { clock, allowed } = crowded(5)
    let admitted = 0
    for (let n = 0; n < 500; n++) if (allowed(`${n}`, 5 - (n % 5))) admitted++
    expect(admitted).toBe(0)
    clock.advance('10m')
    expect([allowed('7', 5), allowed('7')]).toEqual([true, false])
  })

  test('are refunded one by one', async () => {
    const { limiter, allowed } = crowded(1)
    for (let n = 0; n < 100; n++) await limiter.refund(`${n}`)
    let admitted = 0
    for (let n = 100; n < 500; n++) if (allowed(`${n}`)) admitted++
    expect(admitted).toBe(0)
  })

  test('are reset one by one', async () => {
    const { limiter, allowed } = crowded(5)
    expect(allowed('400'), 'it never got anything').toBe(false)
    await limiter.reset('400')
    expect([allowed('400', 5), allowed('400')]).toEqual([true, false])
    expect(allowed('401')).toBe(false)
  })
})

describe('stats', () => {
  test('add up the scopes and limiters', () => {
    const store = memoryStore({ maxKeys: 2 })
    const policies = [policy('5/1h'), policy('9/1h', { name: 'user', scope: 'user' })]
    const one = new RateLimiter({ name: 'one', policies, store })
    const other = new RateLimiter({ name: 'other', policies: '5/1h', store })
    for (let n = 0; n < 3; n++) one.consumeSync({ default: 'a', user: `${n}` })
    other.consumeSync('a')
    expect(store.stats()).toEqual({ keys: 4, evictions: 1, remembered: 1, merged: 0, forgotten: 0 })
    const forgetful = memoryStore({ maxKeys: 1, onFull: 'forget' })
    const third = new RateLimiter({ policies: '5/1h', store: forgetful })
    for (const key of ['a', 'b', 'c']) third.consumeSync(key)
    expect(forgetful.stats()).toEqual({ keys: 1, evictions: 2, remembered: 0, merged: 0, forgotten: 2 })
    expect([one.consumeSync({ default: 'a', user: '0' }).allowed, other.consumeSync('a').allowed]).toEqual([true, true])
  })

  test('do not keep a limiter alive that is no longer used', async () => {
    const store = memoryStore()
    const use = (name: string) => new RateLimiter({ name, policies: '5/1h', store }).consumeSync('a').allowed
    for (let n = 0; n < 100; n++) use(`${n}`)
    expect(store.stats().keys).toBeGreaterThan(0)
    for (let collections = 0; collections < 20 && store.stats().keys > 0; collections++) {
      await new Promise((resolve) => setImmediate(resolve))
      collectGarbage()
    }
    expect(store.stats().keys).toBe(0)
  })
})
