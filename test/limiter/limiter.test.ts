import { describe, expect, test } from 'vitest'
import {
  type Decision,
  fixedWindow,
  type Key,
  memoryStore,
  policy,
  RateLimiter,
  type RateLimiterOptions,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { asyncStore } from '../support/async-store.ts'

const start = Date.UTC(2026, 0, 1)

/** A limiter on a clock that starts with 2026. `at` sets the milliseconds since then. */
function setUp(policies: RateLimiterOptions['policies']) {
  const clock = new ManualClock(start)
  const limiter = new RateLimiter({ policies, store: memoryStore({ clock: clock.now }) })
  return { limiter, clock, at: (milliseconds: number) => clock.set(start + milliseconds) }
}

/** A decision in short: "ok 4" has 4 units left, "no 500" is admitted in 500 ms. */
function outcome({ allowed, remaining, retryAfter }: Decision): string {
  return allowed ? `ok ${remaining}` : `no ${retryAfter}`
}

const refusedFor = (code: string) => expect.objectContaining({ code })

describe('consume', () => {
  test.each([
    {
      text: '2/1s fixed-window',
      timeline: [
        [0, 'ok 1'],
        [999, 'ok 0'],
        [999, 'no 1'],
        [1000, 'ok 1'],
      ],
    },
    {
      text: '2/1s',
      timeline: [
        [0, 'ok 1'],
        [900, 'ok 0'],
        [900, 'no 600'],
        [1499, 'no 1'],
        [1500, 'ok 0'],
      ],
    },
    {
      text: '2/1s sliding-log',
      timeline: [
        [0, 'ok 1'],
        [900, 'ok 0'],
        [999, 'no 1'],
        [1000, 'ok 0'],
        [1000, 'no 900'],
      ],
    },
    {
      text: '2/1s segmented-window',
      timeline: [
        [50, 'ok 1'],
        [900, 'ok 0'],
        [1050, 'no 50'],
        [1100, 'ok 0'],
      ],
    },
    {
      text: '2/1s burst 3',
      timeline: [
        [0, 'ok 2'],
        [0, 'ok 1'],
        [0, 'ok 0'],
        [0, 'no 500'],
        [499, 'no 1'],
        [500, 'ok 0'],
        [2000, 'ok 2'],
      ],
    },
    {
      text: '2/1s gcra burst 1',
      timeline: [
        [0, 'ok 0'],
        [100, 'no 400'],
        [500, 'ok 0'],
      ],
    },
  ] as const)('$text', ({ text, timeline }) => {
    const { limiter, at } = setUp(text)
    for (const [time, answer] of timeline) {
      at(time)
      expect([time, outcome(limiter.consumeSync('a'))]).toEqual([time, answer])
    }
  })

  test('returns a decision with all its fields', async () => {
    const { limiter, at } = setUp(slidingWindow({ name: 'api', limit: 10, window: '1s' }))
    at(250)
    expect(await limiter.consume('a', { cost: 4 })).toEqual({
      allowed: true,
      limit: 10,
      remaining: 6,
      retryAfter: 0,
      resetAfter: 1750,
      policy: 'api',
      policies: [
        expect.objectContaining({
          name: 'api',
          allowed: true,
          limit: 10,
          remaining: 6,
          retryAfter: 0,
          resetAfter: 1750,
          shadow: false,
        }),
      ],
      source: 'store',
    })
  })

  test('every key has its own state, also names that objects inherit', async () => {
    const { limiter } = setUp('1/1h')
    for (const key of ['a', 'b', '', '__proto__', 'constructor', 'toString', 'a\n', '\ud800', 'a'.repeat(10_000)]) {
      expect([outcome(await limiter.consume(key)), outcome(await limiter.consume(key))]).toEqual(['ok 0', 'no 7200000'])
    }
  })

  test('a cost that can never fit is refused with Infinity, and takes nothing', async () => {
    const { limiter } = setUp('5/1s')
    expect(await limiter.consume('a', { cost: 6 })).toMatchObject({
      allowed: false,
      retryAfter: Infinity,
      remaining: 5,
      resetAfter: 0,
    })
    expect(outcome(await limiter.consume('a', { cost: 5 }))).toBe('ok 0')
  })

  test('consumeSync needs a synchronous store', async () => {
    const limiter = new RateLimiter({ policies: '1/1h', store: asyncStore(memoryStore()) })
    expect(() => limiter.consumeSync('a')).toThrow(refusedFor('HEADGATE_ASYNC_STORE'))
    expect([outcome(await limiter.consume('a')), (await limiter.consume('a')).allowed]).toEqual(['ok 0', false])
  })

  test('a window of 60 days is exact to the millisecond', async () => {
    const days = 86_400_000
    for (const text of ['1/60d sliding-log', '1/60d gcra', '1/60d token-bucket']) {
      const { limiter, at } = setUp(text)
      await limiter.consume('a')
      at(25 * days)
      expect(outcome(await limiter.consume('a'))).toBe(`no ${35 * days}`)
      at(60 * days - 1)
      expect(outcome(await limiter.consume('a'))).toBe('no 1')
      at(60 * days)
      expect(outcome(await limiter.consume('a'))).toBe('ok 0')
    }
  })

  test('a log counts exactly up to the largest possible limit', async () => {
    const half = 2 ** 49
    const { limiter, clock } = setUp(slidingLog({ limit: 2 ** 50, window: '1s' }))
    let last = 0
    for (let call = 0; call < 60; call++) {
      const cost = half - 1 - (call % 3)
      expect(outcome(await limiter.consume('a', { cost }))).toBe(`ok ${2 ** 50 - last - cost}`)
      last = cost
      clock.advance(500)
    }
  })
})

test('what adapters need is no part of a limiter', () => {
  expect(['decide', 'book'].filter((name) => name in RateLimiter.prototype)).toEqual([])
})

describe('misuse of a call changes nothing', () => {
  const badCosts = [0, -1, 1.5, NaN, Infinity, 2 ** 53, '1', null, 1n, {}] as unknown as number[]
  const badKeys = [undefined, null, 5, {}, [], Symbol('a'), { user: 'a' }, { default: 5 }] as unknown as Key[]

  test.each(badCosts)('a cost of %s', async (cost) => {
    const { limiter } = setUp('5/1s')
    const code = refusedFor('HEADGATE_COST')
    expect(() => limiter.consumeSync('a', { cost })).toThrow(code)
    await expect(limiter.consume('a', { cost })).rejects.toThrow(code)
    await expect(limiter.peek('a', { cost })).rejects.toThrow(code)
    await expect(limiter.reserve('a', { cost })).rejects.toThrow(code)
    await expect(limiter.refund('a', { cost })).rejects.toThrow(code)
    await expect(limiter.charge('a', { cost })).rejects.toThrow(code)
    expect(await limiter.peek('a')).toMatchObject({ remaining: 5, resetAfter: 0 })
  })

  test.each(['consume', 'peek', 'refund', 'charge', 'reserve'] as const)(
    '%s with a bare number as cost',
    async (verb) => {
      const { limiter } = setUp('5/1s')
      const message = verb === 'reserve' ? /takes an object of options, got 2/ : /Write \{ cost: 2 \}/
      const error = expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringMatching(message) })
      await expect(limiter[verb]('a', 2 as never)).rejects.toThrow(error)
      expect((await limiter.peek('a')).remaining).toBe(5)
    },
  )

  test.each([{ cost: 1, cots: 2 }, { cots: 2 }, { cost: undefined, cots: 2 }, [], 'x', null])(
    'options of %j, which are none',
    async (options) => {
      const { limiter } = setUp('5/1s')
      const error = expect.objectContaining({
        code: 'HEADGATE_OPTION',
        message: expect.stringMatching(/no option "cots"|takes an object/),
      })
      expect(() => limiter.consumeSync('a', options as never)).toThrow(error)
      for (const verb of ['consume', 'peek', 'refund', 'charge', 'reserve'] as const) {
        await expect(limiter[verb]('a', options as never)).rejects.toThrow(error)
      }
      expect(await limiter.peek('a', Object.create({ inherited: 1 }))).toMatchObject({ remaining: 5, resetAfter: 0 })
    },
  )

  test.each(badKeys)('a key of %o', async (key) => {
    const { limiter } = setUp('5/1s')
    const code = refusedFor('HEADGATE_KEY')
    expect(() => limiter.consumeSync(key)).toThrow(code)
    for (const verb of ['consume', 'peek', 'reset', 'refund', 'charge', 'reserve'] as const) {
      await expect(limiter[verb](key)).rejects.toThrow(code)
    }
  })

  test('a key of another scope, with a message that names this scope', async () => {
    const limiter = new RateLimiter({ policies: policy('5/1s', { scope: 'user' }) })
    await expect(limiter.consume({ session: 'b' })).rejects.toThrow(
      'A key must be a string, or a record with a string for "user", got an object with "session". Write consume(',
    )
  })

  test('a record of keys without a scope, or that inherits one', async () => {
    const { limiter } = setUp([policy('5/1s'), policy('5/1m', { scope: 'user' })])
    const inherited = Object.create({ user: 'b' })
    for (const key of ['a', { default: 'a' }, { user: 'b' }, Object.assign(inherited, { default: 'a' })]) {
      await expect(limiter.consume(key)).rejects.toThrow(refusedFor('HEADGATE_KEY'))
    }
    expect((await limiter.consume({ default: 'a', user: 'b', other: 'c' })).remaining).toBe(4)
  })

  test.each([-1, NaN, Infinity, 0.5, '367d', 'soon', null as never])('a maxWait of %s', async (maxWait) => {
    const { limiter } = setUp('5/1s')
    await expect(limiter.reserve('a', { maxWait })).rejects.toThrow(refusedFor('HEADGATE_MAX_WAIT'))
    expect((await limiter.peek('a')).remaining).toBe(5)
  })

  test.each([-1, 0.5, NaN, Infinity, 2 ** 53])(
    'an actual cost of %s; the reservation can still be settled',
    async (actual) => {
      const { limiter } = setUp('5/1s')
      const reservation = await limiter.reserve('a', { cost: 3 })
      await expect(reservation.settle(actual)).rejects.toThrow(refusedFor('HEADGATE_COST'))
      expect((await limiter.peek('a')).remaining).toBe(2)
      await reservation.settle(1)
      expect((await limiter.peek('a')).remaining).toBe(4)
    },
  )
})

