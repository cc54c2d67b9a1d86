import { channel } from 'node:diagnostics_channel'
import { describe, expect, test, vi } from 'vitest'
import { forgetWarnings } from '../../src/common/warn.ts'
import {
  fixedWindow,
  HeadgateError,
  memoryStore,
  RateLimiter,
  type StoreFailure,
  slidingWindow,
} from '../../src/index.ts'
import { decide } from '../../src/limiter/limiter.ts'
import type { Ledger } from '../../src/store.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { brokenStore, remoteStore } from '../support/async-store.ts'
import { FailingStore, FailoverFixture, outcome, settle } from '../support/failing-store.ts'

const choices = ['closed', 'open', 'local'] as const

describe('a store that does not respond', () => {
  test('a call is decided at its deadline, and at once after five deadlines have passed', async () => {
    const fixture = new FailoverFixture('10/1h fixed-window')
    expect(await fixture.consume('k')).toBe('store 9')
    fixture.store.mode = 'hangs'
    for (let n = 0; n < 5; n++) {
      const answered = vi.fn()
      const call = fixture.consume(`k${n}`).then(answered)
      await fixture.at(100 * n + 99)
      expect(answered).not.toHaveBeenCalled()
      await fixture.at(100 * n + 100)
      await call
      expect(answered).toHaveBeenCalledWith('fallback 9')
    }
    fixture.requests()
    expect(await fixture.consume('k')).toBe('fallback 9')
    expect([fixture.requests(), fixture.health.state]).toEqual([[], 'open'])
  })

  test('all calls share one timer, and no timer is left when they are over', async () => {
    const fixture = new FailoverFixture('10/1h')
    fixture.store.mode = 'hangs'
    const calls = [fixture.consume('a'), fixture.consume('b')]
    await fixture.at(60)
    calls.push(fixture.consume('c'))
    expect(fixture.timers.size).toBe(1)
    await fixture.at(100)
    expect(fixture.timers.size).toBe(1)
    await fixture.at(160)
    expect(await Promise.all(calls)).toEqual(['fallback 9', 'fallback 9', 'fallback 9'])
    expect(fixture.timers.size).toBe(0)
    fixture.store.mode = 'up'
    await fixture.consume()
    await fixture.at(180)
    expect(fixture.timers.size).toBe(0)
  })

  test('units of a late response are given back', async () => {
    const fixture = new FailoverFixture('10/1h fixed-window')
    fixture.store.mode = 'hangs'
    const calls = [
      outcome(fixture.ledger.run({ verb: 'consume', keys: ['k'], costs: 3 })),
      fixture.ledger.run({ verb: 'reserve', keys: ['k'], costs: 4 }),
    ] as const
    await fixture.at(100)
    expect(await calls[0]).toBe('fallback 7')
    expect((await calls[1]).decision.remaining).toBe(3)
    fixture.store.mode = 'up'
    fixture.store.release()
    await settle()
    // The 7 units spent locally are charged. Those that the store took late are given back.
    expect(await fixture.peek()).toBe('store 3')
  })
})

describe('a reservation of the store gives back all its units, whatever is given back of', () => {
  const policies = slidingWindow({ limit: 10, window: '1h' })
  const reserve = (fixture: FailoverFixture) => fixture.ledger.run({ verb: 'reserve', keys: ['k'], costs: 4 })
  const cancel = ({ ledger }: FailoverFixture, { tickets }: Awaited<ReturnType<typeof reserve>>) =>
    ledger.run({ verb: 'settle', keys: ['k'], costs: [-4], tickets })

  test('a call that was answered too late', async () => {
    const fixture = new FailoverFixture(policies, { onStoreError: 'open' })
    const reservation = await reserve(fixture)
    fixture.store.mode = 'hangs'
    const late = fixture.consume()
    await fixture.at(100)
    await late
    fixture.store.mode = 'up'
    fixture.store.release()
    await settle()
    await cancel(fixture, reservation)
    expect(await fixture.peek()).toBe('store 10')
  })
})

test.each([
  ['after its window', 1000, 'store 3'],
  ['in its window', 300, 'store 7'],
])('a call whose response comes %s gives back no units of the next window', async (_when, at, left) => {
  const fixture = new FailoverFixture('10/1s fixed-window', { onStoreError: 'closed' })
  fixture.store.mode = 'slow'
  const call = fixture.consume('k', 4)
  await fixture.at(100)
  expect(await call).toBe('HEADGATE_STORE_UNAVAILABLE')
  fixture.store.mode = 'up'
  await fixture.at(at)
  const spend = () =>
    fixture.store.openBare({ name: 'api', policies: fixture.policies, scopes: fixture.scopes }).run({
      verb: 'consume',
      keys: ['k'],
      costs: at === 1000 ? 7 : 3,
    })
  await spend()
  fixture.store.release()
  await settle()
  expect(await fixture.peek()).toBe(left)
})

