import { describe, expect, test } from 'vitest'
import { unsupported } from '../../src/common/errors.ts'
import {
  counter,
  fixedWindow,
  gcra,
  lruStore,
  memoryStore,
  type Policy,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
  wallClock,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

const create = (policies: Policy | readonly Policy[], clock = new ManualClock()) => {
  return { clock, limiter: new RateLimiter({ policies, store: memoryStore({ clock: clock.now }) }) }
}

describe('a counter', () => {
  test('admits every call, counts it, and starts anew a window after the first one', async () => {
    const { clock, limiter } = create(counter({ window: '1m' }))
    const call = () => {
      const { allowed, policies } = limiter.consumeSync('ann')
      return [allowed, policies[0]?.used, policies[0]?.resetAfter]
    }
    expect(call()).toEqual([true, 1, 60_000])
    clock.advance('59s')
    expect(call()).toEqual([true, 2, 1000])
    clock.advance(999)
    expect(call()).toEqual([true, 3, 1])
    clock.advance(1)
    expect(call()).toEqual([true, 1, 60_000])
  })

  test('counts what another policy refuses', async () => {
    const { limiter } = create([fixedWindow({ limit: 2, window: '1m' }), counter({ window: '1m' })])
    const calls = [1, 2, 3, 4].map(() => limiter.consumeSync('ann'))
    expect(calls.map(({ allowed }) => allowed)).toEqual([true, true, false, false])
    expect(calls.map(({ policies }) => policies.map(({ used }) => used))).toEqual([
      [1, 1],
      [2, 2],
      [2, 3],
      [2, 4],
    ])
    expect(calls.map(({ policy }) => policy)).toEqual(['1m', '1m', '1m', '1m'])
  })

  test('takes any cost, gives units back, and never more than it has', async () => {
    const { limiter } = create(counter({ window: '1m', name: 'hits' }))
    await limiter.consume('ann', { cost: 2 ** 51 })
    const charged = await limiter.charge('ann', { cost: 7 })
    expect([charged.policies[0]?.used, charged.policy]).toEqual([2 ** 51 + 7, 'hits'])
    const refunded = await limiter.refund('ann', { cost: 2 ** 53 - 1 })
    expect([refunded.policies[0]?.used, refunded.resetAfter]).toEqual([0, 0])
  })

  test('counts by the windows of the clock', () => {
    const { clock, limiter } = create(counter({ window: '1m', align: 'clock' }))
    clock.advance('50s')
    expect(limiter.consumeSync('ann').resetAfter).toBe(10_000)
  })

  test('goes on under a plan with another window, and beside a limit of another plan', async () => {
    const { limiter } = create([fixedWindow({ limit: 1, window: '1m' }), counter({ window: '1m' })])
    limiter.consumeSync('ann')
    const other = limiter.withPlan([fixedWindow({ limit: 5, window: '1m' }), counter({ window: '1m' })])
    expect(other.consumeSync('ann').policies.map(({ used }) => used)).toEqual([2, 2])
  })

  test.each([
    [{ window: '1m', limit: 5 }, 'HEADGATE_OPTION'],
    [{}, 'HEADGATE_WINDOW'],
    [{ window: '1m', align: 'never' }, 'HEADGATE_OPTION'],
    [null, 'HEADGATE_POLICY'],
  ])('rejects %j with a code', (options, code) => {
    expect(() => counter(options as never)).toThrow(expect.objectContaining({ code }))
  })
})

describe('clear', () => {
  test.each([
    ['memoryStore', () => memoryStore({ maxKeys: 2 })],
    ['lruStore', () => lruStore()],
  ])('forgets every key of the limiter in a %s, also under plans, and no key of another', async (_, make) => {
    const store = make()
    const limiter = new RateLimiter({ name: 'a', policies: '1/1m', store })
    const other = new RateLimiter({ name: 'b', policies: '1/1m', store })
    const under = limiter.withPlan('2/1m')
    for (const key of ['ann', 'bob', 'cid']) limiter.consumeSync(key)
    under.consumeSync('dan', { cost: 2 })
    other.consumeSync('ann')
    await limiter.clear()
    expect(['ann', 'bob', 'cid', 'dan'].map((key) => under.consumeSync(key).remaining)).toEqual([1, 1, 1, 1])
    expect(other.consumeSync('ann').allowed).toBe(false)
  })

  test('a reservation from before gives nothing back', async () => {
    const limiter = new RateLimiter({ policies: '5/1m fixed-window' })
    const reservation = await limiter.reserve('ann', { cost: 3 })
    await limiter.clear()
    limiter.consumeSync('ann', { cost: 4 })
    await reservation.cancel()
    expect((await limiter.peek('ann')).remaining).toBe(1)
  })

  test('rejects on a store that cannot do it', async () => {
    const memory = memoryStore()
    const open: typeof memory.open = (terms) => {
      const ledger = memory.open(terms)
      return {
        run(command) {
          if (command.verb === 'clear') throw unsupported('clear')
          return ledger.run(command)
        },
      }
    }
    const limiter = new RateLimiter({ policies: '5/1m', store: { synchronous: true, open } })
    await expect(limiter.clear()).rejects.toMatchObject({ code: 'HEADGATE_UNSUPPORTED' })
  })
})

describe('a clock that starts in 1970', () => {
  const policies: readonly (() => Policy)[] = [
    () => counter({ window: '1m' }),
    () => fixedWindow({ limit: 3, window: '1m' }),
    () => fixedWindow({ limit: 3, window: '1m', align: 'first-request' }),
    () => slidingWindow({ limit: 3, window: '1m' }),
    () => slidingLog({ limit: 3, window: '1m' }),
    () => segmentedWindow({ limit: 3, window: '1m' }),
    () => tokenBucket({ limit: 3, window: '1m', refill: 'interval' }),
    () => gcra({ limit: 3, window: '1m' }),
  ]

  test.each(policies.map((make) => [make().algorithm.kind, make] as const))(
    'gives the decisions of any other: %s',
    (_, make) => {
      const play = (start: number) => {
        const { clock, limiter } = create(make(), new ManualClock(start))
        return [0, 0, 1, 0, 20_000, 0, 40_000, 60_000, 0].map((later) => {
          clock.advance(later)
          return limiter.consumeSync('ann')
        })
      }
      expect(play(0)).toEqual(play(Date.UTC(2026, 0, 1)))
    },
  )

  test('and the wall clock then, as fake timers set it, is accepted', ({ onTestFinished }) => {
    const { now } = Date
    onTestFinished(() => {
      Date.now = now
    })
    Date.now = () => 0
    const limiter = new RateLimiter({ policies: '1/1m', store: memoryStore({ clock: wallClock }) })
    expect([limiter.consumeSync('ann').allowed, limiter.consumeSync('ann').retryAfter]).toEqual([true, 120_000])
    Date.now = () => 60_000
    expect(limiter.consumeSync('ann').allowed).toBe(false)
    Date.now = () => 120_000
    expect(limiter.consumeSync('ann').allowed).toBe(true)
  })
})