describe('peek, reset, refund, charge', () => {
  test('peek gives the decision of consume, any number of times', async () => {
    const { limiter } = setUp('5/1s burst 5')
    for (let time = 0; time < 3; time++) expect(outcome(await limiter.peek('a', { cost: 5 }))).toBe('ok 5')
    await limiter.consume('a', { cost: 4 })
    for (let time = 0; time < 3; time++) expect(outcome(await limiter.peek('a', { cost: 2 }))).toBe('no 200')
  })

  test('reset gives a key its full quota again, in every scope that it names', async () => {
    const { limiter } = setUp([policy('1/1h'), policy('5/1d', { scope: 'user' })])
    await limiter.consume({ default: 'a', user: 'u' })
    expect((await limiter.consume({ default: 'a', user: 'u' })).allowed).toBe(false)
    await limiter.reset({ default: 'a', user: 'u' })
    expect(await limiter.peek({ default: 'a', user: 'u' })).toMatchObject({ remaining: 1, resetAfter: 0 })
    expect(await limiter.peek({ default: 'b', user: 'u' })).toMatchObject({ resetAfter: 0 })
  })

  test('refund never gives back more than was used', async () => {
    const { limiter } = setUp('5/1h fixed-window')
    await limiter.consume('a', { cost: 3 })
    expect(outcome(await limiter.refund('a', { cost: 2 }))).toBe('ok 4')
    expect(outcome(await limiter.refund('a', { cost: 100 }))).toBe('ok 5')
    expect(await limiter.refund('new', { cost: 100 })).toMatchObject({ remaining: 5, resetAfter: 0 })
    expect(outcome(await limiter.consume('new', { cost: 6 }))).toBe('no Infinity')
  })

  test('charge goes into debt, which shrinks at the rate of the policy', async () => {
    const { limiter, at } = setUp('10/1s token-bucket')
    expect(await limiter.charge('a', { cost: 25 })).toMatchObject({ allowed: true, remaining: 0, resetAfter: 2500 })
    expect(outcome(await limiter.consume('a'))).toBe('no 1600')
    at(1599)
    expect(outcome(await limiter.consume('a'))).toBe('no 1')
    at(1600)
    expect(outcome(await limiter.consume('a'))).toBe('ok 0')
  })

  test('a debt of a fixed window shrinks by whole windows', async () => {
    const { limiter, at } = setUp('10/1s fixed-window')
    await limiter.charge('a', { cost: 25 })
    expect(outcome(await limiter.consume('a'))).toBe('no 2000')
    at(2000)
    expect(outcome(await limiter.consume('a'))).toBe('ok 4')
  })

  test('a debt too large to count is refused and changes nothing', async () => {
    const { limiter } = setUp('10/1s token-bucket')
    await limiter.consume('a')
    expect(await limiter.charge('a', { cost: Number.MAX_SAFE_INTEGER })).toMatchObject({
      allowed: false,
      retryAfter: Infinity,
      remaining: 9,
    })
  })
})

