/* What a candidate is asked: costs of every form, the calendar of the customer, and reservations that wait or are settled early. */
import { expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import {
  fixedWindow,
  memoryStore,
  RateLimiter,
  type RateLimiterOptions,
  type Store,
  tokenBucket,
} from '../../src/index.ts'
import { withFailover } from '../../src/store.ts'
import { ManualClock } from '../../src/testing/index.ts'

const hour = (name: string, limit: number) => fixedWindow({ name, limit, window: '1h' })
const month = (limit: number, caller: boolean, name = 'month') =>
  calendarWindow({ name, limit, every: 'month', ...(caller && { anchor: 'caller' as const }) })
const usedBy = async (limiter: RateLimiter | undefined, calendar?: { anchor: number }) =>
  (await limiter?.usage('ann', calendar && { calendar }))?.policies.map(({ used }) => used)

function limiterOf(options: RateLimiterOptions): RateLimiter {
  return new RateLimiter({ name: 'api', store: memoryStore({ clock: new ManualClock().now }), ...options })
}

test('a list of costs: each takes the first cost that its own budgets admit', async () => {
  const limiter = limiterOf({
    policies: [hour('own', 2), hour('pool', 9)],
    candidate: [hour('own', 1), hour('pool', 2), hour('new', 50)],
  })
  const cost = [
    { own: 1, pool: 0 },
    { own: 0, pool: 1 },
  ]
  for (let n = 0; n < 3; n++) await limiter.consume('ann', { cost })
  const reservation = await limiter.reserve('ann', { cost: [{ own: 0, pool: 3 }] })
  await reservation.settle({ pool: 1 })
  expect(await usedBy(limiter)).toEqual([2, 2])
  expect(await usedBy(limiter.candidate)).toEqual([1, 2, 3])
  expect(limiter.health().candidate).toEqual({ compared: 4, newlyRefused: 1, noLongerRefused: 0, undecided: 0 })
})

test('a cost that the candidate can never admit is a refusal of the candidate', async () => {
  const limiter = limiterOf({ policies: hour('hour', 9), candidate: hour('hour', 2) })
  expect((await limiter.consume('ann', { cost: 3 })).allowed).toBe(true)
  expect(limiter.health().candidate).toMatchObject({ newlyRefused: 1, undecided: 0 })
})

test('the calendar of the customer goes to a candidate that asks for it, and to no other', async () => {
  const calendar = { anchor: 15 }
  for (const candidate of [month(5, true), month(5, false, 'fixed')]) {
    const limiter = limiterOf({ policies: month(9, true), candidate })
    await limiter.consume('ann', { cost: 2, calendar })
    await limiter.charge('ann', { calendar })
    await (await limiter.reserve('ann', { cost: 2, calendar })).settle(1)
    const asks = candidate.name === 'month'
    expect(await usedBy(limiter, calendar)).toEqual([4])
    expect(await usedBy(limiter.candidate, asks ? calendar : undefined)).toEqual([4])
    expect(limiter.health().candidate).toEqual({ compared: 2, newlyRefused: 0, noLongerRefused: 0, undecided: 0 })
  }
})

test('a reservation for a later time is one of the candidate too, and cancel gives both back', async () => {
  const bucket = (limit: number) => tokenBucket({ name: 'rate', limit, window: '1s', burst: 1 })
  const limiter = limiterOf({ policies: bucket(10), candidate: bucket(5) })
  const [first, second, third] = [
    await limiter.reserve('ann', { maxWait: '150ms' }),
    await limiter.reserve('ann', { maxWait: '150ms' }),
    await limiter.reserve('ann', { maxWait: '250ms' }),
  ]
  expect([first.wait, second.wait, third.wait]).toEqual([0, 100, 200])
  expect(limiter.health().candidate).toMatchObject({ compared: 3, newlyRefused: 1 })
  for (const each of [third, second, first]) await each.cancel()
  expect(await usedBy(limiter)).toEqual([0])
  expect(await usedBy(limiter.candidate)).toEqual([0])
})

test('a reservation that is settled before the candidate has answered is settled there when it answers', async () => {
  const inner = memoryStore({ clock: new ManualClock().now })
  let answer = () => {}
  const late = new Promise<void>((resolve) => {
    answer = resolve
  })
  const store: Store = {
    synchronous: false,
    open: (terms, joins) =>
      withFailover(store, terms, joins, (bare) => {
        const ledger = inner.open(bare)
        const ready = terms.name === 'api' ? Promise.resolve() : late
        return { run: (command) => ready.then(() => ledger.run(command)) }
      }),
  }
  const limiter = limiterOf({ policies: hour('hour', 9), candidate: hour('hour', 8), store, storeTimeout: '1h' })
  const reservation = await limiter.reserve('ann', { cost: 5 })
  await reservation.settle(2)
  await reservation.settle(1)
  expect(await usedBy(limiter)).toEqual([2])
  expect(limiter.health().candidate).toMatchObject({ compared: 0 })
  answer()
  await expect.poll(() => usedBy(limiter.candidate)).toEqual([2])
  expect(limiter.health().candidate).toMatchObject({ compared: 1, undecided: 0 })
})

test('a refused reservation that only the candidate admits keeps its estimate there', async () => {
  const limiter = limiterOf({ policies: hour('hour', 3), candidate: hour('hour', 9) })
  const reservation = await limiter.reserve('ann', { cost: 5 })
  await reservation.settle(1)
  expect(reservation.allowed).toBe(false)
  expect([await usedBy(limiter), await usedBy(limiter.candidate)]).toEqual([[0], [5]])
})