describe('a list of costs', () => {
  const policies = ['own', 'pool'].map((name) => fixedWindow({ name, limit: 3, window: '1h' }))
  const list = { keys: ['k'], costs: [2, 0], alternatives: [[2, 0] as const, [0, 2] as const] }
  const used = async (fixture: FailoverFixture) => {
    return (await fixture.ledger.run({ verb: 'peek', keys: ['k'] })).policies.map((policy) => policy.used)
  }

  test.each(['consume', 'reserve'] as const)('%s: a late response gives back what was taken', async (verb) => {
    const fixture = new FailoverFixture(policies, { onStoreError: 'open' })
    await fixture.ledger.run({ verb: 'consume', ...list })
    fixture.store.mode = 'hangs'
    const call = fixture.ledger.run({ verb, ...list })
    await fixture.at(100)
    await call
    fixture.store.mode = 'up'
    fixture.store.release() // own has 2 of 3, so the pool pays
    await settle()
    expect(fixture.requests().at(-1)).toMatch(verb === 'consume' ? /^refund k 0,2 / : /^settle k 0,-2 /)
    expect(await used(fixture)).toEqual([2, 0])
  })

  test('this process tries it in its order while the store fails, and the store is charged for each policy', async () => {
    const fixture = new FailoverFixture(policies, { onStoreError: 'local' })
    fixture.store.mode = 'fails'
    const tried: unknown[] = []
    for (let n = 0; n < 3; n++) {
      const { allowed, source, tried: refused } = await fixture.ledger.run({ verb: 'consume', ...list })
      tried.push([allowed, source, refused?.map(({ policy }) => policy)])
    }
    expect(tried).toEqual([
      [true, 'fallback', []],
      [true, 'fallback', ['own']],
      [false, 'fallback', ['own', 'pool']],
    ])
    fixture.store.mode = 'up'
    await fixture.at(10_000)
    await fixture.consume('other')
    await settle()
    expect(await used(fixture)).toEqual([2, 2])
  })

  test('a reservation that was granted locally by the pool gives back to the pool', async () => {
    const clock = new ManualClock()
    const store = new FailingStore(clock)
    const limiter = new RateLimiter({ name: 'api', policies, store, onStoreError: 'local' })
    store.mode = 'fails'
    const cost = [
      { own: 2, pool: 0 },
      { own: 0, pool: 2 },
    ]
    const reservations = [await limiter.reserve('k', { cost }), await limiter.reserve('k', { cost })]
    expect(reservations.map(({ decision }) => decision.tried?.length)).toEqual([0, 1])
    await reservations[1]?.settle(1)
    await reservations[0]?.cancel()
    expect((await limiter.usage('k')).policies.map((policy) => policy.used)).toEqual([0, 1])
  })
})

describe('the deadline of a call', () => {
  test('is kept by a store that declares a timeout, and not by the limiter too', async () => {
    const fixture = new FailoverFixture('10/1h', { timeout: 50 })
    fixture.store.mode = 'hangs'
    const call = fixture.consume()
    await fixture.at(10_000)
    expect(fixture.timers.size).toBe(0)
    fixture.store.release()
    expect(await call).toBe('store 9')
  })

  test('is kept by the limiter if it has a storeTimeout', async () => {
    const fixture = new FailoverFixture('10/1h', { timeout: 50, storeTimeout: 20 })
    fixture.store.mode = 'hangs'
    const call = fixture.consume()
    await fixture.at(20)
    expect(await call).toBe('fallback 9')
    expect(fixture.health.lastError).toMatchObject({
      code: 'HEADGATE_STORE_TIMEOUT',
      message: expect.stringContaining('within 20 ms'),
    })
  })

  test('is the same for the call and for the settling of its key', async () => {
    const fixture = new FailoverFixture('10/1h', { timeout: 50 })
    fixture.store.mode = 'fails'
    expect(await fixture.consume()).toBe('fallback 9')
    fixture.store.mode = 'hangs'
    const call = fixture.consume()
    await fixture.at(60)
    expect(await call).toBe('fallback 8')
  })

  test('is not needed for a result without a promise, which is returned as it is', async () => {
    const { ledger } = new FailoverFixture('10/1h')
    const decision = await ledger.run({ verb: 'consume', keys: ['k'] })
    const here = { run: vi.fn(() => decision) } as unknown as Ledger
    const timer = vi.spyOn(globalThis, 'setTimeout')
    const limiter = new RateLimiter({ policies: '10/1h', store: remoteStore(() => here) })
    expect(decide(limiter, 'k', 1)).toBe(decision)
    await settle()
    expect(timer).not.toHaveBeenCalled()
    timer.mockRestore()
    expect(limiter.health().sources.store).toBe(1)
  })
})