describe('plans', () => {
  const burst = fixedWindow({ name: 'burst', limit: 3, window: '1s' })
  const daily = fixedWindow({ name: 'daily', limit: 5, window: '1d' })

  test('the same plan has the same limiter, and so has an equal one', () => {
    const { limiter } = setUp('5/1s')
    const plan = [burst, daily]
    const first = limiter.withPlan(plan)
    expect(limiter.withPlan(plan)).toBe(first)
    expect(limiter.withPlan([burst, daily])).toBe(first)
    expect(limiter.withPlan(burst)).toBe(limiter.withPlan(fixedWindow({ name: 'burst', limit: 3, window: '1s' })))
    expect(limiter.withPlan(burst)).not.toBe(first)
    expect(limiter.withPlan('9/1s')).toBe(limiter.withPlan('9/1s'))
  })

  test('an array that changes is another plan', () => {
    const { limiter } = setUp('5/1s')
    const plan = [burst]
    expect(limiter.withPlan(plan).policies.map(({ name }) => name)).toEqual(['burst'])
    plan.push(daily)
    expect(limiter.withPlan(plan).policies.map(({ name }) => name)).toEqual(['burst', 'daily'])
    plan.shift()
    expect(limiter.withPlan(plan).policies.map(({ name }) => name)).toEqual(['daily'])
  })

  test('options that change are another plan, alone and in an array', () => {
    const { limiter } = setUp('5/1s')
    const options = { limit: 2, window: '1h' as const }
    const plan = [options]
    for (const limit of [2, 7, 2]) {
      options.limit = limit
      expect([limiter.withPlan(options).policies[0]?.limit, limiter.withPlan(plan).policies[0]?.limit]).toEqual([
        limit,
        limit,
      ])
    }
  })

  test('a limiter that was forgotten is made again, and knows what its keys have used', async () => {
    const { limiter } = setUp('5/1h fixed-window')
    const first = limiter.withPlan('9/1h fixed-window')
    await first.consume('a', { cost: 4 })
    for (let n = 1; n <= 1000; n++) limiter.withPlan(`${n}/1d`)
    const again = limiter.withPlan('9/1h fixed-window')
    expect(again).not.toBe(first)
    expect((await again.peek('a')).remaining).toBe(5)
  })
})

