import { describe, expect, test } from 'vitest'
import {
  type Clock,
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  policy,
  RateLimiter,
  type Store,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

const constructors = { fixedWindow, slidingWindow, slidingLog, segmentedWindow, tokenBucket, leakyBucket, gcra }

/** Tests that a limit of 0 admits nobody on a store. @param create a new, empty store on the clock */
export function describeClosed(store: string, create: (clock: Clock) => Store): void {
  describe(`a limit of 0 on ${store}`, () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    test.each(Object.entries(constructors))('%s admits nobody, by any verb, at any time', async (_name, make) => {
      for (const countRefused of [false, true]) {
        const limiter = new RateLimiter({
          name: 'default',
          policies: make({ limit: 0, window: '1h', countRefused }),
          store: create(clock.now),
        })
        const refused = { allowed: false, limit: 0, remaining: 0, retryAfter: Infinity, resetAfter: 0 }
        for (let n = 0; n < 3; n++) {
          expect(await limiter.consume('k')).toMatchObject(refused)
          expect(await limiter.consume('k', { cost: 2 ** 53 - 1 })).toMatchObject(refused)
          expect(await limiter.peek('k')).toMatchObject(refused)
          const reservation = await limiter.reserve('k', { maxWait: '366d' })
          expect([reservation.allowed, reservation.decision.retryAfter]).toEqual([false, Infinity])
          for (const cost of [5, 2 ** 53 - 1]) {
            expect(await limiter.charge('k', { cost })).toMatchObject({ remaining: 0, resetAfter: 0 })
          }
          expect(await limiter.refund('k', { cost: 9 })).toMatchObject({ remaining: 0, resetAfter: 0 })
          await limiter.reset('k')
          clock.advance('2h')
        }
      }
    })

    test('used units of another plan, also units in flight and booked ones, stay there and count for nothing here', async () => {
      const limits = [tokenBucket({ name: 'p', limit: 1, window: '1h' }), concurrency({ name: 'p', limit: 2 })]
      for (const open of limits) {
        const limiter = new RateLimiter({ name: 'default', policies: open, store: create(clock.now) })
        const held = await limiter.reserve('k')
        const none = limiter.withPlan({ name: 'p', limit: 0, window: '1h' })
        const inFlight = limiter.withPlan(concurrency({ name: 'p', limit: 0 }))
        for (const closed of [none, inFlight]) {
          expect(await closed.consume('k')).toMatchObject({ remaining: 0, retryAfter: Infinity, resetAfter: 0 })
          expect((await closed.peek('k')).policies[0]).toMatchObject({ used: 0 })
          await closed.charge('k', { cost: 1 }) // is owed under the plan that has the units
        }
        expect((await limiter.inspect('k')).policies[0]).toMatchObject({ used: 3, limit: open.limit })
        await held.cancel()
        expect((await limiter.inspect('k')).policies[0]).toMatchObject({ used: 2 })
      }
    })

    test('it refuses beside other policies and takes nothing from them; as a shadow it only reports', async () => {
      const policies = [policy('9/1h'), policy('0/1d')]
      const limiter = new RateLimiter({ policies, store: create(clock.now), name: 'beside' })
      expect(await limiter.consume('k')).toMatchObject({ allowed: false, policy: '1d', retryAfter: Infinity })
      expect((await limiter.peek('k')).policies[0]).toMatchObject({ remaining: 9 })
      const shadowed = [policy('9/1h'), policy('0/1d', { shadow: true })]
      const open = new RateLimiter({ policies: shadowed, store: create(clock.now), name: 'shadowed' })
      const { allowed, remaining, policies: verdicts } = await open.consume('k')
      expect([allowed, remaining, verdicts[1]?.allowed, verdicts[1]?.retryAfter]).toEqual([true, 8, false, Infinity])
    })

    test.each(['keep', 'scale'] as const)('a plan goes from and to it by %s', async (onChange) => {
      for (const name of ['fixed-window', 'sliding-window', 'token-bucket', 'sliding-log', 'segmented-window']) {
        const limiter = new RateLimiter({
          name: 'default',
          policies: `4/1h ${name}`,
          store: create(clock.now),
          onChange,
        })
        await limiter.consume('k', { cost: 3 })
        expect((await limiter.withPlan('0/1h').consume('k')).allowed).toBe(false)
        // Nothing was written under the limit of 0, so what was used is still used.
        expect((await limiter.withPlan(`4/1h ${name}`).peek('k')).remaining).toBe(1)
      }
    })

    test('refusals lead to a penalty like any others', async () => {
      const penalty = { after: 2, within: '1m', ban: '10m' }
      const limiter = new RateLimiter({ name: 'default', policies: '0/1h', store: create(clock.now), penalty })
      await limiter.consume('k')
      await limiter.consume('k')
      expect((await limiter.withPlan('5/1h').consume('k')).policy).toBe('penalty')
    })
  })
}
