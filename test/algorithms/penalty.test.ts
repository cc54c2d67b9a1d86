import { describe, expect, test } from 'vitest'
import { penalty } from '../../src/algorithms/bans/penalty-policy.ts'
import { revive, sameDefinition } from '../../src/algorithms/kinds.ts'
import {
  concurrency,
  type Decision,
  fixedWindow,
  lruStore,
  memoryStore,
  RateLimiter,
  type RateLimiterOptions,
  type Store,
  slidingLog,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import fc from '../support/fast-check.ts'
import { MapDatabase } from '../support/map-store.ts'

const start = Date.UTC(2026, 0, 1)

function rig(options: Partial<RateLimiterOptions> = {}) {
  const clock = new ManualClock(start)
  const limiter = new RateLimiter({
    policies: '2/10s fixed-window',
    penalty: { after: 3, within: '30s', ban: ['1m', '10m'], forget: '1h' },
    store: memoryStore({ clock: clock.now }),
    ...options,
  })
  return {
    clock,
    limiter,
    at: (seconds: number) => clock.set(start + seconds * 1000),
    call: async (key = 'k') => summary(await limiter.consume(key)),
  }
}

const stores = {
  memory: (clock: ManualClock): Store => memoryStore({ clock: clock.now }),
  lru: (clock: ManualClock): Store => lruStore({ clock: clock.now }),
  records: (clock: ManualClock): Store => new MapDatabase().store({ clock: clock.now }),
}

/** "ok", or the policy that refuses the call and for how many seconds. */
function summary({ allowed, policy, retryAfter }: Decision): string {
  return allowed ? 'ok' : `${policy} ${retryAfter / 1000}`
}

async function timeline(at: (seconds: number) => void, call: () => Promise<string>, seconds: readonly number[]) {
  const all: string[] = []
  for (const second of seconds) {
    at(second)
    all.push(`${second} ${await call()}`)
  }
  return all
}

describe('a key that is refused again and again is banned, each time for longer', () => {
  test('the third refusal within 30 s bans for a minute, and calls meanwhile do not extend it', async () => {
    const { at, call } = rig()
    expect(await timeline(at, call, [0, 0, 1, 2, 3, 4, 40, 62, 63, 63, 64])).toEqual([
      '0 ok',
      '0 ok',
      '1 10s 9',
      '2 10s 8',
      '3 penalty 60',
      '4 penalty 59',
      '40 penalty 23',
      '62 penalty 1',
      '63 ok',
      '63 ok',
      '64 10s 6',
    ])
  })

  test('with `extend`, a refused call during a ban starts its duration anew', async () => {
    const { at, call, limiter } = rig({
      penalty: { after: 3, within: '30s', ban: ['1m', '10m'], forget: '1h', extend: true },
    })
    expect(await timeline(at, call, [0, 0, 1, 2, 3, 4, 40, 99])).toEqual([
      '0 ok',
      '0 ok',
      '1 10s 9',
      '2 10s 8',
      '3 penalty 60',
      '4 penalty 60',
      '40 penalty 60',
      '99 penalty 60',
    ])
    at(158)
    expect(summary(await limiter.peek('k'))).toBe('penalty 1')
    expect(await timeline(at, call, [160, 160, 161, 162, 163, 400, 1000])).toEqual([
      '160 ok',
      '160 ok',
      '161 10s 9',
      '162 10s 8',
      '163 penalty 600',
      '400 penalty 600',
      '1000 ok',
    ])
  })

  test('with `extend`, only a call that waits for the ban counts: a peek and a charge do not', async () => {
    const { at, call, limiter } = rig({ penalty: { after: 1, within: '30s', ban: '1m', extend: true } })
    await timeline(at, call, [0, 0, 0])
    at(30)
    await limiter.peek('k')
    await limiter.charge('k')
    await limiter.refund('k')
    expect(summary(await limiter.peek('k'))).toBe('penalty 30')
    expect((await limiter.reserve('k', { maxWait: '1h' })).decision.retryAfter).toBe(60_000)
  })

  describe.each(Object.entries(stores))(
    'with `restart`, in %s, the other policies count anew when a ban begins',
    (_, storeOf) => {
      const restarting = (options: Partial<RateLimiterOptions> = {}) => {
        const clock = new ManualClock(start)
        const penalty = { after: 2, within: '30s', ban: '10s', restart: true }
        const { limiter, call } = rig({
          name: 'r',
          policies: '3/1h fixed-window',
          penalty,
          store: storeOf(clock),
          ...options,
        })
        return { clock, limiter, call }
      }

      test('a key has its full quota when the ban ends, which is sooner than its window', async () => {
        const { clock, limiter, call } = restarting()
        expect([await call(), await call(), await call(), await call()]).toEqual(['ok', 'ok', 'ok', '1h 3600'])
        const { policies, ...first } = await limiter.consume('k')
        expect(first).toMatchObject({ allowed: false, policy: 'penalty', retryAfter: 10_000, remaining: 0 })
        expect(policies[0]).toMatchObject({ allowed: true, remaining: 3, used: 0, resetAfter: 0 })
        expect(await call()).toBe('penalty 10')
        clock.advance(9999)
        expect(await call()).toBe('penalty 0.001')
        clock.advance(1)
        expect([await call(), await call(), await call(), await call()]).toEqual(['ok', 'ok', 'ok', '1h 3590'])
        expect(await call('other')).toBe('ok')
      })

      test('a reservation from before the ban gives nothing back, and other keys and units in flight stay counted', async () => {
        const { clock, limiter } = restarting({
          policies: [
            fixedWindow({ name: 'a', limit: 3, window: '1h', countRefused: true }),
            slidingLog({ name: 'b', limit: 50, window: '1h' }),
            fixedWindow({ name: 'c', limit: 50, window: '1h', scope: 'other' }),
            concurrency({ name: 'd', limit: 50, lease: '1h' }),
          ],
        })
        const used = ({ policies }: Decision) => policies.map(({ name, used }) => `${name} ${used}`).join(', ')
        const key = { default: 'k', other: 'o' }
        const reservation = await limiter.reserve(key, { cost: 3 })
        await limiter.consume(key)
        expect(used(await limiter.consume(key))).toBe('a 0, b 0, c 3, d 3, penalty 0')
        clock.advance('10s')
        await limiter.consume(key)
        await reservation.cancel()
        expect(used(await limiter.peek(key))).toBe('a 1, b 1, c 1, d 1, penalty 0')
      })

      test('a cost that can never fit stays so', async () => {
        const { clock, limiter } = restarting()
        for (let n = 0; n < 3; n++) expect((await limiter.consume('k', { cost: 4 })).retryAfter).toBe(Infinity)
        clock.advance('10s')
        expect((await limiter.consume('k', { cost: 3 })).allowed).toBe(true)
      })
    },
  )

  describe.each(Object.entries(stores))("in %s, with `until: 'window'`, a ban ends with the window", (_, storeOf) => {
    const untilWindow = (options: Partial<RateLimiterOptions> = {}) => {
      const clock = new ManualClock(start)
      const penalty = { after: 2, within: '30s', until: 'window' } as const
      const store = storeOf(clock)
      const { limiter } = rig({ name: 'w', policies: '5/10s fixed-window', penalty, store, ...options })
      const call = async (cost = 1) => told(await limiter.consume('k', { cost }))
      return { clock, limiter, call, at: (seconds: number) => clock.set(start + seconds * 1000) }
    }

    /** A policy that waits as long is named before the penalty. */
    const told = (decision: Decision) => {
      const { policies, retryAfter } = decision
      return policies.at(-1)?.allowed === false ? `banned ${retryAfter / 1000}` : summary({ ...decision, policy: 'no' })
    }

    test('and refuses smaller calls until then, which would be admitted without it', async () => {
      const { at, call, limiter } = untilWindow()
      at(2)
      expect([await call(3), await call(3), await call(1)]).toEqual(['ok', 'no 8', 'ok'])
      expect([await call(3), await call(1)]).toEqual(['banned 8', 'banned 8'])
      expect((await limiter.consume('k')).policies.map(({ retryAfter }) => retryAfter)).toEqual([0, 8000])
      at(9.999)
      expect(await call()).toBe('banned 0.001')
      at(10)
      expect(await limiter.peek('k')).toMatchObject({ allowed: true, remaining: 5, resetAfter: 0 })
      // Past bans are forgotten: two refusals lead to the next ban.
      expect([await call(5), await call(), await call()]).toEqual(['ok', 'no 10', 'banned 10'])
    })

    test('of the policy with the longest wait', async () => {
      const policies = ['1/10s fixed-window', '2/1h fixed-window']
      const { at, call } = untilWindow({ policies, penalty: { after: 1, within: '30s', until: 'window' } })
      expect([await call(), await call()]).toEqual(['ok', 'banned 10'])
      at(10)
      expect([await call(), await call()]).toEqual(['ok', 'banned 3590'])
    })

    test('in a sliding window, when the refused call would be admitted', async () => {
      const { at, call } = untilWindow({ policies: '4/10s sliding-log' })
      expect([await call(2), await call(3)]).toEqual(['ok', 'no 10'])
      at(1)
      expect([await call(2), await call(3), await call(1)]).toEqual(['ok', 'banned 10', 'banned 10'])
      at(10.999)
      expect(await call(1)).toBe('banned 0.001')
      at(11)
      expect(await call(3)).toBe('ok')
    })

    test('a cost that never fits counts, and begins no ban', async () => {
      const { call } = untilWindow()
      for (let n = 0; n < 4; n++) expect(await call(6)).toBe('no Infinity')
      expect([await call(5), await call(1)]).toEqual(['ok', 'banned 10'])
    })

    test('a debt of ages stays exact', async () => {
      const { limiter, call } = untilWindow({ policies: '1000000/1s token-bucket' })
      await limiter.charge('k', { cost: 2 ** 52 })
      await call()
      const { retryAfter, allowed } = await limiter.consume('k')
      expect([allowed, Number.isSafeInteger(retryAfter)]).toEqual([false, true])
      await limiter.reset('k')
      expect(await call()).toBe('ok')
    })

    test('`unban` lifts it, and a plan with durations shortens it', async () => {
      const { call, limiter } = untilWindow({ policies: '1/1h fixed-window' })
      for (let n = 0; n < 3; n++) await call()
      const { words } = await limiter.inspect('k')
      expect(words).toContain('Refused for 1 h more')
      const timed = limiter.withPlan({
        policies: '9/1h fixed-window',
        penalty: { after: 1, within: '30s', ban: ['5s', '10s'] },
      })
      expect((await timed.consume('k')).retryAfter).toBe(10_000)
      await limiter.unban('k')
      expect((await timed.consume('k')).allowed).toBe(true)
    })

    test('a plan that ends with the window keeps a ban of durations', async () => {
      const ban = ['1m', '2m', '3m']
      const { call, limiter } = untilWindow({
        policies: '1/1s fixed-window',
        penalty: { after: 1, within: '1s', ban },
      })
      for (let n = 0; n < 2; n++) await call()
      const plan = { policies: '9/1s fixed-window', penalty: { after: 1, within: '1s', until: 'window' } } as const
      const banned = await limiter.withPlan(plan).consume('k')
      expect([told(banned), banned.resetAfter]).toEqual(['banned 60', 60_000])
    })
  })

  test('the next ban is the next one of the list, and then the last one again', async () => {
    const { at, call } = rig()
    const hammer = (from: number) => timeline(at, call, [from, from, from, from, from])
    expect((await hammer(0)).at(-1)).toBe('0 penalty 60')
    expect((await hammer(60)).at(-1)).toBe('60 penalty 600')
    expect((await hammer(660)).at(-1)).toBe('660 penalty 600')
    expect((await hammer(1259)).at(-1)).toBe('1259 penalty 1')
  })

  test('a ban is forgotten an hour after its end', async () => {
    const { at, call } = rig()
    const hammer = (from: number) => timeline(at, call, [from, from, from, from, from])
    await hammer(0)
    expect((await hammer(60 + 3599)).at(-1)).toBe('3659 penalty 600')
    expect((await hammer(3659 + 600 + 3600)).at(-1)).toBe('7859 penalty 60')
  })

  test('refusals further apart than `within` do not add up', async () => {
    const { at, call } = rig()
    expect(await timeline(at, call, [0, 0, 1, 2, 30, 30, 31, 32, 33])).toEqual([
      '0 ok',
      '0 ok',
      '1 10s 9',
      '2 10s 8',
      '30 ok',
      '30 ok',
      '31 10s 9',
      '32 10s 8',
      '33 penalty 60',
    ])
  })

  test('other keys go on, and the decision names the penalty', async () => {
    const { limiter, call } = rig()
    for (let n = 0; n < 5; n++) await limiter.consume('k')
    expect(await call('other')).toBe('ok')
    expect(await limiter.consume('k')).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfter: 60_000,
      policy: 'penalty',
      policies: [
        { name: '10s', allowed: false },
        { name: 'penalty', allowed: false, limit: 3 },
      ],
    })
    expect(await limiter.consume('other')).toMatchObject({ allowed: true, limit: 2, remaining: 0, policy: '10s' })
  })

  test('a cost that can never fit is refused with Infinity, and counts', async () => {
    const { limiter, call } = rig()
    for (let n = 0; n < 3; n++) expect((await limiter.consume('k', { cost: 9 })).retryAfter).toBe(Infinity)
    expect(await call()).toBe('penalty 60')
  })

  test('peek does not count, a refused reservation does, and reset ends the ban', async () => {
    const { limiter, call } = rig()
    await limiter.consume('k', { cost: 2 })
    for (let n = 0; n < 9; n++) await limiter.peek('k')
    expect(await call()).toBe('10s 10')
    await limiter.reserve('k')
    await limiter.reserve('k')
    expect(summary(await limiter.peek('k'))).toBe('penalty 60')
    await limiter.reset('k')
    expect(await call()).toBe('ok')
  })

  test('a reservation can still be promised a future time, but not during a ban', async () => {
    const { limiter, at } = rig()
    await limiter.consume('k', { cost: 2 })
    expect((await limiter.reserve('k', { maxWait: '1m' })).wait).toBe(10_000)
    for (let n = 0; n < 3; n++) await limiter.consume('k')
    expect((await limiter.reserve('k', { maxWait: '1h' })).allowed).toBe(false)
    at(60)
    expect((await limiter.reserve('k', { maxWait: '1h' })).wait).toBe(0)
  })

  test('with several keys, the key of its scope is banned', async () => {
    const clock = new ManualClock(start)
    const limiter = new RateLimiter({
      policies: [
        { limit: 1, window: '1d', scope: 'user' },
        { limit: 1000, window: '1m', scope: 'ip' },
      ],
      penalty: { after: 2, within: '1m', ban: '1h', scope: 'ip' },
      store: memoryStore({ clock: clock.now }),
    })
    const call = async (user: string, ip: string) => summary(await limiter.consume({ user, ip }))
    expect([await call('a', '1'), await call('a', '1'), await call('a', '1')].at(-1)).toBe('1d 172800')
    expect([await call('b', '1'), await call('c', '2')]).toEqual(['penalty 3600', 'ok'])
  })

  test('after the clock went far back, no key is banned for longer than a ban', async () => {
    const { limiter, at, call } = rig()
    at(1_000_000)
    for (let n = 0; n < 5; n++) await limiter.consume('k')
    at(0)
    expect(await call()).toBe('penalty 60')
    at(59)
    expect(await call()).toBe('penalty 1')
    at(60)
    expect(await call()).toBe('ok')
  })
})