describe('reserve', () => {
  test('takes its cost at once, and settle gives the rest back', async () => {
    const { limiter } = setUp('1000/1h fixed-window')
    const reservation = await limiter.reserve('a', { cost: 1000 })
    expect(reservation).toMatchObject({ allowed: true, wait: 0 })
    expect(outcome(await limiter.consume('a'))).toBe('no 3600000')
    await reservation.settle(742)
    expect((await limiter.peek('a')).remaining).toBe(258)
  })

  test('is settled exactly once', async () => {
    const { limiter } = setUp('10/1h fixed-window')
    const reservation = await limiter.reserve('a', { cost: 6 })
    await Promise.all([reservation.settle(2), reservation.settle(1), reservation.cancel()])
    await reservation.cancel()
    expect((await limiter.peek('a')).remaining).toBe(8)
  })

  test('is charged beyond its cost as a debt', async () => {
    const { limiter } = setUp('10/1h fixed-window')
    const reservation = await limiter.reserve('a', { cost: 6 })
    await reservation.settle(25)
    expect(outcome(await limiter.peek('a'))).toBe('no 7200000')
  })

  test('gives nothing back if it was refused', async () => {
    const { limiter } = setUp('10/1h fixed-window')
    await limiter.consume('a', { cost: 6 })
    const reservation = await limiter.reserve('a', { cost: 5 })
    expect([reservation.allowed, reservation.wait, reservation.decision.retryAfter]).toEqual([false, 0, 3_600_000])
    await reservation.cancel()
    expect((await limiter.peek('a')).remaining).toBe(4)
  })

  test.each([
    { text: '2/1s gcra', waits: [0, 0, 500, 1000, 1500] },
    { text: '2/1s token-bucket', waits: [0, 0, 500, 1000, 1500] },
    { text: '2/1s fixed-window', waits: [0, 0, 1000, 1000, 2000] },
    { text: '2/1s sliding-log', waits: [0, 0, 1000, 1000, 2000] },
  ])('reserves ahead within maxWait: $text', async ({ text, waits }) => {
    const { limiter } = setUp(text)
    const booked = []
    for (const _ of waits) booked.push(await limiter.reserve('a', { maxWait: '2s' }))
    expect(booked.map(({ wait }) => wait)).toEqual(waits)
    const last = await limiter.reserve('a', { maxWait: waits.at(-1)! - 1 })
    expect(last.allowed).toBe(false)
    expect((await limiter.consume('a')).allowed).toBe(false)
  })

  test.each(['2/1s', '2/1s segmented-window'])('%s cannot promise a future time', async (text) => {
    const { limiter } = setUp(text)
    await limiter.consume('a', { cost: 2 })
    expect(await limiter.reserve('a', { maxWait: '1h' })).toMatchObject({ allowed: false, wait: 0 })
  })

  test('units that time has given back are not given back twice', async () => {
    const { limiter, at } = setUp('10/1s token-bucket')
    const reservation = await limiter.reserve('a', { cost: 10 })
    at(600)
    await limiter.consume('a', { cost: 6 })
    await reservation.cancel()
    expect((await limiter.peek('a')).remaining).toBe(4)
  })

  test('a reservation drains sooner after an earlier one is cancelled', async () => {
    const { limiter, at } = setUp('1/1s burst 10')
    const below = await limiter.reserve('a', { cost: 5 })
    const above = await limiter.reserve('a', { cost: 5 })
    await below.cancel()
    at(7000) // by now the units of `above` have drained
    await limiter.consume('a', { cost: 3 })
    await above.cancel()
    expect((await limiter.peek('a')).remaining).toBe(7)
  })

  test('the same for a bucket that refills at intervals', async () => {
    const { limiter, at } = setUp(tokenBucket({ limit: 1, window: '1s', burst: 10, refill: 'interval' }))
    const below = await limiter.reserve('a', { cost: 5 })
    const above = await limiter.reserve('a', { cost: 5 })
    await below.cancel()
    at(7000)
    await limiter.consume('a', { cost: 3 })
    await above.cancel()
    expect((await limiter.peek('a')).remaining).toBe(7)
  })

  test.each(['1/1s gcra', '1/1s fixed-window'])(
    '%s: a reservation keeps its time when an earlier one is cancelled',
    async (text) => {
      const { limiter, at } = setUp(text)
      const first = await limiter.reserve('a')
      const second = await limiter.reserve('a', { maxWait: '9s' })
      await first.cancel()
      const third = await limiter.reserve('a', { maxWait: '9s' })
      expect([second.wait, third.wait]).toEqual([1000, 2000])
      at(1000)
      expect((await limiter.consume('a')).allowed).toBe(false)
    },
  )

  test.each(['sliding-log', 'gcra', 'fixed-window'])(
    '%s: a refund before it is cancelled took earlier units then',
    async (kind) => {
      const { limiter, at } = setUp(`9/100m ${kind}`)
      await limiter.consume('a', { cost: 3 })
      at(100)
      const reservation = await limiter.reserve('a', { cost: 2 })
      await limiter.refund('a', { cost: 2 })
      await reservation.cancel()
      expect((await limiter.peek('a')).policies[0]?.used).toBe(1)
    },
  )

  test('settled late, it leaves other units alone', async () => {
    for (const text of ['5/1s', '5/1s sliding-log', '5/1s segmented-window', '5/1s gcra', '5/1s fixed-window']) {
      const { limiter, at } = setUp(text)
      const reservation = await limiter.reserve('a', { cost: 5 })
      at(3000)
      await limiter.consume('a', { cost: 4 })
      await reservation.cancel()
      expect([text, (await limiter.peek('a')).remaining]).toEqual([text, 1])
    }
  })
})