describe('a promise of another library', () => {
  const answers = (then: (resolve: (answer: unknown) => void, reject: (error: Error) => void) => void) => ({ then })
  const limiterOn = (run: unknown, onStoreError: 'closed' | 'local') => {
    return new RateLimiter({ policies: '10/1h', store: remoteStore(() => ({ run }) as Ledger), onStoreError })
  }

  test.each([
    [
      'throws',
      answers(() => {
        throw new Error('broken')
      }),
    ],
    ['resolves with a promise that rejects', answers((resolve) => resolve(Promise.reject(new Error('broken'))))],
    [
      'rejects twice',
      answers((_resolve, reject) => {
        reject(new Error('broken'))
        reject(new Error('again'))
      }),
    ],
  ])('that %s is a failure of the store, counted once', async (_how, answer) => {
    const limiter = limiterOn(() => answer, 'closed')
    await expect(limiter.consume('ann')).rejects.toMatchObject({
      code: 'HEADGATE_STORE_UNAVAILABLE',
      cause: { message: 'broken' },
    })
    await settle()
    expect(limiter.health()).toMatchObject({ errors: 1, failedClosed: 1 })
  })

  test('that answers twice gives nothing back', async () => {
    const decision = await new RateLimiter({ policies: '10/1h' }).consume('ann')
    const decide = vi.fn(() =>
      answers((resolve) => {
        resolve(decision)
        resolve(decision)
      }),
    )
    expect(await limiterOn(decide, 'local').consume('ann')).toBe(decision)
    await settle()
    expect(decide).toHaveBeenCalledTimes(1)
  })
})

describe.each(['fails', 'throws', 'hangs'] as const)('a store that %s', (mode) => {
  test.each(choices)('%s decides every verb', async (onStoreError) => {
    const fixture = new FailoverFixture('10/1h fixed-window', { onStoreError })
    const { ledger, store } = fixture
    await fixture.consume('k', 4)
    store.mode = mode
    for (const open of [false, true]) {
      if (open) await fixture.down(mode)
      const answers = [
        outcome(ledger.run({ verb: 'consume', keys: ['k'], costs: open ? 1 : 3 })),
        outcome(ledger.run({ verb: 'peek', keys: ['k'] })),
        outcome(ledger.run({ verb: 'charge', keys: ['k'], costs: 2 })),
        outcome(ledger.run({ verb: 'refund', keys: ['k'] })),
        outcome(
          Promise.resolve(ledger.run({ verb: 'reserve', keys: ['k'], costs: 2 })).then(({ decision }) => decision),
        ),
      ]
      await fixture.at(fixture.clock.milliseconds - fixture.start + 100)
      expect(await Promise.all(answers)).toEqual(
        {
          closed: Array(5).fill('HEADGATE_STORE_UNAVAILABLE'),
          open: Array(5).fill('open 10'),
          local: open
            ? [
                'fallback 2',
                'fallback 2',
                'fallback 0',
                'fallback 1',
                `fallback no ${fixture.start + 3_600_100 - fixture.clock.milliseconds}`,
              ]
            : ['fallback 7', 'fallback 7', 'fallback 5', 'fallback 5', 'fallback 3'], // maybe the store has executed the refund
        }[onStoreError],
      )
      expect(fixture.health.state).toBe(open ? 'open' : 'closed')
    }
    const { sources, failedClosed, errors } = fixture.health
    const by = { closed: [0, 0, 15], open: [0, 15, 0], local: [15, 0, 0] }[onStoreError]
    expect([sources.fallback, sources.open, failedClosed, errors, sources.store]).toEqual([...by, 9, 1])
  })
})

