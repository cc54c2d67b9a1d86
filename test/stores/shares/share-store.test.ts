import { afterEach, describe, expect, test, vi } from 'vitest'
import { calendarWindow } from '../../../src/calendar/index.ts'
import {
  concurrency,
  fixedWindow,
  HeadgateError,
  memoryStore,
  policy,
  RateLimiter,
  smoothBursty,
  tokenBucket,
} from '../../../src/index.ts'
import { ShareStore } from '../../../src/stores/shares/share-store.ts'
import { faultyStore, ManualClock } from '../../../src/testing/index.ts'
import { asyncStore, brokenStore, remoteStore } from '../../support/async-store.ts'

afterEach(() => vi.restoreAllMocks())

/** Two processes of a fleet. The exact store can be made to fail or to hang. */
function fleet(period = 100) {
  const clock = new ManualClock()
  const exact = asyncStore(memoryStore({ clock: clock.now }))
  const state = { broken: false, record: false, hangs: false, calls: 0 }
  const behind = remoteStore((terms) => {
    const ledger = exact.open(terms)
    return {
      async run(command) {
        state.calls++
        if (state.hangs) await new Promise(() => {})
        if (state.broken) throw new Error('the store is down')
        if (state.record && command.keys[0] === 'k') throw new HeadgateError('HEADGATE_STORE_RECORD', 'a list')
        return await ledger.run(command)
      },
    }
  })
  const process = (policies: ConstructorParameters<typeof RateLimiter>[0]['policies'], instances = 2) => {
    const store = new ShareStore(behind, period, instances, clock.now, clock.sleeper)
    return new RateLimiter({ name: 'api', policies, store, storeTimeout: Infinity, onStoreError: 'throw' })
  }
  const exactly = (policies: ConstructorParameters<typeof RateLimiter>[0]['policies']) =>
    new RateLimiter({ name: 'api', policies, store: exact })
  return { clock, state, process, exactly }
}

/** The outcomes of that many calls. */
async function calls(limiter: RateLimiter, count: number, key = 'k'): Promise<string> {
  const all = await Promise.all(Array.from({ length: count }, () => limiter.consume(key)))
  return all.map(({ allowed }) => (allowed ? '1' : '0')).join('')
}