describe('several policies', () => {
  const burst = fixedWindow({ name: 'burst', limit: 3, window: '1s' })
  const daily = fixedWindow({ name: 'daily', limit: 5, window: '1d', scope: 'user' })

  test('all of them take the cost or none, over two scopes', async () => {
    const { limiter, at } = setUp([burst, daily])
    const call = (address: string, user: string, cost = 1) => limiter.consume({ default: address, user }, { cost })
    expect(await call('a', 'u', 3)).toMatchObject({ allowed: true, remaining: 0, policy: 'burst' })
    expect(await call('a', 'u')).toMatchObject({ allowed: false, policy: 'burst', retryAfter: 1000 })
    expect(await call('b', 'u', 2)).toMatchObject({ allowed: true, remaining: 0, policy: 'daily' })
    expect(await call('c', 'u')).toMatchObject({ allowed: false, policy: 'daily', retryAfter: 86_400_000 })
    expect(await call('c', 'v', 3), 'nothing was taken from c').toMatchObject({ allowed: true })
    at(86_400_000)
    expect(await call('a', 'u', 3)).toMatchObject({ allowed: true })
  })

  test('the binding policy has the longest wait on a refusal, else the least left', async () => {
    const { limiter, at } = setUp([burst, { ...daily, scope: 'default' }])
    expect(await limiter.consume('a')).toMatchObject({
      policy: 'burst',
      limit: 3,
      remaining: 2,
      resetAfter: 86_400_000,
    })
    await limiter.consume('a', { cost: 2 })
    at(1000)
    expect(await limiter.consume('a')).toMatchObject({ policy: 'daily', limit: 5, remaining: 1 })
    expect(await limiter.consume('a', { cost: 3 })).toMatchObject({
      policy: 'daily',
      retryAfter: 86_399_000,
      remaining: 1,
    })
    expect(await limiter.consume('a', { cost: 4 })).toMatchObject({ policy: 'burst', retryAfter: Infinity })
  })

  test('each policy has its verdict, in the given order', async () => {
    const { limiter } = setUp([burst, { ...daily, scope: 'default' }])
    await limiter.consume('a', { cost: 2 })
    const { policies } = await limiter.consume('a', { cost: 2 })
    expect(policies).toMatchObject([
      { name: 'burst', allowed: false, remaining: 1, retryAfter: 1000, resetAfter: 1000 },
      { name: 'daily', allowed: true, remaining: 3, retryAfter: 0, resetAfter: 86_400_000 },
    ])
  })

  test('a reservation takes from all and gives back to all', async () => {
    const { limiter } = setUp([burst, daily])
    const key = { default: 'a', user: 'u' }
    const reservation = await limiter.reserve(key, { cost: 3 })
    await reservation.settle(1)
    expect((await limiter.peek(key)).policies.map(({ remaining }) => remaining)).toEqual([2, 4])
    expect(
      (await limiter.reserve(key, { cost: 3, maxWait: '2s' })).allowed,
      'two policies promise no future time',
    ).toBe(false)
  })
})

