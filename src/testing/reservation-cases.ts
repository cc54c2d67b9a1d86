import { gcra, tokenBucket } from '../algorithms/buckets/index.ts'
import type { Policy } from '../algorithms/index.ts'
import { concurrency, slidingLog } from '../algorithms/logs/index.ts'
import { fixedWindow, slidingWindow } from '../algorithms/windows/index.ts'
import type { HeadgateError } from '../common/index.ts'
import type { Key, RateLimiter, Reservation } from '../limiter/index.ts'
import { assertEqual } from './assert.ts'
import { samples } from './sample-policies.ts'
import { limiterOn, play, type StoreCases } from './timeline.ts'

/** Policies with a window of an hour that give the units of a settled reservation (corrected to its actual cost) back exactly. */
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

  'under a plan with another window, a call is admitted when it was told, and not 1 ms sooner': async (fixture) => {
    const bucket = tokenBucket({ name: 'quota', limit: 100, window: '1m' })
    const free = limiterOn(fixture.store, fixedWindow({ name: 'quota', limit: 100, window: '1h' }))
    fixture.at(0)
    await free.consume('k', { cost: 100 })
    await play(fixture, free.withPlan(bucket))`
      600000: consume k -> no 0 by quota for 3000000
      3599999: consume k -> no 0 by quota for 1
      3600000: consume k -> ok 99`
    const large = limiterOn(fixture.store, gcra({ name: 'quota', limit: 10, window: '1m' }), { name: 'large' })
    fixture.at(0)
    await large.consume('k', { cost: 2 })
    await play(fixture, large.withPlan(gcra({ name: 'quota', limit: 3, window: '1m', burst: 2 })))`
      0: consume k -> no 0 by quota for 6000
      5999: consume k -> no 0 by quota for 1
      6000: consume k -> ok 0`
  },

  'refusals that are counted no longer do not come back under a plan with longer times': async (fixture) => {
    const policies = fixedWindow({ limit: 1, window: '10s' })
    const ban = { after: 2, within: '1s', ban: '10s' } as const
    const limiter = limiterOn(fixture.store, policies, { penalty: ban })
    const strict = limiter.withPlan({ policies, penalty: { after: 2, within: '1h', ban: '1d' } })
    await play(fixture, limiter)`
      0: consume k 1 -> ok 0
      0: consume k 1 -> no 0 by 10s for 10000`
    await play(fixture, strict)`
      60000: consume k 1 -> ok 0
      60000: consume k 1 -> no 0 by 10s for 10000
      60000: peek k 1 -> no 0 by 10s for 10000`
  },

  'a refund between a reservation and its settlement counts once': async ({ store, at }) => {
    for (const algorithm of ['fixed-window', 'token-bucket', 'sliding-window', 'segmented-window']) {
      const policies = `10/1h ${algorithm}`
      const limiter = limiterOn(store, policies, { name: policies })
      at(0)
      const [first] = (await reserved(limiter, [7])) as [Reservation]
      await limiter.refund('k', { cost: 2 })
      const [second] = (await reserved(limiter, [4])) as [Reservation]
      await first.cancel()
      assertEqual(await usedOf(limiter), [4], policies)
      await second.settle(1)
      assertEqual(await usedOf(limiter), [1], policies)
    }
  },

  'in a log whose units count in proportion, each unit leaves at its time': async (fixture) => {
    const large = limiterOn(fixture.store, slidingLog({ name: 'log', limit: 5, window: '10s' }), { onChange: 'scale' })
    const small = large.withPlan(slidingLog({ name: 'log', limit: 2, window: '10s' }))
    await play(fixture, large)`
      0: consume k -> ok 4
      9900: consume k -> ok 3`
    await (await small.reserve('k')).cancel()
    await play(fixture, large)`10100: consume k 5 -> no 2 by log for 9800`
  },

  'units beyond the estimate that cannot be counted exactly are an error': async ({ store }) => {
    const limiter = limiterOn(store, [
      slidingWindow({ limit: 10, window: '1h' }),
      fixedWindow({ limit: 10_000_000, window: '1m' }),
    ])
    const [reservation] = (await reserved(limiter, [1])) as [Reservation]
    const error: unknown = await reservation.settle(2 ** 46).then(
      () => undefined,
      (thrown) => thrown,
    )
    assertEqual((error as HeadgateError | undefined)?.code, 'HEADGATE_INEXACT')
    assertEqual(await usedOf(limiter), [1, 2 ** 46])
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

  'a renewed lease is that of the plan of its reservation, whichever plan has written the state': async ({
    store,
    at,
  }) => {
    const long = limiterOn(store, concurrency({ limit: 4, lease: '30s' }))
    const short = long.withPlan(concurrency({ limit: 4, lease: '3s' }))
    at(0)
    const [first, second] = (await reserved(long, [1, 1])) as [Reservation, Reservation]
    const third = await short.reserve('k')
    at(1000)
    assertEqual([await first.renew(), await third.renew()], [true, true])
    at(3999)
    assertEqual(await usedOf(short), [3])
    at(4000)
    assertEqual(await usedOf(short), [2], 'the third has ended')
    const fourth = await long.reserve('k')
    const fifth = await short.reserve('k')
    assertEqual(await fourth.renew(), true)
    await long.reserve('other')
    at(5000)
    assertEqual([await fifth.renew(), await fourth.renew()], [true, true])
    at(8000)
    assertEqual(await usedOf(long), [3], 'the fifth has ended')
    await second.release()
    assertEqual(await usedOf(short), [2])
    at(30_999)
    assertEqual(await usedOf(short), [2])
    at(31_000)
    assertEqual(await usedOf(long), [1], 'the first has ended')
    await fourth.release()
    assertEqual(await usedOf(short), [0])
  },
}
