import { tokenBucket } from '../algorithms/buckets/index.ts'
import type { Policy } from '../algorithms/index.ts'
import { concurrency } from '../algorithms/logs/index.ts'
import { fixedWindow, slidingWindow } from '../algorithms/windows/index.ts'
import type { Key, RateLimiter, Reservation } from '../limiter/index.ts'
import { assertEqual } from './assert.ts'
import { samples } from './sample-policies.ts'
import { limiterOn, play, type StoreCases } from './timeline.ts'

/** Policies that give units of a settled reservation back exactly, within a window of an hour. */
function settling(limit: number): readonly Policy[] {
  return Object.values(samples)
    .map((make, n) => make({ name: `sample ${n}`, limit, window: '1h' }))
    .filter(({ burst, algorithm }) => burst >= limit && algorithm.settles && !algorithm.leases)
}

async function usedOf(limiter: RateLimiter, key: Key = 'k'): Promise<number[]> {
  return (await limiter.peek(key)).policies.map(({ used }) => used)
}

async function reserved(limiter: RateLimiter, costs: readonly number[]): Promise<Reservation[]> {
  const made: Reservation[] = []
  for (const cost of costs) made.push(await limiter.reserve('k', { cost }))
  return made
}

export const reservationCases: StoreCases = {
  'reservations are settled in any order, and exactly their actual units are used': async ({ store, at }) => {
    at(0)
    for (const policies of settling(1000)) {
      const { name, burst } = policies
      const limiter = limiterOn(store, policies, { name })
      const made = await reserved(limiter, [80, 30, 200, 50, 5, 100, 60, 300])
      for (const [n, order] of [5, 0, 7, 3, 1, 6, 2, 4].entries()) await made[order]?.settle(n)
      assertEqual([(await limiter.peek('k')).remaining, await usedOf(limiter)], [burst - 28, [28]], name)
    }
  },

  'concurrent settlements of many reservations lose no unit': async ({ store }) => {
    const limiter = limiterOn(store, ['1000/1h token-bucket', '900/1d fixed-window'])
    const made = await reserved(limiter, new Array(64).fill(10))
    await Promise.all(made.map((reservation, n) => (n % 4 === 0 ? reservation.cancel() : reservation.settle(2))))
    assertEqual(await usedOf(limiter), [96, 96])
  },

  'a bucket gives back what has not drained since, whatever came after': async (fixture) => {
    const limiter = limiterOn(fixture.store, '60/1m token-bucket')
    fixture.at(0)
    const [first, second] = (await reserved(limiter, [30, 10])) as [Reservation, Reservation]
    await play(fixture, limiter)`20000: consume k 5 -> ok 35`
    await first.cancel()
    assertEqual((await limiter.peek('k')).remaining, 55, 'the 10 others have drained, and so have 10 of the 30')
    await second.cancel()
    assertEqual((await limiter.peek('k')).remaining, 55, 'nothing of it is left')
  },

  'a settlement after a reset gives nothing back': async ({ store }) => {
    for (const policies of settling(10)) {
      const { name, burst } = policies
      const limiter = limiterOn(store, policies, { name: `reset ${name}` })
      const [before] = await reserved(limiter, [8])
      await limiter.reset('k')
      const [after] = await reserved(limiter, [6])
      await before?.cancel()
      assertEqual((await limiter.peek('k')).remaining, burst - 6, name)
      await after?.cancel()
      assertEqual((await limiter.peek('k')).remaining, burst, name)
    }
  },

  'what is given back under one plan leaves the units that other plans have used': async ({ store }) => {
    const small = limiterOn(store, '10/1h fixed-window')
    const large = small.withPlan('100/1h fixed-window')
    const reservation = await small.reserve('k')
    assertEqual((await large.consume('k', { cost: 99 })).remaining, 0)
    await reservation.cancel()
    assertEqual((await large.peek('k')).remaining, 1)
    assertEqual((await small.refund('k')).remaining, 0)
    assertEqual((await large.peek('k')).remaining, 2)
  },

  'each policy takes a cost of its own, and a settlement corrects what it names': async ({ store }) => {
    const requests = fixedWindow({ name: 'requests', limit: 10, window: '1h' })
    const tokens = slidingWindow({ name: 'tokens', scope: 'user', limit: 5000, window: '1h' })
    const limiter = limiterOn(store, [requests, tokens])
    const key = { default: 'a', user: 'u' }
    const reservation = await limiter.reserve(key, { cost: { requests: 1, tokens: 2000 } })
    assertEqual((await limiter.consume(key, { cost: { requests: 0, tokens: 3001 } })).allowed, false)
    assertEqual((await limiter.consume(key, { cost: { requests: 2, tokens: 0 } })).allowed, true)
    assertEqual(await usedOf(limiter, key), [3, 2000])
    await reservation.settle({ tokens: 742 })
    assertEqual(await usedOf(limiter, key), [3, 742])
    await limiter.charge(key, { cost: { requests: 0, tokens: 58 } })
    await limiter.refund(key, { cost: { requests: 1, tokens: 100 } })
    assertEqual(await usedOf(limiter, key), [2, 700])
  },

  'units in flight leave when they are released or their lease ends, and can be renewed': async ({ store, at }) => {
    const rate = tokenBucket({ name: 'rate', limit: 100, window: '1h' })
    const limiter = limiterOn(store, [concurrency({ limit: 2, lease: '10s' }), rate])
    at(0)
    const [first, second] = (await reserved(limiter, [1, 1])) as [Reservation, Reservation]
    assertEqual((await limiter.reserve('k')).decision.retryAfter, 10_000)
    await first.release()
    const third = await limiter.reserve('k')
    assertEqual([third.allowed, (await limiter.reserve('k')).allowed], [true, false])
    at(6000)
    assertEqual(await second.renew(), true)
    at(10_000)
    assertEqual(await usedOf(limiter), [1, 3], 'the third has ended')
    at(15_999)
    assertEqual((await limiter.peek('k', { cost: 2 })).retryAfter, 1)
    at(16_000)
    assertEqual((await limiter.peek('k', { cost: 2 })).allowed, true)
    await second.cancel()
    assertEqual((await usedOf(limiter))[0], 0)
  },

  'under plans with other leases, each unit in flight leaves when its own lease ends or it is released': async ({
    store,
    at,
  }) => {
    const limiter = limiterOn(store, concurrency({ limit: 4, lease: '10s' }), { onChange: 'scale' })
    const long = limiter.withPlan(concurrency({ limit: 40, lease: '1h' }))
    at(0)
    await limiter.reserve('k')
    at(1000)
    const second = await limiter.reserve('k', { cost: 2 })
    const third = await long.reserve('k')
    assertEqual(await usedOf(long), [4])
    await second.release()
    assertEqual(await usedOf(long), [2])
    await limiter.reserve('k')
    at(10_000)
    assertEqual(await usedOf(long), [2], 'the first has ended')
    at(11_000)
    assertEqual(await usedOf(long), [1])
    await third.release()
    assertEqual(await usedOf(long), [0])
  },
}