describe('two processes', () => {
  test('decide at once, and report once a period', async () => {
    const { clock, state, process, exactly } = fleet()
    const [a, b] = [process('10/1h fixed-window'), process('10/1h fixed-window')]
    expect(await calls(a, 4)).toBe('1111')
    expect(await calls(b, 2)).toBe('11')
    expect(state.calls).toBe(0)
    await clock.pass('100ms')
    expect(state.calls).toBe(2)
    expect((await exactly('10/1h fixed-window').peek('k')).remaining).toBe(4)
  })

  test('admit half of what remains each, and the store decides the rest', async () => {
    const { clock, state, process } = fleet()
    const [a, b] = [process('100/1h fixed-window'), process('100/1h fixed-window')]
    expect(await calls(a, 50)).toBe('1'.repeat(50))
    expect(state.calls).toBe(0)
    expect(await calls(a, 10)).toBe('1'.repeat(10)) // a report goes ahead, and its answer gives 25 of the 50 that remain
    expect(state.calls).toBe(11)
    await clock.pass('100ms')
    await b.consume('k')
    await clock.pass('100ms') // b knows that 39 remain
    const before = state.calls
    expect(await calls(b, 19)).toBe('1'.repeat(19))
    expect(state.calls).toBe(before)
    expect(await calls(b, 21)).toBe(`${'1'.repeat(20)}0`)
  })

  test('a decision tells what remains as far as this process knows; a refusal is that of the store', async () => {
    const { clock, process } = fleet()
    const limiter = process('10/1h fixed-window')
    clock.set(Date.UTC(2026, 0, 1))
    const first = await limiter.consume('k', { cost: 4 })
    expect(first).toMatchObject({
      allowed: true,
      limit: 10,
      remaining: 6,
      retryAfter: 0,
      resetAfter: 3_600_000,
      source: 'store',
      policy: '1h',
    })
    expect(first.policies[0]?.used).toBe(4)
    await clock.pass('40ms')
    expect(await limiter.consume('k', { cost: 7 })).toMatchObject({
      allowed: false,
      remaining: 6,
      retryAfter: 3_599_960,
    })
    expect((await limiter.consume('k', { cost: 11 })).retryAfter).toBe(Infinity)
    expect(await limiter.consume('k', { cost: 6 })).toMatchObject({ allowed: true, remaining: 0 })
  })

  test.each([0, 400, -400])('report units under a calendar, if the clocks are %i days apart', async (days) => {
    const { clock, process, exactly } = fleet()
    vi.useFakeTimers({ toFake: ['Date'], now: clock.milliseconds + days * 86_400_000 })
    const policy = calendarWindow({ limit: 10, every: 'day', timeZone: 'caller', scope: 'user' })
    const limiter = process([policy, calendarWindow({ limit: 40, every: 'month', scope: 'account' })])
    const call = { calendar: { user: { timeZone: 'Atlantic/Azores' } } }
    const key = { user: 'u', account: 'a' }
    const remaining = async () => (await exactly([policy]).peek('u', call)).remaining
    const consume = async () => (await limiter.consume(key, call)).allowed
    for (let n = 0; n < 4; n++) expect(await consume()).toBe(true)
    await clock.pass('100ms')
    expect(await remaining()).toBe(6)
    for (let n = 0; n < 6; n++) expect(await consume()).toBe(true)
    const { allowed, retryAfter } = await limiter.consume(key, call)
    expect([allowed, clock.milliseconds + retryAfter]).toEqual([false, Date.UTC(2026, 0, 1, 1)])
    await clock.pass(retryAfter - 1)
    expect(await consume()).toBe(false)
    await clock.pass(101)
    expect(await consume()).toBe(true)
    vi.useRealTimers()
  })

  test('a refund is counted once, also if no window that the process knows runs', async () => {
    const { clock, process } = fleet()
    const limiter = process([calendarWindow({ limit: 100, every: 'day' })])
    await limiter.consume('k', { cost: 10 })
    await clock.pass('100ms')
    await limiter.consume('k', { cost: 3 })
    expect((await limiter.refund('k', { cost: 5 })).policies).toMatchObject([{ used: 8 }])
    await clock.pass('100ms')
    expect((await limiter.peek('k')).policies).toMatchObject([{ used: 8 }])
  })

  test('report units if the calendar of the call is that of one scope', async () => {
    const { clock, process } = fleet()
    const policies = [
      calendarWindow({ limit: 10, every: 'day', scope: 'user' }),
      calendarWindow({ limit: 40, every: 'month', anchor: 'caller', scope: 'account' }),
    ]
    const [a, b] = [process(policies), process(policies)]
    const key = { user: 'u', account: 'a' }
    const calendar = { anchor: 15 }
    for (let n = 0; n < 4; n++) await a.consume(key, { calendar })
    await clock.pass('100ms')
    expect((await b.peek(key, { calendar })).policies).toMatchObject([{ used: 4 }, { used: 4 }])
  })

  test('what the store has refused is refused here until the next report', async () => {
    const { clock, state, process } = fleet()
    const limiter = process('10/10s token-bucket')
    expect(await calls(limiter, 11)).toBe('11111111110')
    const before = state.calls
    await clock.pass('30ms')
    expect(await limiter.consume('k')).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfter: 970,
      resetAfter: 9970,
    })
    expect(await calls(limiter, 50)).not.toContain('1')
    expect(state.calls).toBe(before)
    await clock.pass('70ms')
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, retryAfter: 900 })
    expect(state.calls).toBe(before + 2) // the question what remains, and the call
    await clock.pass('900ms')
    expect(await limiter.consume('k')).toMatchObject({ allowed: true })
  })

  test('units that this process gives back are there at once', async () => {
    const { process } = fleet()
    const limiter = process('10/1h fixed-window')
    expect(await calls(limiter, 11)).toBe('11111111110')
    await limiter.refund('k', { cost: 2 })
    expect(await calls(limiter, 3)).toBe('110')
    const reservation = await limiter.reserve('other', { cost: 10 })
    expect(await calls(limiter, 6, 'other')).toBe('111110')
    await reservation.cancel()
    expect(await calls(limiter, 1, 'other')).toBe('1')
  })

  test('a refusal says nothing of a smaller cost', async () => {
    const { process } = fleet()
    const limiter = process('10/1h fixed-window')
    await limiter.consume('k', { cost: 9 })
    expect((await limiter.consume('k', { cost: 2 })).allowed).toBe(false)
    expect((await limiter.consume('k', { cost: 1 })).allowed).toBe(true)
  })

  test('a key without requests is forgotten once it is full, and the timer ends', async () => {
    const { clock, process } = fleet()
    const limiter = process('10/1s token-bucket')
    await calls(limiter, 5)
    await clock.pass('2s')
    expect(clock.sleeping).toBe(0)
    expect(await calls(limiter, 11)).toBe('11111111110')
  })

  test('of what a bucket gives back, a process has half, once its debt is paid', async () => {
    const { clock, state, process, exactly } = fleet()
    const policies = '10/10s token-bucket'
    const limiter = process(policies)
    await calls(limiter, 5)
    await exactly(policies).charge('k', { cost: 9 })
    await clock.pass('100ms') // 14 of 10 are used
    await clock.pass('6100ms') // 7.8 are used
    const before = state.calls
    expect(await calls(limiter, 1)).toBe('1')
    expect(state.calls).toBe(before)
    expect(await calls(limiter, 2)).toBe('10')
    expect(state.calls).toBeGreaterThan(before)
  })

  test('scopes and costs by policy: all or nothing', async () => {
    const { process } = fleet()
    const limiter = process(
      [
        fixedWindow({ name: 'calls', limit: 3, window: '1h', scope: 'ip' }),
        tokenBucket({ name: 'tokens', limit: 100, window: '1h', scope: 'user' }),
      ],
      1,
    )
    const call = async (cost: Record<string, number>) => {
      const { allowed, policies } = await limiter.consume({ ip: 'i', user: 'u' }, { cost })
      return [allowed, ...policies.map(({ remaining }) => remaining)]
    }
    expect(await call({ calls: 1, tokens: 60 })).toEqual([true, 2, 40])
    expect(await call({ calls: 1, tokens: 60 })).toEqual([false, 2, 40])
    expect(await call({ calls: 1, tokens: 40 })).toEqual([true, 1, 0])
  })

  test('a shadow refuses nothing', async () => {
    const { process } = fleet()
    const limiter = process(fixedWindow({ limit: 1, window: '1h', shadow: true }))
    expect(await calls(limiter, 3)).toBe('111')
    expect((await limiter.consume('k')).policies[0]?.allowed).toBe(false)
  })

  test('reserve, charge, refund and peek are those of the exact store; reset forgets what was known', async () => {
    const { clock, process, exactly } = fleet()
    const policies = '10/1h fixed-window'
    const limiter = process(policies)
    await calls(limiter, 10)
    await clock.pass('100ms')
    expect((await limiter.peek('k')).remaining).toBe(0)
    expect((await limiter.refund('k', { cost: 5 })).remaining).toBe(5)
    const reservation = await limiter.reserve('k', { cost: 4 })
    await reservation.settle(1)
    expect((await exactly(policies).peek('k')).remaining).toBe(4)
    expect((await limiter.charge('k', { cost: 4 })).remaining).toBe(0)
    await limiter.reset('k')
    expect(await calls(limiter, 10)).toBe('1111111111')
  })
})