describe('shadow', () => {
  test('is evaluated and reported, but never enforced', async () => {
    const { limiter } = setUp([
      policy('5/1s fixed-window'),
      policy('1/1h fixed-window', { name: 'trial', shadow: true }),
    ])
    const answers = []
    for (let call = 0; call < 6; call++) answers.push(await limiter.consume('a'))
    expect(answers.map(outcome)).toEqual(['ok 4', 'ok 3', 'ok 2', 'ok 1', 'ok 0', 'no 1000'])
    expect(answers.map(({ policies }) => policies[1]?.allowed)).toEqual([true, false, false, false, false, false])
    expect(answers.map(({ policy }) => policy)).toEqual(Array(6).fill('1s'))
  })

  test('alone, it admits everything and still reports', async () => {
    const { limiter } = setUp(policy('1/1h fixed-window', { shadow: true }))
    await limiter.consume('a')
    const { allowed, remaining, retryAfter, policies } = await limiter.consume('a')
    expect([allowed, remaining, retryAfter]).toEqual([true, 0, 0])
    expect(policies).toMatchObject([{ allowed: false, retryAfter: 3_600_000, shadow: true }])
  })

  test('gets back from a reservation no more than it took', async () => {
    const { limiter } = setUp([policy('9/1s fixed-window'), policy('3/1h fixed-window', { shadow: true })])
    await limiter.consume('a', { cost: 2 })
    const reservation = await limiter.reserve('a', { cost: 2 })
    await reservation.cancel()
    expect((await limiter.peek('a')).policies.map(({ remaining }) => remaining)).toEqual([7, 1])
  })
})

