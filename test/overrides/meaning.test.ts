/* What an override means, on the memory store: who it is for, which numbers apply, how long, and what it never does. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { calendarWindow, quota } from '../../src/calendar/index.ts'
import {
  concurrency,
  counter,
  fixedWindow,
  memoryStore,
  type Policy,
  policy,
  RateLimiter,
  slidingWindow,
  tokenBucket,
  wallClock,
} from '../../src/index.ts'

const start = Date.UTC(2026, 10, 24, 12)

beforeEach(() => void vi.useFakeTimers({ now: start, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const store = () => memoryStore({ clock: wallClock })
const month = () => fixedWindow({ name: 'month', limit: 10, window: '30d' })
const limits = async (limiter: RateLimiter, key: Parameters<RateLimiter['peek']>[0]) =>
  (await limiter.peek(key)).policies.map(({ limit }) => limit)

describe('who', () => {
  const rules = [
    ['*', 'anyone'],
    [{ prefix: 'tr' }, 'trophy'],
    [{ scope: 'default', prefix: 'trial-' }, 'trial-7'],
    [{ default: 'trial-1' }, 'trial-1'],
    ['ann', 'ann'],
  ] as const

  test('the key goes before the longest prefix, and that before all keys', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    for (const [n, [target]] of rules.entries()) await limiter.override(target, { limit: 100 + n })
    for (const [n, [, key]] of rules.entries()) expect(await limits(limiter, key)).toEqual([100 + n])
    expect(await limits(limiter, '')).toEqual([100])
  })

  test('a key that is named as what belongs to every object is a key like others', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    await limiter.override('__proto__', { limit: 3 })
    expect(await limits(limiter, '__proto__')).toEqual([3])
    expect(await limits(limiter, 'constructor')).toEqual([10])
  })

  test('a key that ends in a star is named in a record', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    await limiter.override({ default: 'ann*' }, { limit: 3 })
    expect([await limits(limiter, 'ann*'), await limits(limiter, 'ann')]).toEqual([[3], [10]])
  })

  test('an empty prefix is for all keys of its scope, and goes before all keys', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    await limiter.override('*', { limit: 3 })
    await limiter.override({ prefix: '' }, { limit: 4 })
    expect(await limits(limiter, 'ann')).toEqual([4])
    expect(await limits(limiter, '')).toEqual([4])
  })

  test('each scope of a call has its own override', async () => {
    const policies = [
      slidingWindow({ name: 'a', limit: 10, window: '1m', scope: 'address' }),
      slidingWindow({ name: 'u', limit: 20, window: '1m', scope: 'user' }),
    ]
    const limiter = new RateLimiter({ policies, store: store() })
    await limiter.override({ user: 'ann' }, { policy: 'u', limit: 99 })
    await limiter.override({ scope: 'address', prefix: '10.' }, { scale: 0.5 })
    await limiter.override('*', { policy: 'u', scale: 0.25 })
    expect(await limits(limiter, { user: 'ann', address: '10.1' })).toEqual([5, 25])
    expect(await limits(limiter, { user: 'bob', address: '11.1' })).toEqual([10, 5])
    expect(await limits(limiter, { user: 'ann' })).toEqual([25])
    expect(await limits(limiter, { address: '10.2' })).toEqual([5])
    await expect(limiter.override('ann', { policy: 'u', limit: 1 })).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
  })

  test('a limiter on the same store, and a limiter without a name, have their own overrides', async () => {
    const shared = store()
    const [a, b] = [
      new RateLimiter({ policies: month(), store: shared }),
      new RateLimiter({ policies: '7/1m', store: shared }),
    ]
    await a.override('*', { limit: 3 })
    expect([await limits(a, 'x'), await limits(b, 'x')]).toEqual([[3], [7]])
    expect(await b.overrides()).toEqual([])
  })
})

describe('numbers', () => {
  test.each([
    [{ limit: 25 }, [25, 25]],
    [{ add: 5 }, [15, 15]],
    [{ scale: 0.1 }, [1, 1]],
    [{ scale: 0.01 }, [1, 1]],
    [{ scale: 0.25 }, [3, 3]],
    [{ scale: 0.7 }, [7, 7]],
    [{ scale: 3 }, [30, 30]],
    [{ policies: tokenBucket({ limit: 4, window: '1m', burst: 2 }) }, [4, 2]],
  ] as const)('%j', async (options, [limit, burst]) => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    await limiter.override('ann', options)
    expect(await limiter.peek('ann')).toMatchObject({ limit, remaining: burst, override: [{ id: '1' }] })
    expect(await limiter.peek('bob')).not.toHaveProperty('override')
  })

  test('a scale multiplies the burst too; a limit leaves it', async () => {
    const limiter = new RateLimiter({ policies: '100/1h burst 20', store: store() })
    await limiter.override('ann', { scale: 0.11 })
    await limiter.override('bob', { limit: 1000 })
    expect(await limiter.peek('ann')).toMatchObject({ limit: 11, remaining: 3 })
    expect(await limiter.peek('bob')).toMatchObject({ limit: 1000, remaining: 20 })
  })

  test('the most specific number applies, then the smallest scale', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    await limiter.override('*', { scale: 0.5 })
    await limiter.override('ann', { limit: 1000 })
    await limiter.override({ prefix: 'a' }, { add: 5 })
    await limiter.override({ prefix: 'an' }, { scale: 0.9 })
    expect(await limiter.peek('ann')).toMatchObject({ limit: 500, override: [{ id: '2' }, { id: '1' }] })
    expect(await limits(limiter, 'alf')).toEqual([8])
    expect(await limits(limiter, 'bob')).toEqual([5])
  })

  test('policies replace those of their scope, and a more specific limit changes one of them', async () => {
    const policies = [
      slidingWindow({ name: 'a', limit: 10, window: '1m', scope: 'address' }),
      slidingWindow({ name: 'u', limit: 20, window: '1m', scope: 'user' }),
      slidingWindow({ name: 'v', limit: 30, window: '1h', scope: 'user' }),
    ]
    const limiter = new RateLimiter({ policies, store: store() })
    await limiter.override({ scope: 'user', prefix: '' }, { policies: [policy('5/1m', { name: 'v' }), '6/1h'] })
    await limiter.override({ user: 'ann' }, { policy: 'v', limit: 50 })
    await limiter.override('*', { policy: 'u', limit: 1 }) // less specific than the policies
    const named = async (user: string) =>
      (await limiter.peek({ address: 'x', user })).policies.map(({ name, limit }) => [name, limit])
    expect(await named('bob')).toEqual([
      ['a', 10],
      ['v', 5],
      ['1h', 6],
    ])
    expect(await named('ann')).toEqual([
      ['a', 10],
      ['v', 50],
      ['1h', 6],
    ])
  })

  test.each([
    [{ limit: 5000 }, 5000],
    [{ add: 50 }, 60],
    [{ policy: 'month', limit: 1 }, 1],
  ] as const)('policies for all keys leave a key whose own override is %j', async (options, limit) => {
    for (const isFirst of [true, false]) {
      const limiter = new RateLimiter({ policies: month(), store: store() })
      const own = async () => (await limiter.override({ prefix: 'an' }, options)).id
      const early = isFirst ? await own() : undefined
      const { id: rest } = await limiter.override('*', { policies: '7/1m' })
      const id = early ?? (await own())
      expect(await limiter.consume('ann')).toMatchObject({ policies: [{ name: 'month', limit }], override: [{ id }] })
      expect(await limiter.consume('bob')).toMatchObject({ policies: [{ name: '1m' }], override: [{ id: rest }] })
      expect((await limiter.overrides()).map(({ effective }) => effective)).toEqual([true, true])
      await limiter.override('*', { scale: 0.5 })
      expect([await limits(limiter, 'ann'), await limits(limiter, 'bob')]).toEqual([[Math.ceil(limit / 2)], [4]])
      await limiter.override('ann', { policies: '8/1m' }) // more specific than the prefix
      expect(await limits(limiter, 'ann')).toEqual([4])
    }
  })

  test('a limit of one policy keeps the others of its scope, and a limit that a policy cannot have keeps none', async () => {
    const plan = (v: typeof slidingWindow) => [
      slidingWindow({ name: 'a', limit: 10, window: '1m', scope: 'address' }),
      slidingWindow({ name: 'u', limit: 20, window: '1m', scope: 'user' }),
      v({ name: 'v', limit: 30, window: '366d', scope: 'user' }),
      counter({ name: 'c', window: '1m', scope: 'user' }),
    ]
    const limiter = new RateLimiter({ policies: plan(slidingWindow), store: store() })
    await limiter.override({ address: 'x' }, { policies: '4/1d' })
    await limiter.override({ scope: 'user', prefix: '' }, { policies: '5/1h' })
    await limiter.override('*', { policy: 'v', limit: 6 })
    await limiter.override({ user: 'ann' }, { policy: 'u', limit: 50 })
    expect(await limits(limiter, { address: 'x', user: 'ann' })).toEqual([4, 50, 6, 2 ** 52])
    expect(await limits(limiter, { address: 'x', user: 'bob' })).toEqual([4, 5])
    await limiter.override({ user: 'eve' }, { policy: 'c', limit: 50 })
    await limiter.withPlan(plan(fixedWindow)).override({ user: 'sue' }, { policy: 'v', limit: 2 ** 50 })
    for (const user of ['eve', 'sue']) expect(await limits(limiter, { address: 'y', user })).toEqual([10, 5])
  })

  test('penalties, counters and policies that admit nobody stay', async () => {
    const policies = [
      month(),
      counter({ window: '1h' }),
      slidingWindow({ name: 'none', limit: 0, window: '1h', shadow: true }),
    ]
    const limiter = new RateLimiter({ policies, store: store(), penalty: { after: 1, within: '1h', ban: '1h' } })
    await limiter.override('*', { scale: 0.1 })
    const { policies: verdicts } = await limiter.peek('ann')
    expect(verdicts.map(({ limit }) => limit)).toEqual([1, 2 ** 52, 0, expect.any(Number)])
    await limiter.consume('ann')
    await limiter.consume('ann')
    expect((await limiter.consume('ann')).policies.at(-1)).toMatchObject({
      name: 'penalty',
      allowed: false,
      retryAfter: 3_600_000,
    })
  })

  test('a quota with the limit of a counter, which counts customers without a limit, is limited by a limit alone', async () => {
    const counted = calendarWindow({ name: 'month', limit: 2 ** 52, every: 'month' })
    const plan = new RateLimiter({ policies: month(), store: store() }).withPlan(counted)
    for (const change of [{ scale: 0.1 }, { policy: 'month', add: 5 }]) await plan.override('*', change)
    expect((await plan.consume('acme')).limit).toBe(2 ** 52)
    const { effective } = await plan.override('acme', { policy: 'month', limit: 1000 })
    expect(effective).toBe(true)
    expect(await plan.consume('acme', { cost: 100 })).toMatchObject({ allowed: false, limit: 100, remaining: 99 })
    expect((await plan.consume('other')).limit).toBe(2 ** 52)
  })

  test('policies for all keys open no plan with a limit of 0', async () => {
    const plan = (limit: number) => slidingWindow({ name: 'hour', limit, window: '1h' })
    const limiter = new RateLimiter({ policies: plan(1000), store: store() })
    const closed = limiter.withPlan(plan(0))
    await limiter.override('*', { policies: [policy('5/1m', { name: 'hour' }), '9/1m'] })
    expect(await closed.consume('eve')).toMatchObject({ allowed: false, policy: 'hour', retryAfter: Infinity })
    expect(await limits(closed, 'eve')).toEqual([0])
    expect(await closed.peek('eve')).not.toHaveProperty('override')
    expect((await closed.consume('eve', { cost: { hour: 7 } })).allowed).toBe(false)
    expect(await limits(limiter, 'ann')).toEqual([5, 9])
    expect((await limiter.consume('ann')).allowed).toBe(true)
    await closed.override('vip', { policies: '3/1m' }) // an override of a key opens this key
    expect(await limits(closed, 'vip')).toEqual([3])
    expect((await closed.consume('vip')).allowed).toBe(true)
    const trial = limiter.withPlan(slidingWindow({ name: 'hour', limit: 0, window: '1h', shadow: true }))
    expect(await limits(trial, 'eve')).toEqual([5, 9])
  })

  test('a shadow policy and a concurrency policy take a new limit', async () => {
    const policies = [
      concurrency({ name: 'at-once', limit: 4, lease: '1m' }),
      policy('5/1m', { name: 's', shadow: true }),
    ]
    const limiter = new RateLimiter({ policies, store: store() })
    const first = await limiter.reserve('ann')
    await limiter.override('*', { scale: 0.25 })
    expect((await limiter.reserve('ann')).decision).toMatchObject({ allowed: false, policy: 'at-once', limit: 1 })
    await first.release()
    expect((await limiter.reserve('ann')).decision.policies).toMatchObject([
      { limit: 1 },
      { limit: 2, shadow: true, remaining: 0 },
    ])
  })
})

describe('how long', () => {
  test.each([
    ['30m', start + 1_800_000],
    ['2026-12-01', Date.UTC(2026, 11, 1)],
    ['2026-11-24T13:00', start + 3_600_000],
    ['2026-11-24T15:30:00+02:00', start + 5_400_000],
    [new Date(start + 1), start + 1],
    [start + 2, start + 2],
    ['window', Date.UTC(2026, 11, 1)],
  ])('until %s', async (until, time) => {
    const limiter = new RateLimiter({ policies: calendarWindow({ limit: 10, every: 'month' }), store: store() })
    expect(await limiter.override('ann', { limit: 3, until })).toMatchObject({ until: time, since: start })
    vi.setSystemTime(time - 1)
    expect(await limits(limiter, 'ann')).toEqual([3])
    vi.setSystemTime(time)
    expect(await limiter.consume('ann')).toMatchObject({ limit: 10 })
    expect(await limiter.overrides()).toEqual([])
  })

  test('an override that lasts goes on when another one for the key ends', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    await limiter.override('ann', { limit: 30, until: '1h' })
    await limiter.override('*', { scale: 0.1 })
    expect(await limits(limiter, 'ann')).toEqual([3])
    vi.setSystemTime(start + 3_600_000)
    expect(await limits(limiter, 'ann')).toEqual([1])
  })

  test('used units carry into the override and out of it', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    await limiter.consume('ann', { cost: 4 })
    await limiter.override('ann', { add: 500, until: '1h' })
    expect(await limiter.consume('ann', { cost: 2 })).toMatchObject({ limit: 510, remaining: 504 })
    vi.setSystemTime(start + 3_600_000)
    expect(await limiter.consume('ann')).toMatchObject({ limit: 10, remaining: 3 })
    expect((await limiter.usage('ann')).policies).toMatchObject([{ limit: 10, used: 7 }])
  })

  test('removeOverride ends it, once', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    const { id } = await limiter.override('ann', { limit: 3, reason: 'contract' })
    expect(await limiter.overrides()).toEqual([
      {
        id,
        scope: 'default',
        key: 'ann',
        policy: 'month',
        limit: 3,
        reason: 'contract',
        since: start,
        effective: true,
      },
    ])
    expect([await limiter.removeOverride(id), await limiter.removeOverride(id)]).toEqual([true, false])
    expect([await limits(limiter, 'ann'), await limiter.overrides()]).toEqual([[10], []])
    expect((await limiter.override('ann', { limit: 4 })).id).not.toBe(id)
  })
})

describe('plans', () => {
  test('an override holds under every plan that has the name, and says where it changes nothing', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    const pro = limiter.withPlan(fixedWindow({ name: 'month', limit: 100, window: '30d' }))
    const other = limiter.withPlan('5/1s')
    await limiter.override('ann', { policy: 'month', add: 7 })
    const day = policy('3/1d', { name: 'day' })
    await limiter.withPlan(day).override('bob', { policy: 'day', limit: 3 })
    expect([await limits(limiter, 'ann'), await limits(pro, 'ann'), await limits(other, 'ann')]).toEqual([
      [17],
      [107],
      [5],
    ])
    expect((await limiter.overrides()).map(({ effective }) => effective)).toEqual([true, false])
    expect((await other.overrides()).map(({ effective }) => effective)).toEqual([false, false])
    expect(await limiter.withPlan('unlimited').consume('ann')).toMatchObject({ allowed: true, policies: [] })
  })

  test('a number that a plan cannot have keeps no less specific number away, before and after its end', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    const plan = limiter.withPlan(slidingWindow({ name: 'month', limit: 20, window: '366d' }))
    await limiter.override('ann', { limit: 2 ** 50, until: start + 2000 })
    expect(await plan.peek('ann')).not.toHaveProperty('override')
    const { id } = await limiter.override('*', { limit: 25 })
    const low = await limiter.override({ prefix: 'an' }, { limit: 3, until: start + 1000 })
    await plan.consume('ann', { cost: 3 })
    expect(await plan.consume('ann')).toMatchObject({ limit: 3, retryAfter: 1000, override: [{ id: low.id }] })
    for (const wait of [1000, 2000]) {
      vi.setSystemTime(start + wait)
      expect(await plan.consume('ann')).toMatchObject({ allowed: true, limit: 25, override: [{ id }] })
    }
  })

  test('policies whose names another scope of a plan has change nothing there, and the other overrides still hold', async () => {
    const own = (name: string, limit: number) => [
      policy(`${limit}/1s`, { name: 'a', scope: 'x' }),
      policy(`${limit}/1m`, { name, scope: 'y' }),
    ]
    const limiter = new RateLimiter({ policies: own('c', 40), store: store() })
    const plan = limiter.withPlan(own('b', 50))
    await limiter.override('*', { scale: 0.5 })
    await limiter.override({ y: 'k' }, { policy: 'c', limit: 30 })
    await limiter.override({ x: 'k' }, { policies: policy('9/1s', { name: 'b' }) })
    expect(await limits(limiter, { x: 'k', y: 'k' })).toEqual([5, 15])
    expect(await limits(plan, { x: 'k', y: 'k' })).toEqual([25, 25])
    expect((await limiter.overrides()).map(({ effective }) => effective)).toEqual([true, true, true])
    expect((await plan.overrides()).map(({ effective }) => effective)).toEqual([true, false, false])
  })

  test('of two overrides with policies, only the one that a plan cannot have is left out', async () => {
    const scopes = ['user', 'team', 'address']
    const own = (last: string) =>
      scopes.map((scope) => policy('9/1h', { name: scope === 'team' ? last : scope, scope }))
    const limiter = new RateLimiter({ policies: own('team'), store: store() })
    const plan = limiter.withPlan(own('clash'))
    const trial = (name: string) => ({ policies: policy('3/1h', { name }) })
    await limiter.override({ user: 'k' }, trial('clash'))
    await limiter.override({ address: 'k' }, trial('fine'))
    const key = { user: 'k', team: 'k', address: 'k' }
    expect(await limits(limiter, key)).toEqual([3, 9, 3])
    expect(await limits(plan, key)).toEqual([9, 9, 3])
    expect((await plan.overrides()).map(({ effective }) => effective)).toEqual([false, true])
  })

  test('policies replace the one that asks for the calendar of the customer, whom every call still names', async () => {
    const month = calendarWindow({ name: 'month', limit: 9, every: 'month', anchor: 'caller', scope: 'user' })
    const limiter = new RateLimiter({ policies: [month, quota('50/day', { scope: 'team' })], store: store() })
    const key = { user: 'ann', team: 't' }
    const calendar = { anchor: 15 }
    const { id } = await limiter.override({ user: 'ann' }, { policies: '4/1h' })
    const reservation = await limiter.reserve(key, { calendar })
    await reservation.settle(2)
    expect(await limiter.consume(key, { calendar })).toMatchObject({ allowed: true, remaining: 1 })
    expect(await limiter.consume(key, { calendar: { user: calendar } })).toMatchObject({ allowed: true, remaining: 0 })
    for (const verb of ['peek', 'usage', 'refund', 'charge'] as const) await limiter[verb](key, { calendar })
    await limiter.removeOverride(id)
    expect(await limiter.consume(key, { calendar })).toMatchObject({ allowed: true, limit: 9 })
    await expect(limiter.consume(key)).rejects.toMatchObject({ code: 'HEADGATE_CALENDAR' })
  })
})

describe('calls', () => {
  const costs = () => [
    fixedWindow({ name: 'requests', limit: 10, window: '30d' }),
    fixedWindow({ name: 'tokens', limit: 5000, window: '30d' }),
  ]

  test('a reservation settles under the plan with which it began', async () => {
    const limiter = new RateLimiter({ policies: costs(), store: store() })
    const before = await limiter.reserve('ann', { cost: { requests: 1, tokens: 2000 } })
    const { id } = await limiter.override('ann', { policies: '5/1m' })
    const during = await limiter.reserve('ann', { cost: { requests: 1, tokens: 2000 } })
    expect(during.decision).toMatchObject({ allowed: true, policy: '1m', remaining: 4, override: [{ id }] })
    await before.settle({ tokens: 700 })
    await during.settle({ tokens: 100 })
    expect(await limiter.peek('ann')).toMatchObject({ policy: '1m', remaining: 4 })
    await limiter.removeOverride(id)
    expect((await limiter.usage('ann')).policies.map(({ used }) => used)).toEqual([1, 700])
  })

  test('a cost is read under the plan of the caller: a new policy takes 1', async () => {
    const limiter = new RateLimiter({ policies: costs(), store: store() })
    await limiter.override('ann', {
      policies: [policy('5/1m', { name: 'new' }), fixedWindow({ name: 'tokens', limit: 900, window: '30d' })],
    })
    const cost = { requests: 1, tokens: 300 }
    expect((await limiter.consume('ann', { cost })).policies.map(({ remaining }) => remaining)).toEqual([4, 600])
    expect((await limiter.charge('ann', { cost })).policies.map(({ remaining }) => remaining)).toEqual([3, 300])
    expect((await limiter.refund('ann', { cost })).policies.map(({ remaining }) => remaining)).toEqual([4, 600])
    expect(await limiter.peek('ann', { cost: [{ requests: 1, tokens: 901 }, cost] })).toMatchObject({ allowed: true })
    await expect(limiter.consume('ann', { cost: { new: 1 } })).rejects.toMatchObject({ code: 'HEADGATE_COST' })
  })

  test('a list of costs: a cost whose policies are gone takes units all the same', async () => {
    const [own, pool] = ['own', 'pool'].map((name) => fixedWindow({ name, limit: 20, window: '1d' })) as [
      Policy,
      Policy,
    ]
    const limiter = new RateLimiter({ policies: [own, pool], store: store() })
    const cost = [
      { own: 1, pool: 0 },
      { own: 0, pool: 2 },
    ]
    await limiter.override('ann', { policies: fixedWindow({ name: 'own', limit: 5, window: '1d' }) })
    const decisions = await Promise.all(Array.from({ length: 7 }, () => limiter.consume('ann', { cost })))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, true, false, false])
    expect((await limiter.consume('bob', { cost })).allowed).toBe(true)
    await limiter.override('eve', { policies: fixedWindow({ name: 'pool', limit: 5, window: '1d' }) })
    const used = async () => (await limiter.usage('eve')).policies.map((policy) => policy.used)
    await limiter.consume('eve', { cost })
    expect(await used()).toEqual([1])
    await limiter.consume('eve', { cost: cost.slice(1) })
    expect(await used()).toEqual([3])
    await limiter.override('sue', {
      policies: fixedWindow({ name: 's', limit: 9, window: '1h', shadow: true }),
    })
    expect(await limiter.consume('sue', { cost })).toMatchObject({ allowed: true, policies: [{ name: 's', used: 0 }] })
  })

  test('inspect, list, bans, reset and events show what decides', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    await limiter.consume('ann', { cost: 3 })
    const { id } = await limiter.override('ann', { limit: 2, reason: 'abuse' })
    const override = [{ id, reason: 'abuse' }]
    expect(await limiter.inspect('ann')).toMatchObject({
      refused: true,
      override,
      policies: [{ limit: 2, remaining: 0 }],
    })
    const listed: unknown[] = []
    for await (const { key } of limiter.list({ refused: true })) listed.push(key)
    expect(listed).toEqual(['ann'])
    await limiter.ban('ann', '1h')
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, policy: 'ban', override })
    await limiter.reset('ann')
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, remaining: 1 })
  })

  test('the rows of other keys stay exact when an override begins and ends', async () => {
    const limiter = new RateLimiter({ policies: month(), store: store() })
    for (const key of ['ann', 'bob', 'cat']) await limiter.consume(key, { cost: 4 })
    const { id } = await limiter.override({ prefix: 'a' }, { scale: 0.5 })
    const held = await limiter.reserve('ann')
    await limiter.consume('amy')
    await limiter.consume('bob')
    await limiter.removeOverride(id)
    await held.cancel()
    const used = async (key: string) => (await limiter.usage(key)).policies[0]?.used
    expect([await used('ann'), await used('amy'), await used('bob'), await used('cat')]).toEqual([4, 1, 5, 4])
  })
})