describe('units that are not reported yet', () => {
  const policies = '10/1h fixed-window'

  test('a refund gives them back, and what is not one of them it gives back in the store', async () => {
    const { clock, state, process, exactly } = fleet()
    const limiter = process(policies)
    await limiter.consume('k', { cost: 4 })
    expect((await limiter.refund('k', { cost: 3 })).remaining).toBe(9)
    expect(state.calls).toBe(0)
    await clock.pass('100ms')
    await limiter.consume('k', { cost: 2 })
    expect((await limiter.refund('k', { cost: 3 })).remaining).toBe(10)
    for (let n = 0; n < 20; n++) {
      expect((await limiter.consume('k')).allowed).toBe(true)
      await limiter.refund('k')
    }
    await clock.pass('200ms')
    expect((await exactly(policies).peek('k')).remaining).toBe(10)
  })

  test('a refund of a banned key says so', async () => {
    const { process } = fleet()
    const limiter = process(policies)
    await limiter.consume('k', { cost: 4 })
    await limiter.ban('k', '1h')
    expect(await limiter.refund('k', { cost: 3 })).toMatchObject({ remaining: 9, ban: { scope: 'default' } })
    await limiter.unban('k')
    expect((await limiter.peek('k')).remaining).toBe(9)
  })

  test('count in the next peek, charge and reservation, also under another plan', async () => {
    const { process } = fleet()
    const limiter = process(policies)
    await limiter.consume('k', { cost: 3 })
    expect((await limiter.peek('k')).remaining).toBe(7)
    await limiter.consume('k')
    expect((await limiter.withPlan('20/1h fixed-window').peek('k')).remaining).toBe(16)
    await limiter.consume('k')
    expect((await limiter.reserve('k', { cost: 6 })).decision.allowed).toBe(false)
    await limiter.consume('k')
    expect((await limiter.charge('k')).remaining).toBe(3)
  })
})