test.each([
  { ban: ['1m', '10m'], forget: '1h' },
  { ban: ['1m', '10m'], forget: '1h', extend: true },
  { until: 'window' } as const,
])(
  'for random timelines, a ban ends exactly after retryAfter, and is forgotten after resetAfter (%j)',
  async (rules) => {
    const pauses = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 90_000 })), {
      minLength: 5,
      maxLength: 40,
    })
    await fc.assert(
      fc.asyncProperty(pauses, async (all) => {
        const { clock, limiter } = rig({ penalty: { after: 3, within: '30s', ...rules } })
        for (const pause of all) {
          clock.advance(pause)
          const { allowed, retryAfter, resetAfter } = await limiter.consume('k')
          if (allowed) continue
          const now = clock.milliseconds
          clock.advance(retryAfter - 1)
          expect((await limiter.peek('k')).allowed).toBe(false)
          clock.advance(1)
          expect((await limiter.peek('k')).allowed).toBe(true)
          clock.advance(Math.max(0, resetAfter - retryAfter))
          expect((await limiter.peek('k')).resetAfter).toBe(0)
          clock.set(now)
        }
      }),
    )
  },
)

describe('a plan with a penalty of its own', () => {
  const strict = { policies: '1/10s fixed-window', penalty: { after: 1, within: '30s', ban: '1h' } }
  const lenient = { policies: '1/10s fixed-window', penalty: { after: 4, within: '30s', ban: '2s' } }
  const free = { policies: '1/10s fixed-window', penalty: false } as const
  const times = async (limiter: RateLimiter, count: number, key = 'k') => {
    const all: string[] = []
    for (let n = 0; n < count; n++) all.push(summary(await limiter.consume(key)))
    return all
  }

  test.each(Object.entries(stores))(
    "bans by its numbers, or never; without one it has the limiter's: %s",
    async (_, storeOf) => {
      const clock = new ManualClock(start)
      const { limiter } = rig({ name: 'plans', store: storeOf(clock) })
      expect(await times(limiter.withPlan(strict), 2, 's')).toEqual(['ok', 'penalty 3600'])
      expect((await times(limiter.withPlan(lenient), 5, 'l')).slice(-2)).toEqual(['10s 10', '10s 10'])
      expect(new Set(await times(limiter.withPlan(free), 20, 'f'))).toEqual(new Set(['ok', '10s 10']))
      expect((await times(limiter.withPlan({ policies: '1/10s fixed-window' }), 4, 'd')).slice(-2)).toEqual([
        '10s 10',
        'penalty 60',
      ])
    },
  )

  test.each(Object.entries(stores))('counts and bans carry over by the name of the penalty: %s', async (_, storeOf) => {
    const clock = new ManualClock(start)
    const { limiter } = rig({ name: 'plans', store: storeOf(clock) })
    await times(limiter.withPlan(lenient), 3)
    await times(limiter.withPlan(free), 9)
    expect(await times(limiter, 2)).toEqual(['ok', 'penalty 60'])
    expect(await times(limiter.withPlan(free), 1)).toEqual(['10s 10'])
    expect(await times(limiter.withPlan(lenient), 1)).toEqual(['10s 10'])
    clock.advance('10s')
    expect(await times(limiter.withPlan(lenient), 1)).toEqual(['ok'])
    await limiter.reset('k')
    await times(limiter.withPlan(strict), 2)
    await limiter.withPlan(free).unban('k')
    clock.advance('10s')
    expect(await times(limiter.withPlan(strict), 1)).toEqual(['ok'])
  })

  test('is the same plan as long as its members are the same', () => {
    const { limiter } = rig()
    const plan = { policies: ['1/10s'], penalty: { after: 1, within: '30s', ban: ['1h', '2h'] } }
    const first = limiter.withPlan(plan)
    expect(limiter.withPlan(plan)).toBe(first)
    expect(limiter.withPlan(structuredClone(plan))).toBe(first)
    expect(limiter.withPlan({ policies: '1/10s', penalty: false })).not.toBe(limiter.withPlan({ policies: '1/10s' }))
    plan.penalty.ban[1] = '3h'
    expect(limiter.withPlan(plan)).not.toBe(first)
    const second = limiter.withPlan(plan)
    plan.policies.push('5/1h')
    expect(limiter.withPlan(plan).policies.map(({ name }) => name)).toEqual(['10s', '1h', 'penalty'])
    expect(limiter.withPlan(plan)).not.toBe(second)
    expect(limiter.penalty).toMatchObject({ after: 3 })
    expect(limiter.withPlan(free).penalty).toBeUndefined()
  })

  test.each<[plan: object, code: string]>([
    [{ policies: '1/10s', penalty: true }, 'HEADGATE_OPTION'],
    [{ policies: '1/10s', penalty: null }, 'HEADGATE_OPTION'],
    [{ policies: '1/10s', penalty: 'strict' }, 'HEADGATE_OPTION'],
    [{ policies: '1/10s', penalty: {} }, 'HEADGATE_PENALTY'],
    [{ policies: '1/10s', penalty: { after: 0, within: '1m', ban: '1m' } }, 'HEADGATE_PENALTY'],
    [{ policies: '1/10s', penalties: false }, 'HEADGATE_OPTION'],
    [{ policies: undefined }, 'HEADGATE_POLICY'],
    [{ policies: [] }, 'HEADGATE_POLICY'],
    [{ policies: '1/10s', name: 'x' }, 'HEADGATE_OPTION'],
    [{ penalty: false }, 'HEADGATE_OPTION'],
  ])('withPlan(%j) throws %s', (plan, code) => {
    expect(() => rig().limiter.withPlan(plan as never)).toThrow(expect.objectContaining({ code }))
  })
})