describe('countRefused', () => {
  test('a key that keeps calling stays refused; one that waits is admitted', async () => {
    const { limiter, at } = setUp(tokenBucket({ limit: 1, window: '1s', countRefused: true }))
    await limiter.consume('a')
    for (let time = 100; time <= 5000; time += 100) {
      at(time)
      expect(outcome(await limiter.consume('a'))).toBe('no 1000')
    }
    at(5999)
    expect(outcome(await limiter.peek('a'))).toBe('no 1')
    at(6000)
    expect(outcome(await limiter.consume('a'))).toBe('ok 0')
  })

  test('counts calls that another policy refused', async () => {
    const { limiter } = setUp([policy('1/1s fixed-window'), policy('5/1h fixed-window', { countRefused: true })])
    for (let call = 0; call < 3; call++) await limiter.consume('a')
    expect((await limiter.peek('a')).policies.map(({ remaining }) => remaining)).toEqual([0, 2])
  })

  test('in a fixed window, refused calls do not count beyond the window', async () => {
    const { limiter, at } = setUp(policy('2/1s fixed-window', { countRefused: true }))
    for (let call = 0; call < 50; call++) await limiter.consume('a')
    at(1000)
    expect(outcome(await limiter.consume('a'))).toBe('ok 1')
  })

  test('a peek counts nothing, a refused reservation counts', async () => {
    const { limiter } = setUp(policy('5/1h fixed-window', { countRefused: true }))
    await limiter.consume('a', { cost: 3 })
    await limiter.peek('a', { cost: 3 })
    expect((await limiter.peek('a')).remaining).toBe(2)
    await limiter.reserve('a', { cost: 3 })
    expect((await limiter.peek('a')).remaining).toBe(0)
  })
})