describe('a larger cost than the one that was refused', () => {
  test('waits for longer in a bucket', async () => {
    const { process } = fleet()
    const limiter = process(tokenBucket({ limit: 100, window: '1s' }))
    await calls(limiter, 101)
    expect((await limiter.consume('k')).retryAfter).toBe(100) // the time until the next report
    expect((await limiter.consume('k', { cost: 100 })).retryAfter).toBe(1000)
  })

  test('is decided by the store under another algorithm', async () => {
    const { process } = fleet()
    const limiter = process('100/1h')
    await calls(limiter, 100)
    const { retryAfter } = await limiter.consume('k')
    expect((await limiter.consume('k', { cost: 100 })).retryAfter).toBeGreaterThan(1.5 * retryAfter)
  })

  test('is decided by the store if another policy does not have it either', async () => {
    const { process } = fleet()
    const [a, b] = [
      tokenBucket({ name: 'a', limit: 100, window: '1m' }),
      tokenBucket({ name: 'b', limit: 10, window: '1s' }),
    ]
    const limiter = process([a, b])
    await calls(limiter, 11)
    const refused = await limiter.consume('k', { cost: { a: 100, b: 1 } })
    expect(refused).toMatchObject({ policy: 'a', retryAfter: 6000, policies: [{ allowed: false }, { allowed: false }] })
  })
})

describe('plans of a limiter in one process', () => {
  test('a ban, a reset and a refund take effect under all of them at once', async () => {
    const { process } = fleet()
    const limiter = process('10/1h fixed-window')
    const plan = limiter.withPlan('12/1h fixed-window')
    await plan.consume('k')
    await limiter.ban('k', '1h')
    expect((await plan.consume('k')).allowed).toBe(false)
    expect((await limiter.withPlan('14/1h fixed-window').consume('k')).allowed).toBe(false)
    await limiter.reset('k')
    expect(await calls(plan, 13)).toBe('1111111111110')
    await limiter.refund('k')
    expect(await calls(plan, 2)).toBe('10')
    await limiter.reset('k')
    expect(await calls(plan, 12)).toBe('111111111111')
  })

  test('a plan that is made again knows what it has admitted', async () => {
    const { state, process } = fleet()
    const limiter = process('10/1h fixed-window')
    const admitted = () => calls(limiter.withPlan('20/1h fixed-window'), 10)
    expect(await admitted()).toBe('1111111111')
    expect(state.calls).toBe(0)
    for (let n = 0; n < 1000; n++) limiter.withPlan(`30/${n + 1}m`)
    expect(await admitted()).toBe('1111111111')
    expect(state.calls).toBeGreaterThan(0)
  })
})

test('a plan that only clients see in another way has the same share', async () => {
  const { state, process } = fleet()
  const limiter = process(policy('20/1h fixed-window'))
  expect(await calls(limiter, 10)).toBe('1111111111')
  expect(state.calls).toBe(0)
  const unlisted = limiter.withPlan(policy('20/1h fixed-window', { listed: false, label: 'internal' }))
  expect(await calls(unlisted, 1)).toBe('1')
  expect(state.calls).toBeGreaterThan(0)
})

describe('a cost that is larger than the share of a process', () => {
  test('is decided by the store, and so by what all of them have left', async () => {
    const { clock, process, exactly } = fleet()
    const policies = '100/1h fixed-window'
    const [a, b] = [process(policies, 20), process(policies, 20)]
    await a.consume('k')
    await b.consume('k')
    await clock.pass('200ms')
    expect((await a.consume('k', { cost: 60 })).allowed).toBe(true)
    expect((await exactly(policies).peek('k')).remaining).toBe(38)
    expect((await b.consume('k', { cost: 39 })).allowed).toBe(false)
    expect((await b.consume('k', { cost: 38 })).allowed).toBe(true)
    expect((await b.consume('k', { cost: 101 })).retryAfter).toBe(Infinity)
  })
})