test('closed rejects with the cause and the time to try again', async () => {
  const fixture = new FailoverFixture('10/1h', { onStoreError: 'closed' })
  await fixture.down()
  const error = await (fixture.ledger.run({ verb: 'consume', keys: ['k'] }) as Promise<unknown>).catch(
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(HeadgateError)
  expect(error).toMatchObject({
    code: 'HEADGATE_STORE_UNAVAILABLE',
    retryAfter: 500,
    cause: { message: 'store failed' },
  })
})

test('open decides with the numbers of a key that has its full quota', async () => {
  const policies = ['10/1h fixed-window', '5/1m burst 8']
  const fixture = new FailoverFixture(policies, { onStoreError: 'open' })
  await fixture.down()
  const decision = await fixture.ledger.run({ verb: 'consume', keys: ['k'], details: { at: true, nextAfter: true } })
  expect(decision).toMatchObject({
    allowed: true,
    limit: 5,
    remaining: 8,
    retryAfter: 0,
    resetAfter: 0,
    source: 'open',
  })
  expect(decision.policies).toMatchObject([
    { name: '1h', limit: 10, remaining: 10 },
    { name: '1m', limit: 5, remaining: 8, nextAfter: 0 },
  ])
  expect(decision.at).toBeGreaterThan(0)
})

describe('a function as onStoreError', () => {
  test('chooses for each call, and gets the error, the key and the limiter', async () => {
    const failures: StoreFailure[] = []
    const fixture = new FailoverFixture('10/1h', {
      onStoreError: (event) => {
        failures.push(event)
        return event.key === 'login' ? 'closed' : event.key === 'health' ? 'open' : undefined
      },
    })
    await fixture.down()
    failures.length = 0
    expect(await fixture.consume('login')).toBe('HEADGATE_STORE_UNAVAILABLE')
    expect(await fixture.consume('health')).toBe('open 10')
    expect(await fixture.consume('k')).toBe('fallback 9')
    expect(failures).toMatchObject(
      ['login', 'health', 'k'].map((key) => ({ key, limiter: 'api', error: { message: 'store failed' } })),
    )
  })

  test('that throws, rejects or returns something else is a warning, and the default counts', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const bad = [
      () => {
        throw new Error('bad')
      },
      async () => {
        throw new Error('bad')
      },
      // biome-ignore lint/suspicious/noThenProperty: a promise of another library
      () => ({ then: (_: unknown, reject: (error: Error) => void) => reject(new Error('bad')) }) as never,
      () => 'refuse' as never,
    ]
    for (const onStoreError of bad) {
      forgetWarnings()
      const fixture = new FailoverFixture('10/1h', { onStoreError })
      await fixture.down()
      expect(await fixture.consume('k')).toBe('fallback 9')
    }
    await settle()
    const hooks = warned.mock.calls.filter(([, options]) => (options as { code?: string }).code === 'HEADGATE_HOOK')
    expect(hooks).toHaveLength(4)
    warned.mockRestore()
  })
})

test('a failure without a middleware is published on the channel headgate:store-error', async () => {
  const events: unknown[] = []
  const listener = (event: unknown) => events.push(event)
  channel('headgate:store-error').subscribe(listener)
  const fixture = new FailoverFixture(['10/1h', { name: 'user', scope: 'user', limit: 5, window: '1h' }])
  fixture.store.mode = 'fails'
  await fixture.consume('k')
  channel('headgate:store-error').unsubscribe(listener)
  await fixture.consume('k')
  const key = { default: 'k', user: 'k' }
  expect(events).toMatchObject([{ error: { message: 'store failed' }, key, limiter: 'api' }])
})

test('misuse that the store finds is no failure of the store', async () => {
  const misuse = new HeadgateError('HEADGATE_KEY', 'no such key')
  const limiter = new RateLimiter({ policies: '1/1h', store: brokenStore(() => Promise.reject(misuse)) })
  for (let n = 0; n < 6; n++) await expect(limiter.consume('k')).rejects.toBe(misuse)
  expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
})

test('health shows the state, the sources, the errors and the debts', async () => {
  const fixture = new FailoverFixture('10/1h')
  await fixture.consume()
  expect(fixture.health).toEqual({
    state: 'closed',
    since: fixture.start,
    sources: { store: 1, fallback: 0, open: 0 },
    failedClosed: 0,
    errors: 0,
    lastError: undefined,
    owing: 0,
  })
  await fixture.at(1000)
  await fixture.down()
  expect(fixture.health).toMatchObject({ state: 'open', since: fixture.start + 1000, errors: 5, owing: 5 })
  expect(fixture.health.lastError).toMatchObject({ message: 'store failed' })
  await fixture.up()
  expect(fixture.health).toMatchObject({ state: 'closed', since: fixture.start + 1500, errors: 5, owing: 0 })
  expect(new RateLimiter({ policies: '1/1h', store: memoryStore() }).health()).toMatchObject({ state: 'closed' })
})

test.each([
  [{ onStoreError: 'refuse' }],
  [{ onStoreError: null }],
  [{ instances: 0 }],
  [{ instances: 1.5 }],
  [{ storeTimeout: 'soon' }],
])('%o is refused at construction', (options) => {
  expect(() => new RateLimiter({ policies: '1/1h', ...options } as never)).toThrow(
    expect.objectContaining({ code: 'HEADGATE_OPTION' }),
  )
})
