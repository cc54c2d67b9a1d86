/** Timelines of calls with a list of costs, for every store that takes lists. */
import { describe, expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import {
  concurrency,
  type Decision,
  fixedWindow,
  type PolicyLike,
  RateLimiter,
  type RateLimiterOptions,
  type Reservation,
  type Store,
  slidingLog,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

export type Create = (clock: () => number) => Store

export const own = fixedWindow({ name: 'own', limit: 3, window: '10s', scope: 'org' })
export const pool = fixedWindow({ name: 'pool', limit: 5, window: '1m', scope: 'pool' })
export const ownThenPool = [
  { own: 1, pool: 0 },
  { own: 0, pool: 1 },
]
export const key = { org: 'acme', pool: 'all' }

export function setup(
  create: Create,
  policies: PolicyLike | readonly PolicyLike[] = [own, pool],
  options: Partial<RateLimiterOptions> = {},
) {
  const clock = new ManualClock()
  return { clock, limiter: new RateLimiter({ name: 'default', policies, store: create(clock.now), ...options }) }
}

/** One line for a decision: who paid or how long to wait, what was tried, what each policy has used. */
function line({ allowed, retryAfter, tried = [], policies, remaining, policy }: Decision): string {
  const refusals = tried.map((each) => `${each.policy} ${each.retryAfter}`).join(', ')
  const used = policies.map((verdict) => `${verdict.name} ${verdict.used}`).join(', ')
  return `${allowed ? 'ok' : `no ${retryAfter} by ${policy}`} [${refusals}] ${used}; ${remaining} left`
}

/** Registers the tests of lists of costs on a store. */
export function describeCostLists(name: string, create: Create): void {
  describe(name, () => {
    test('the own budget pays first, then the pool; a refusal names both and has the shortest wait', async () => {
      const { clock, limiter } = setup(create)
      const story: string[] = []
      for (let n = 0; n < 9; n++) story.push(line(await limiter.consume(key, { cost: ownThenPool })))
      clock.advance(9_999)
      story.push(line(await limiter.consume(key, { cost: ownThenPool })))
      clock.advance(1)
      story.push(line(await limiter.consume(key, { cost: ownThenPool })))
      expect(story).toEqual([
        'ok [] own 1, pool 0; 5 left',
        'ok [] own 2, pool 0; 5 left',
        'ok [] own 3, pool 0; 5 left',
        'ok [own 10000] own 3, pool 1; 4 left',
        'ok [own 10000] own 3, pool 2; 3 left',
        'ok [own 10000] own 3, pool 3; 2 left',
        'ok [own 10000] own 3, pool 4; 1 left',
        'ok [own 10000] own 3, pool 5; 0 left',
        'no 10000 by own [own 10000, pool 60000] own 3, pool 5; 0 left',
        'no 1 by own [own 1, pool 50001] own 3, pool 5; 0 left',
        'ok [] own 1, pool 5; 2 left',
      ])
    })

    test('the pool is the shorter wait although it is asked second', async () => {
      const slow = fixedWindow({ name: 'own', limit: 1, window: '1h', scope: 'org' })
      const { limiter } = setup(create, [slow, fixedWindow({ name: 'pool', limit: 1, window: '1m', scope: 'pool' })])
      for (let n = 0; n < 2; n++) await limiter.consume(key, { cost: ownThenPool })
      const refused = await limiter.consume(key, { cost: ownThenPool })
      expect(refused).toMatchObject({ allowed: false, policy: 'pool', limit: 1, retryAfter: 60_000 })
      expect(refused.policies.map(({ name, retryAfter }) => [name, retryAfter])).toEqual([
        ['own', 3_600_000],
        ['pool', 60_000],
      ])
    })

    test('peek tells what consume would, and changes nothing', async () => {
      const { limiter } = setup(create)
      for (let n = 0; n < 4; n++) {
        await limiter.consume(key, { cost: ownThenPool })
        const peeked = await limiter.peek(key, { cost: ownThenPool })
        expect(peeked.tried?.map(({ policy }) => policy)).toEqual(n < 2 ? [] : ['own'])
        expect(peeked).toEqual(await limiter.peek(key, { cost: ownThenPool }))
      }
    })

    test('a cost that can never be admitted is passed over; if none can, the wait is Infinity', async () => {
      const { limiter } = setup(create)
      const cost = [
        { own: 4, pool: 0 },
        { own: 0, pool: 4 },
      ]
      expect(line(await limiter.consume(key, { cost }))).toBe('ok [own Infinity] own 0, pool 4; 3 left')
      const never = [
        { own: 4, pool: 0 },
        { own: 0, pool: 6 },
      ]
      expect(line(await limiter.consume(key, { cost: never }))).toBe(
        'no Infinity by own [own Infinity, pool Infinity] own 0, pool 4; 3 left',
      )
    })

    test('a policy that both costs ask is taken once', async () => {
      const minute = slidingLog({ name: 'minute', limit: 4, window: '1m', scope: 'org' })
      const { limiter } = setup(create, [minute, own, pool])
      const cost = ownThenPool.map((each) => ({ minute: 1, ...each }))
      const story: string[] = []
      for (let n = 0; n < 5; n++) story.push(line(await limiter.consume(key, { cost })))
      expect(story).toEqual([
        'ok [] minute 1, own 1, pool 0; 3 left',
        'ok [] minute 2, own 2, pool 0; 2 left',
        'ok [] minute 3, own 3, pool 0; 1 left',
        'ok [own 10000] minute 4, own 3, pool 1; 0 left',
        'no 60000 by minute [minute 60000, minute 60000] minute 4, own 3, pool 1; 0 left',
      ])
    })

    test('a refusal counts once for a penalty, and a call that the pool pays counts for none', async () => {
      const { clock, limiter } = setup(create, [own, pool], {
        penalty: { after: 2, within: '1m', ban: '20s', scope: 'org' },
      })
      for (let n = 0; n < 8; n++) await limiter.consume(key, { cost: ownThenPool })
      const counted = async () => (await limiter.peek(key, { cost: ownThenPool })).policies.at(-1)?.used
      expect(await counted()).toBe(0)
      const first = await limiter.consume(key, { cost: ownThenPool })
      expect([first.retryAfter, await counted()]).toEqual([10_000, 1])
      const second = await limiter.consume(key, { cost: ownThenPool })
      expect(second).toMatchObject({ allowed: false, retryAfter: 20_000, policy: 'penalty' })
      expect(second.tried).toEqual([
        { policy: 'penalty', retryAfter: 20_000 },
        { policy: 'pool', retryAfter: 60_000 },
      ])
      clock.advance(19_999)
      expect((await limiter.peek(key, { cost: ownThenPool })).allowed).toBe(false)
      clock.advance(1)
      expect((await limiter.consume(key, { cost: ownThenPool })).allowed).toBe(true)
    })

    test('a penalty until the end of the window bans for the shortest wait of the list', async () => {
      const penalty = { after: 1, within: '1m', until: 'window', scope: 'org' } as const
      const { clock, limiter } = setup(create, [own, pool], { penalty })
      for (let n = 0; n < 8; n++) await limiter.consume(key, { cost: ownThenPool })
      expect((await limiter.consume(key, { cost: ownThenPool })).retryAfter).toBe(10_000)
      clock.advance(9_999)
      expect((await limiter.peek(key, { cost: ownThenPool })).retryAfter).toBe(1)
      clock.advance(1)
      expect((await limiter.consume(key, { cost: ownThenPool })).tried).toEqual([])
    })

    test('countRefused counts one refusal in each budget that was tried, and retryAfter comes true', async () => {
      const log = (name: string, window: string, scope: string) =>
        slidingLog({ name, limit: 1, window, scope, countRefused: true })
      const { clock, limiter } = setup(create, [log('own', '10s', 'org'), log('pool', '15s', 'pool')])
      for (let n = 0; n < 2; n++) await limiter.consume(key, { cost: ownThenPool })
      clock.advance(4000)
      const refused = await limiter.consume(key, { cost: ownThenPool })
      expect(refused).toMatchObject({ allowed: false, policy: 'own', retryAfter: 10_000 })
      expect(refused.tried).toEqual([
        { policy: 'own', retryAfter: 10_000 },
        { policy: 'pool', retryAfter: 15_000 },
      ])
      clock.advance(9_999)
      expect((await limiter.peek(key, { cost: ownThenPool })).allowed).toBe(false)
      clock.advance(1)
      expect((await limiter.consume(key, { cost: ownThenPool })).allowed).toBe(true)
    })

    test('if another cost has the shortest wait once the refusal is counted, the decision shows that cost', async () => {
      const { limiter } = setup(create, [
        fixedWindow({ name: 'own', limit: 10, window: '15s', scope: 'org', countRefused: true }),
        fixedWindow({ name: 'pool', limit: 10, window: '10s', scope: 'pool' }),
      ])
      await limiter.consume(key, { cost: { own: 9, pool: 8 } })
      const cost = [
        { own: 2, pool: 1 },
        { own: 1, pool: 3 },
      ]
      const { retryAfter, policies } = await limiter.consume(key, { cost })
      expect(retryAfter).toBe(15_000)
      expect(policies.map(({ name, used, retryAfter }) => [name, used, retryAfter])).toEqual([
        ['own', 10, 15_000],
        ['pool', 8, 0],
      ])
    })

    test('reservations settle to the budget that paid, in any order', async () => {
      const { limiter } = setup(create, [
        fixedWindow({ name: 'own', limit: 10, window: '1h', scope: 'org' }),
        fixedWindow({ name: 'pool', limit: 100, window: '1h', scope: 'pool' }),
      ])
      const cost = [
        { own: 4, pool: 0 },
        { own: 0, pool: 4 },
      ]
      const reservations: Reservation[] = []
      for (let n = 0; n < 5; n++) reservations.push(await limiter.reserve(key, { cost }))
      expect(reservations.map(({ decision }) => decision.tried?.length)).toEqual([0, 0, 1, 1, 1])
      const used = async () => (await limiter.usage(key)).policies.map((policy) => policy.used)
      expect(await used()).toEqual([8, 12])
      await reservations[3]?.settle({ own: 1, pool: 1 })
      expect(await used()).toEqual([8, 9])
      await reservations[0]?.settle({ own: 1, pool: 1 })
      expect(await used()).toEqual([5, 9])
      await reservations[4]?.settle(6)
      expect(await used()).toEqual([5, 11])
      await reservations[1]?.cancel()
      await reservations[2]?.cancel()
      expect(await used()).toEqual([1, 7])
      await reservations[2]?.settle(9)
      expect(await used()).toEqual([1, 7])
    })

    test('reserve takes the first cost that is granted within maxWait', async () => {
      const { limiter } = setup(create, [
        tokenBucket({ name: 'own', limit: 1, window: '1s', scope: 'org' }),
        tokenBucket({ name: 'pool', limit: 1, window: '5s', scope: 'pool' }),
      ])
      const waits: string[] = []
      for (let n = 0; n < 5; n++) {
        const { allowed, wait, decision } = await limiter.reserve(key, {
          cost: ownThenPool,
          maxWait: n === 1 ? 500 : 2000,
        })
        waits.push(`${allowed ? wait : `no ${decision.retryAfter}`} ${decision.tried?.map(({ policy }) => policy)}`)
      }
      expect(waits).toEqual(['0 ', '0 own', '1000 ', '2000 ', 'no 3000 own,pool'])
    })

    test('units in flight follow the cost that was taken', async () => {
      const { limiter } = setup(create, [
        concurrency({ name: 'own', limit: 1, lease: '1m', scope: 'org' }),
        concurrency({ name: 'pool', limit: 1, lease: '1m', scope: 'pool' }),
      ])
      const first = await limiter.reserve(key, { cost: ownThenPool })
      const second = await limiter.reserve(key, { cost: ownThenPool })
      expect((await limiter.reserve(key, { cost: ownThenPool })).allowed).toBe(false)
      expect(await second.renew()).toBe(true)
      await second.settle(0)
      expect((await limiter.peek(key, { cost: ownThenPool })).tried?.map(({ policy }) => policy)).toEqual(['own'])
      await first.release()
      expect((await limiter.peek(key, { cost: ownThenPool })).tried).toEqual([])
    })

    test('a ban by hand refuses a call with a list; its wait is the longer of the ban and the shortest wait', async () => {
      const { clock, limiter } = setup(create)
      for (let n = 0; n < 3; n++) await limiter.consume(key, { cost: ownThenPool })
      await limiter.ban({ org: 'acme' }, '2s')
      expect(await limiter.consume(key, { cost: ownThenPool })).toMatchObject({ policy: 'ban', retryAfter: 2000 })
      expect((await limiter.usage(key)).policies.map(({ used }) => used)).toEqual([3, 0])
      clock.advance(2000)
      for (let n = 0; n < 5; n++) await limiter.consume(key, { cost: ownThenPool })
      await limiter.ban({ org: 'acme' }, '2s')
      const refused = await limiter.consume(key, { cost: ownThenPool })
      expect([refused.policy, refused.retryAfter]).toEqual(['ban', 8000])
    })

    test('months of an own budget and of a pool', async () => {
      const clock = new ManualClock(Date.UTC(2026, 0, 31, 23))
      const store = create(clock.now)
      const month = (name: string, limit: number, scope: string, anchor: number) =>
        calendarWindow({ name, limit, every: 'month', scope, anchor })
      const limiter = new RateLimiter({
        name: 'm',
        policies: [month('own', 1, 'org', 1), month('pool', 1, 'pool', 15)],
        store,
      })
      const call = async () => line(await limiter.consume(key, { cost: ownThenPool }))
      expect([await call(), await call(), await call()]).toEqual([
        'ok [] own 1, pool 0; 1 left',
        'ok [own 3600000] own 1, pool 1; 0 left',
        `no 3600000 by own [own 3600000, pool ${(14 * 24 + 1) * 3_600_000}] own 1, pool 1; 0 left`,
      ])
      clock.advance('1h')
      expect(await call()).toBe('ok [] own 1, pool 1; 0 left')
    })

    test('a shadow policy refuses no cost of a list', async () => {
      const { limiter } = setup(create, [{ ...own, shadow: true }, pool])
      for (let n = 0; n < 4; n++) await limiter.consume(key, { cost: ownThenPool })
      const { allowed, tried, policies } = await limiter.peek(key, { cost: ownThenPool })
      expect([allowed, tried, policies.map(({ used }) => used)]).toEqual([true, [], [3, 0]])
    })
  })
}