describe('a store that fails', () => {
  test('calls go on for three periods, then they reject; what was admitted is reported once it answers again', async () => {
    const { clock, state, process, exactly } = fleet()
    const limiter = process('100/1h fixed-window')
    await calls(limiter, 1)
    await clock.pass('100ms')
    state.broken = true
    await calls(limiter, 5)
    await clock.pass('100ms')
    expect(await calls(limiter, 1)).toBe('1')
    await clock.pass('301ms')
    await expect(limiter.consume('k')).rejects.toThrow('the store is down')
    state.broken = false
    await clock.pass('100ms')
    expect(await calls(limiter, 1)).toBe('1')
    await clock.pass('100ms')
    expect((await exactly('100/1h fixed-window').peek('k')).policies[0]?.used).toBe(8)
  })

  test.each(['reset', 'clear'] as const)('the end of its failure is noted after a %s during it', async (verb) => {
    const { clock, state, process } = fleet()
    const limiter = process('100/1h fixed-window')
    await calls(limiter, 1)
    state.broken = true
    await clock.pass('100ms')
    await expect(limiter[verb]('k')).rejects.toThrow('the store is down')
    await clock.pass('10s')
    state.broken = false
    await expect(limiter.consume('k')).rejects.toThrow('the store is down')
    await clock.pass('100ms')
    for (const key of ['k', 'other']) expect(await calls(limiter, 1, key)).toBe('1')
  })

  test('the end of its failure is noted by a broken record too', async () => {
    const { clock, state, process } = fleet()
    const limiter = process('100/1h fixed-window')
    await calls(limiter, 1)
    state.broken = true
    await clock.pass('200ms')
    state.broken = false
    state.record = true
    await clock.pass('10s')
    expect(await calls(limiter, 1, 'other')).toBe('1')
  })

  test('a start without it: each process has its part of instances, and says that it decides by itself', async () => {
    const { clock, state, process } = fleet()
    state.broken = true
    const processes = Array.from({ length: 8 }, () => process('1000/1h fixed-window', 8))
    const started = await Promise.all(processes.map((limiter) => calls(limiter, 125)))
    expect(started.join('')).toBe('1'.repeat(1000))
    for (const limiter of processes) await expect(limiter.consume('k')).rejects.toThrow('the store is down')
    for (const limiter of processes) expect(await limiter.consume('new')).toMatchObject({ source: 'fallback' })
    state.broken = false
    await clock.pass('100ms')
    await clock.pass('1ms')
    for (const limiter of processes) expect(await limiter.consume('new')).toMatchObject({ source: 'store' })
  })

  test("while it is away, 'local' divides the limit by the instances of the store too", async () => {
    const { state } = fleet()
    const store = new ShareStore(
      brokenStore(() => Promise.reject(new Error('down'))),
      100,
      4,
    )
    vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const limiter = new RateLimiter({ name: 'api', policies: '40/1h fixed-window', store, instances: 2 })
    expect(await calls(limiter, 30)).toBe(`${'1'.repeat(20)}${'0'.repeat(10)}`) // the share, and the local part
    expect(state.calls).toBe(0)
  })

  test('while it hangs, calls are decided at once', async () => {
    const { clock, state, process } = fleet()
    const limiter = process('4/1h fixed-window')
    state.hangs = true
    expect(await calls(limiter, 1)).toBe('1')
    await clock.pass('1s')
    expect(await calls(limiter, 1)).toBe('1')
  })
})

test('a refund that the store refuses gives back nothing in this process either', async () => {
  const exact = faultyStore(memoryStore())
  const store = new ShareStore(exact, 60_000, 2)
  const limiter = new RateLimiter({ name: 'api', policies: '1000/1h fixed-window', store, onStoreError: 'throw' })
  for (let call = 0; call < 30; call++) await limiter.consume('k')
  exact.fail('error')
  await expect(limiter.refund('k', { cost: 40 })).rejects.toMatchObject({ code: 'HEADGATE_STORE' })
  exact.heal()
  expect((await limiter.peek('k')).policies[0]?.used).toBe(30)
  store.close()
})