test('the definition of a penalty without further rules has no number for them, and each can be revived', () => {
  const options = { after: 3, within: '30s', ban: ['1ms', '10m'], forget: '1h' }
  const plain = penalty(options, 'default', false).algorithm
  const rules = [{ extend: true }, { restart: true }, { extend: true, restart: true }]
  const others = rules.map((rule) => penalty({ ...options, ...rule }, 'default', false).algorithm)
  expect(plain.parameters).toEqual([3, 30e6, 3600e6, 1000, 600e6])
  for (const other of others) expect(sameDefinition(plain, other)).toBe(false)
  const untilWindow = penalty({ after: 3, within: '30s', until: 'window' }, 'default', false).algorithm
  expect(untilWindow.parameters).toEqual([3, 30e6, 0])
  for (const algorithm of [plain, ...others, untilWindow]) expect(revive(algorithm)).toEqual(algorithm)
})

test.each<[options: object, code: string]>([
  [{ after: 0, within: '1m', ban: '1m' }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: 'soon', ban: '1m' }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m' }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', ban: [] }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', ban: ['1m', '-1m'] }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', ban: '1m', forget: 0 }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', ban: '1m', bans: 2 }, 'HEADGATE_OPTION'],
  [{ after: 3, within: '1m', ban: '1m', extend: 'yes' }, 'HEADGATE_OPTION'],
  [{ after: 3, within: '1m', ban: '1m', extend: null }, 'HEADGATE_OPTION'],
  [{ after: 3, within: '1m', ban: '1m', restart: 1 }, 'HEADGATE_OPTION'],
  [{ after: 3, within: '1m', until: 'day' }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', until: null }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', until: 'window', ban: '1m' }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', until: 'window', ban: [] }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', until: 'window', ban: null }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', until: 'window', forget: '1m' }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', until: 'window', extend: true }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', until: 'window', restart: true }, 'HEADGATE_PENALTY'],
  [{ after: 3, within: '1m', ban: '1m', name: '10s' }, 'HEADGATE_DUPLICATE_POLICY'],
  [{ after: 3, within: '1m', ban: '1m', scope: '' }, 'HEADGATE_SCOPE'],
])('penalty: %j throws %s', (penalty, code) => {
  expect(() => rig({ penalty: penalty as never })).toThrow(expect.objectContaining({ code }))
})
