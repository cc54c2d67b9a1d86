import { expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import { counter, type Key, memoryStore, type PlanLike, policy, RateLimiter } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { brokenStore } from '../support/async-store.ts'

const start = Date.UTC(2030, 10, 20)
const admitted = {
  ...{ allowed: true, limit: Infinity, remaining: Infinity, retryAfter: 0, resetAfter: 0 },
  ...{ policy: 'unlimited', policies: [], source: 'store' },
}

/** A limiter with two scopes on a store that nobody may ask, and its plan without limits. */
function rig() {
  const store = brokenStore(() => Promise.reject(new Error('nobody asks')))
  const penalty = { after: 1, within: '1m', ban: '2h' }
  const policies = [policy('1/1h'), policy('1/1d', { scope: 'user' })]
  return new RateLimiter({ name: 'api', policies, store, penalty, onStoreError: 'closed', top: 10 })
}

test.each<[string, PlanLike]>([
  ['a text', 'unlimited'],
  ['a plan', { policies: 'unlimited' }],
  ['a plan with a penalty', { policies: 'unlimited', penalty: { after: 1, within: '1m', ban: '2h' } }],
])('%s: every call is admitted, whatever its key and cost, and no store is asked', async (_, plan) => {
  const limiter = rig().withPlan(plan)
  expect(limiter).toMatchObject({ policies: [], scopes: [], penalty: undefined })
  for (const key of ['ann', { default: 'a', user: 'ann' }, { user: 'ann' }] satisfies Key[]) {
    for (const cost of [1, 2 ** 53 - 1, { '1h': 3, tokens: 0 }]) {
      for (const verb of ['consume', 'peek', 'charge', 'refund'] as const) {
        expect(await limiter[verb](key, { cost })).toEqual(admitted)
      }
      const reservation = await limiter.reserve(key, { cost, maxWait: '1s' })
      expect(reservation).toMatchObject({ allowed: true, wait: 0, decision: admitted })
      expect(await reservation.renew()).toBe(true)
      await reservation.settle(typeof cost === 'number' ? 5 : { '1h': 9 })
      await reservation.cancel()
    }
    expect(await limiter.usage(key)).toEqual({ policies: [], at: expect.any(Number), source: 'store' })
  }
})

test('a limiter may be unlimited itself, and a synchronous one decides without a promise', async () => {
  const limiter = new RateLimiter({ policies: 'unlimited' })
  for (let n = 0; n < 3; n++) expect(limiter.consumeSync('ann')).toEqual(admitted)
  expect(limiter.withPlan('1/1h').consumeSync('ann')).toMatchObject({ remaining: 0 })
  expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
})

test('invalid arguments are errors as under any plan', async () => {
  const limiter = rig().withPlan('unlimited')
  for (const key of [5, null, undefined]) {
    await expect(limiter.consume(key as never)).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
  }
  for (const cost of [0, -1, 1.5, null, []]) {
    await expect(limiter.consume('ann', { cost: cost as never })).rejects.toMatchObject({ code: 'HEADGATE_COST' })
  }
  await expect(limiter.reserve('ann', { maxWait: -1 })).rejects.toMatchObject({ code: 'HEADGATE_MAX_WAIT' })
  for (const policies of [['unlimited'], ['1/1h', 'unlimited'], 'Unlimited']) {
    expect(() => new RateLimiter({ policies })).toThrow(expect.objectContaining({ code: 'HEADGATE_POLICY' }))
  }
  for (const pacer of ['unlimited', { policies: 'unlimited' }]) {
    expect(() => new Pacer(pacer)).toThrow(expect.objectContaining({ code: 'HEADGATE_POLICY' }))
  }
})

test('it has no states, so methods for states are errors', async () => {
  const limiter = rig().withPlan('unlimited')
  const without = (method: string) => ({
    code: 'HEADGATE_UNSUPPORTED',
    message: expect.stringMatching(`^The plan 'unlimited' has no states, so it has no ${method}\\. `),
  })
  await expect(limiter.reset('ann')).rejects.toMatchObject(without('reset'))
  await expect(limiter.inspect('ann')).rejects.toMatchObject(without('inspect'))
  await expect(limiter.forget(['ann'])).rejects.toMatchObject(without('forget'))
  await expect(limiter.forget([{ user: 'ann' }])).rejects.toMatchObject(without('forget'))
  await expect(limiter.forget([5 as never])).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
  await expect(limiter.ban('ann', '1h')).rejects.toMatchObject(without('ban'))
  await expect(limiter.unban('ann')).rejects.toMatchObject(without('unban'))
  await expect(limiter.clear()).rejects.toMatchObject(without('clear'))
})

test('what other plans have counted stays as it is', async () => {
  const clock = new ManualClock(start)
  const limiter = new RateLimiter({ policies: '3/1h', store: memoryStore({ clock: clock.now }) })
  await limiter.consume('ann', { cost: 2 })
  for (let n = 0; n < 9; n++) await limiter.withPlan('unlimited').consume('ann')
  expect((await limiter.peek('ann')).remaining).toBe(1)
})

test('a plan may count usage without a limit: by a counter, or by a window of a calendar that nobody reaches', async () => {
  const clock = new ManualClock(start)
  const month = (limit: number) => calendarWindow({ limit, every: 'month' })
  const limiter = new RateLimiter({ policies: month(1000), store: memoryStore({ clock: clock.now }) })
  const counting = limiter.withPlan([month(2 ** 52), counter({ window: '1d' })])
  await limiter.consume('ann', { cost: 10 })
  await counting.consume('ann', { cost: 1_000_000 })
  expect((await counting.usage('ann')).policies).toMatchObject([
    { name: 'month', used: 1_000_010, limit: Infinity, remaining: Infinity, end: Date.UTC(2030, 11) },
    { name: 'counter', used: 1_000_000, limit: Infinity, remaining: Infinity },
  ])
  expect(await limiter.consume('ann')).toMatchObject({ allowed: false }) // the old plan knows what was used
  clock.advance('11d')
  expect(await limiter.consume('ann')).toMatchObject({ allowed: true, remaining: 999 })
})