test('a key has one share in a process, whatever nodes of a Cluster the other keys of its calls are on', async () => {
  const clock = new ManualClock()
  const exact = asyncStore(memoryStore({ clock: clock.now }))
  const behind = remoteStore((terms) => exact.open(terms), { shardOf: (keys) => [...new Set(keys)].sort().join('+') })
  const store = new ShareStore(behind, 100, 2, clock.now, clock.sleeper)
  const policies = [
    fixedWindow({ name: 'calls', limit: 20, window: '1h', scope: 'ip' }),
    fixedWindow({ name: 'user', limit: 100, window: '1h', scope: 'user' }),
  ]
  const limiter = new RateLimiter({ name: 'api', policies, store, storeTimeout: Infinity })
  const all = Array.from({ length: 40 }, (_, n) => limiter.consume({ ip: 'i', user: `u${n % 4}` }))
  const admitted = (await Promise.all(all)).filter(({ allowed }) => allowed).length
  expect(admitted).toBe(20)
  await limiter.reset({ ip: 'i', user: 'u0' })
  expect((await limiter.consume({ ip: 'i', user: 'u1' })).allowed).toBe(true)
})

test.each([
  ['countRefused', fixedWindow({ limit: 5, window: '1m', countRefused: true })],
  ['units in flight', concurrency({ limit: 4 })],
  ['Guava', smoothBursty({ rate: 5 })],
])('%s: a clear error when the limiter is made', (_, policies) => {
  const { process } = fleet()
  const code = 'HEADGATE_POLICY'
  expect(() => process(policies)).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining('shareStore') }),
  )
})

test('a penalty: a clear error', () => {
  const { state } = fleet()
  const store = new ShareStore(memoryStore(), 100, 2)
  const penalty = { after: 3, within: '1m', ban: '1h' }
  expect(() => new RateLimiter({ name: 'p', policies: '5/1m', penalty, store })).toThrow(
    expect.objectContaining({ code: 'HEADGATE_POLICY' }),
  )
  expect(state.calls).toBe(0)
})

describe('a store that fails in part', () => {
  /** A store whose calls on some keys reject with these errors. */
  function partly(shardOf?: (key: string) => string) {
    const clock = new ManualClock()
    const exact = memoryStore({ clock: clock.now })
    const failing = new Map<string, Error>()
    const behind = remoteStore(
      (terms) => {
        const ledger = exact.open(terms)
        return {
          async run(command) {
            const keys = command.keys as readonly string[]
            const error = keys.map((key) => failing.get(key)).find((each) => each !== undefined)
            if (command.verb === 'reset') for (const key of keys) failing.delete(key)
            else if (error !== undefined && command.verb !== 'reserve') throw error
            return await ledger.run(command)
          },
        }
      },
      { ...(shardOf && { shardOf }) },
    )
    const store = new ShareStore(behind, 100, 2, clock.now, clock.sleeper)
    const options = { name: 'api', policies: '100/1h fixed-window', store, storeTimeout: Infinity } as const
    return { clock, failing, limiter: new RateLimiter({ ...options, onStoreError: 'throw' }) }
  }

  test('a broken record is an error of its key alone, until a reset', async () => {
    const { clock, failing, limiter } = partly()
    const code = 'HEADGATE_STORE_RECORD'
    failing.set('bad', new HeadgateError(code, 'no record'))
    await calls(limiter, 3, 'bad')
    for (let period = 0; period < 20; period++) {
      expect(await calls(limiter, 2, 'good')).toBe('11')
      await clock.pass('100ms')
      await clock.pass('1ms') // the answer is here
      await expect(limiter.consume('bad')).rejects.toMatchObject({ code })
    }
    expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
    await limiter.reset('bad')
    expect(await calls(limiter, 2, 'bad')).toBe('11')
    // Or after a reset by another process.
    failing.set('bad', new HeadgateError(code, 'no record'))
    await clock.pass('200ms')
    await clock.pass('1ms')
    await expect(limiter.consume('bad')).rejects.toMatchObject({ code })
    failing.clear()
    await limiter.consume('bad')
    expect(await calls(limiter, 2, 'bad')).toBe('11')
  })

  test('a shard that fails is an error of its keys alone', async () => {
    const { clock, failing, limiter } = partly((key) => (key === 'lost' ? 'one' : 'other'))
    await calls(limiter, 1, 'lost')
    await calls(limiter, 1, 'well')
    await clock.pass('100ms')
    failing.set('lost', new Error('the shard is down'))
    const lost: string[] = []
    for (let period = 0; period < 20; period++) {
      expect(await calls(limiter, 2, 'well')).toBe('11')
      lost.push(await calls(limiter, 1, 'lost').catch(({ message }) => message))
      await clock.pass('100ms')
    }
    expect(lost[0]).toBe('1')
    expect(lost.slice(5).every((each) => each === 'the shard is down')).toBe(true)
  })
})
