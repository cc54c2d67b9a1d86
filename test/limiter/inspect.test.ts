import { describe, expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import { unsupported } from '../../src/common/errors.ts'
import {
  concurrency,
  counter,
  fixedWindow,
  lruStore,
  memoryStore,
  type Policy,
  type PolicyLike,
  policy,
  RateLimiter,
  segmentedWindow,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import { compareAndSetStore } from '../../src/store.ts'
import { faultyStore, ManualClock } from '../../src/testing/index.ts'

const start = Date.UTC(2026, 0, 1)

function limiterOf(policies: PolicyLike | PolicyLike[], options: object = {}) {
  const clock = new ManualClock(start)
  return { clock, limiter: new RateLimiter({ policies, store: memoryStore({ clock: clock.now }), ...options }) }
}

describe('each algorithm says in a sentence what is used and when it comes back', () => {
  test.each<[string, PolicyLike, number, string, string, object]>([
    [
      'a token bucket',
      '10/1s token-bucket',
      60,
      '7 of 10 units are used; one comes back every 100 ms, the next in 40 ms.',
      '12 of 10 units are used (a debt of 2); one comes back every 100 ms; a call of one unit is refused for 240 ms more.',
      { level: 6.4, capacity: 10 },
    ],
    [
      'a fixed window',
      policy('10/1s fixed-window'),
      60,
      '7 of 10 units are used in the window that ends in 940 ms.',
      '12 of 10 units are used (a debt of 2) in the window that ends in 940 ms; a call of one unit is refused for 940 ms more.',
      { spent: 7, capacity: 10, windowStart: start, windowEnd: start + 1000 },
    ],
    [
      'a bucket by interval',
      tokenBucket({ limit: 5, burst: 10, window: '1s', refill: 'interval' }),
      60,
      '7 of 10 units are used; 5 come back every 1 s, the next in 940 ms.',
      '12 of 10 units are used (a debt of 2); 5 come back every 1 s, the next in 940 ms; a call of one unit is refused for 940 ms more.',
      { spent: 7, capacity: 10, windowStart: start, windowEnd: start + 1000 },
    ],
    [
      'a sliding window',
      '10/1s',
      1500,
      '4 of 10 units are used: 0 in the window that ends in 500 ms, and 4 are left of the 7 in the window before.',
      '9 of 10 units are used: 5 in the window that ends in 500 ms, and 4 are left of the 7 in the window before.',
      { windowStart: start + 1000, windowEnd: start + 2000, current: 0, previous: 7 },
    ],
    [
      'a segmented window',
      segmentedWindow({ limit: 10, window: '1s', segments: 5 }),
      60,
      '7 of 10 units are used in the last 1 s; the next come back in 1.2 s.',
      '12 of 10 units are used (a debt of 2) in the last 1 s; a call of one unit is refused for 1.2 s more.',
      { segment: 200, counts: [7, 0, 0, 0, 0, 0] },
    ],
    [
      'a sliding log',
      '10/1s sliding-log',
      60,
      '7 of 10 units are used in the last 1 s; the next come back in 940 ms.',
      '12 of 10 units are used (a debt of 2) in the last 1 s; a call of one unit is refused for 940 ms more.',
      { entries: 1, oldest: start, newest: start },
    ],
    [
      'units in flight',
      concurrency({ limit: 10, lease: '30s' }),
      60,
      '7 of 10 units are in flight; the first lease ends in 30 s.',
      '12 of 10 units are in flight; the first lease ends in 30 s; a call of one unit is refused for 30 s more.',
      { entries: 1, oldest: start, newest: start },
    ],
    [
      'a counter',
      counter({ window: '1s' }),
      60,
      '7 units are counted in the window that ends in 940 ms.',
      '12 units are counted in the window that ends in 940 ms.',
      { spent: 7, capacity: 2 ** 52, windowStart: start, windowEnd: start + 1000 },
    ],
    [
      'a smooth rate',
      smoothBursty({ rate: 10 }),
      60,
      'The last call is not paid for; 0 of 10 permits are stored, and the store is full in 1.7 s; a call of one unit is refused for 640 ms more.',
      'The last call is not paid for; 0 of 10 permits are stored, and the store is full in 2.2 s; a call of one unit is refused for 1.2 s more.',
      { freeAt: start + 700, stored: 0, max: 10 },
    ],
    [
      'a limit of 0',
      { limit: 0, window: '1s' },
      0,
      'The limit is 0, so no call is admitted.',
      'The limit is 0, so no call is admitted.',
      {},
    ],
  ])('%s', async (_, like, later, used, inDebt, numbers) => {
    const { clock, limiter } = limiterOf(like)
    await limiter.consume('ann', { cost: 7 })
    clock.advance(later)
    const { policies } = await limiter.inspect('ann')
    expect([policies[0]?.words, policies[0]?.numbers]).toEqual([used, numbers])
    await limiter.charge('ann', { cost: 5 })
    const [verdict] = (await limiter.peek('ann')).policies
    const [state] = (await limiter.inspect('ann')).policies
    expect(state?.words).toBe(inDebt)
    expect(state).toMatchObject({ used: verdict?.used, remaining: verdict?.remaining, resetAfter: verdict?.resetAfter })
  })
})

test('an unknown key has its full quota, and looking at it creates nothing', async () => {
  const { limiter } = limiterOf('10/1m')
  const inspection = await limiter.inspect('nobody')
  expect(inspection).toMatchObject({ refused: false, lastUsedAt: undefined, exact: true, source: 'store', notes: [] })
  expect(inspection.words).toBe('Admitted: nothing is known of the key, so it has its full quota.')
  expect(inspection.policies[0]).toMatchObject({ used: 0, remaining: 10, words: 'Nothing is used of 10 units.' })
  expect((limiter.store as ReturnType<typeof memoryStore>).stats().keys).toBe(0)
})

test('a refused key says by which policy and for how long, and that is true', async () => {
  const { clock, limiter } = limiterOf(['2/1s', policy('3/1h sliding-log')])
  for (let n = 0; n < 3; n++) {
    await limiter.consume('ann')
    clock.advance('1s')
  }
  const inspection = await limiter.inspect('ann')
  expect(inspection.words).toBe('Refused for 59 m 57 s more by the policy "1h".')
  expect([inspection.refused, inspection.lastUsedAt]).toEqual([true, start + 2000])
  clock.advance(inspection.retryAfter - 1)
  expect((await limiter.peek('ann')).allowed).toBe(false)
  clock.advance(1)
  expect((await limiter.inspect('ann')).refused).toBe(false)
})

test('a penalty counts refusals, bans, and remembers', async () => {
  const { clock, limiter } = limiterOf(policy('1/1s fixed-window'), {
    penalty: { after: 2, within: '1m', ban: ['10s', '1h'] },
  })
  const words = async () => (await limiter.inspect('ann')).policies[1]?.words
  await limiter.consume('ann')
  expect(await words()).toBe('No refusal is counted.')
  await limiter.consume('ann')
  expect(await words()).toBe('1 of 2 refusals that lead to a ban is counted, for 1 m more.')
  await limiter.consume('ann')
  expect(await words()).toBe('Banned for 10 s more, because it was refused too often (ban 1).')
  expect((await limiter.inspect('ann')).words).toBe('Refused for 10 s more by the policy "penalty".')
  clock.advance('10s')
  expect(await words()).toBe('No refusal is counted; the last ban is remembered for 1 h more.')
})

test('units in flight and booked ones have their times, and reservations are known to be open', async () => {
  const { clock, limiter } = limiterOf([concurrency({ limit: 3, lease: '30s' })])
  const first = await limiter.reserve('ann')
  clock.advance('5s')
  await limiter.reserve('ann', { cost: 2 })
  expect((await limiter.inspect('ann')).policies[0]).toMatchObject({
    inFlight: [
      { units: 1, after: 25_000 },
      { units: 2, after: 30_000 },
    ],
    reservations: true,
    retryAfter: 25_000,
  })
  await first.release()
  expect((await limiter.inspect('ann')).policies[0]?.inFlight).toEqual([{ units: 2, after: 30_000 }])

  const ahead = limiterOf('2/1s token-bucket')
  await ahead.limiter.consume('ann', { cost: 2 })
  await ahead.limiter.reserve('ann', { maxWait: '1s' })
  const [state] = (await ahead.limiter.inspect('ann')).policies
  expect(state).toMatchObject({ used: 3, debt: 0, booked: [{ units: 1, after: 500 }], reservations: true })
  expect(state?.words).toBe(
    '3 of 2 units are used; one comes back every 500 ms; 1 unit of these is booked ahead; a call of one unit is refused for 1 s more.',
  )
})

test.each([memoryStore, lruStore])(
  'another plan shows its own numbers, and those that were left (%#)',
  async (store) => {
    const clock = new ManualClock(start)
    const limiter = new RateLimiter({
      policies: { name: 'calls', limit: 100, window: '1m' },
      store: store({ clock: clock.now }),
    })
    await limiter.consume('ann', { cost: 30 })
    const small = limiter.withPlan([
      { name: 'calls', limit: 20, window: '1m' },
      { name: 'more', limit: 5, window: '1m' },
    ])
    const { policies } = await small.inspect('ann')
    expect(policies.map(({ used, limit, carried }) => [used, limit, carried])).toEqual([
      [20, 20, true],
      [0, 5, false],
    ])
    await small.reset('ann')
    await small.consume('ann')
    const { others } = await limiter.inspect('ann')
    expect(others).toMatchObject([{ name: 'more', used: 1, limit: 5, window: 60_000 }])
  },
)

test.each<[string, Policy]>([
  ['a day of the calendar', calendarWindow({ name: 'calls', limit: 5, every: 'day' })],
  ['a fixed window with thresholds', fixedWindow({ name: 'calls', limit: 5, window: '1h', thresholds: [1] })],
])('a state that another kind of policy left is shown as it counts under %s', async (_, next) => {
  const { limiter } = limiterOf({ name: 'calls', limit: 5, window: '1h' })
  await limiter.consume('ann', { cost: 5 })
  const plan = limiter.withPlan(next)
  const { retryAfter } = await plan.peek('ann')
  expect(retryAfter).toBeGreaterThan(0)
  const { refused, policies } = await plan.inspect('ann')
  expect(refused).toBe(true)
  expect(policies).toMatchObject([{ used: 5, remaining: 0, retryAfter, carried: true }])
  const listed: unknown[] = []
  for await (const { key } of plan.list({ refused: true })) listed.push(key)
  expect(listed).toEqual(['ann'])
})

describe.each([memoryStore, lruStore])('a state of another policy under a calendar of the customer (%#)', (store) => {
  test.each<[string, Policy]>([
    ['a sliding window', policy('5/1h', { name: 'calls' })],
    ['a fixed window', policy('5/30d fixed-window', { name: 'calls' })],
    ['a log', policy('5/1h sliding-log', { name: 'calls' })],
    ['a bucket', policy('5/1h token-bucket', { name: 'calls' })],
    ['a day of the calendar', calendarWindow({ name: 'calls', limit: 5, every: 'day' })],
    ['a month with another limit', calendarWindow({ name: 'calls', limit: 6, every: 'month' })],
  ])('%s', async (_, before) => {
    const clock = new ManualClock(start + 1000)
    const next = calendarWindow({ name: 'calls', limit: 5, every: 'month', timeZone: 'caller' })
    const limiter = new RateLimiter({ policies: next, store: store({ clock: clock.now }) })
    await limiter.withPlan(before).consume('ann', { cost: before.limit })
    clock.advance(1000)
    const { refused, words, policies } = await limiter.inspect('ann') // no call has said the calendar of the customer yet
    const listed: unknown[] = []
    for await (const { key } of limiter.list({ refused: true })) listed.push(key)
    const [verdict] = (await limiter.peek('ann', { calendar: { timeZone: 'Asia/Tokyo' } })).policies
    const { retryAfter, resetAfter, resetAt = 0 } = verdict ?? {}
    expect(retryAfter).toBeGreaterThan(0)
    expect([refused, listed]).toEqual([true, ['ann']])
    expect(words).toMatch(/^Refused for .* more by the policy "calls"\.$/)
    expect(policies).toMatchObject([{ used: 5, remaining: 0, retryAfter, resetAfter, resetAt, carried: true }])
    expect(policies[0]?.numbers).toMatchObject({ used: 5, windowEnd: resetAt })
    const again = await limiter.inspect('ann')
    expect(again.policies).toEqual(policies)
  })
})

describe('a ban by hand', () => {
  const texts = new Map<string, string>()
  const stores = {
    memoryStore,
    lruStore,
    compareAndSetStore: ({ clock }: { clock: () => number }) =>
      compareAndSetStore<string>({
        clock,
        read: (key) =>
          texts.has(key) ? { text: texts.get(key) as string, version: texts.get(key) as string } : undefined,
        swap: (key, text) => Boolean(texts.set(key, text)),
      }),
  }

  test.each(Object.entries(stores))('is told with its end and its reason, in %s', async (_, store) => {
    const clock = new ManualClock(start)
    const limiter = new RateLimiter({ name: 'b', policies: '10/1m', store: store({ clock: clock.now }) })
    await limiter.consume('ann', { cost: 4 })
    await limiter.ban('ann', '1h', { reason: 'tries "passwords"' })
    clock.advance('10m')
    const inspection = await limiter.inspect('ann')
    expect(inspection).toMatchObject({
      refused: true,
      retryAfter: 3_000_000,
      words: 'Banned by hand for 50 m more: "tries \\"passwords\\"".',
      ban: { until: start + 3_600_000, scope: 'default', reason: 'tries "passwords"' },
      others: [],
    })
    expect((await limiter.inspect('bob')).ban).toBeUndefined()
    clock.advance('50m')
    expect(await limiter.inspect('ann')).toMatchObject({ refused: false, ban: undefined })
    await limiter.ban('ann', Infinity)
    expect(await limiter.inspect('ann')).toMatchObject({
      retryAfter: Infinity,
      words: 'Banned by hand until the ban is lifted.',
      ban: { until: Infinity, reason: undefined },
    })
    await limiter.unban('ann')
    expect(await limiter.inspect('ann')).toMatchObject({ refused: false, ban: undefined })
  })

  test('and a policy that refuses for longer are both told, and of several bans the longest', async () => {
    const { limiter } = limiterOf([
      policy('1/2h fixed-window', { name: 'a', scope: 'address' }),
      policy('3/1m', { name: 'u', scope: 'user' }),
    ])
    const keys = { address: '192.0.2.1', user: 'ann' }
    await limiter.consume(keys)
    await limiter.ban({ user: 'ann' }, '1h')
    await limiter.ban({ address: '192.0.2.1' }, '30m')
    const inspection = await limiter.inspect(keys)
    expect([inspection.retryAfter, inspection.ban?.scope]).toEqual([7_200_000, 'user'])
    expect(inspection.words).toBe('Banned by hand for 1 h more. Refused for 2 h more by the policy "a".')
  })

  test.each([memoryStore, lruStore])('is listed, also of keys that have nothing else (%#)', async (store) => {
    const clock = new ManualClock(start)
    const limiter = new RateLimiter({ policies: '10/1m', store: store({ clock: clock.now }) })
    for (const key of ['ann', 'bob']) await limiter.consume(key)
    const long = 'k'.repeat(100) // a memory store keeps its hash, an LRU store the key
    const banned = ['ann', ...Array.from({ length: 450 }, (_, n) => `banned ${n}`), long]
    for (const key of banned) await limiter.ban(key, '1h')
    await limiter.ban('short', '1m')
    clock.advance('1m')
    const listed: string[] = []
    for await (const { key, hash, inspection } of limiter.list({ refused: true })) {
      expect(inspection.words).toBe('Banned by hand for 59 m more.')
      listed.push(key ?? hash ?? '')
    }
    expect(listed).toHaveLength(banned.length)
    expect(listed.filter((key) => !banned.includes(key) && !key.startsWith('#'))).toEqual([])
    expect(new Set(listed).size).toBe(banned.length)
  })

  test('is kept while a full memory store forgets the key, and is listed then', async () => {
    const limiter = new RateLimiter({ policies: '3/1h', store: memoryStore({ maxKeys: 2 }) })
    await limiter.consume('ann')
    await limiter.ban('ann', '1h')
    for (let n = 0; n < 50; n++) await limiter.consume(`key ${n}`)
    const listed: (string | undefined)[] = []
    for await (const { key } of limiter.list({ refused: true })) listed.push(key)
    expect(listed.filter((key) => key === 'ann')).toEqual(['ann'])
  })
})

test('keys of several scopes are inspected together, and a wrong key is HEADGATE_KEY', async () => {
  const { limiter } = limiterOf([
    policy('2/1m', { name: 'a', scope: 'address' }),
    policy('3/1m', { name: 'u', scope: 'user' }),
  ])
  await limiter.consume({ address: '192.0.2.1', user: 'ann' }, { cost: 2 })
  const { policies } = await limiter.inspect({ address: '192.0.2.1', user: 'bob' })
  expect(policies.map(({ used }) => used)).toEqual([2, 0])
  await expect(limiter.inspect('ann')).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
})

test('a full memory store says that its numbers are those of several keys', async () => {
  const clock = new ManualClock(start)
  const limiter = new RateLimiter({ policies: '3/1h', store: memoryStore({ clock: clock.now, maxKeys: 2 }) })
  for (let n = 0; n < 400; n++) await limiter.consume(`key ${n}`, { cost: 2 })
  const all = await Promise.all(Array.from({ length: 400 }, (_, n) => limiter.inspect(`key ${n}`)))
  const shared = all.filter(({ exact }) => !exact)
  expect(shared.length).toBeGreaterThan(300)
  expect(shared[0]?.notes[0]).toContain('has merged this key with others')
  for (const [n, { policies }] of all.entries()) {
    expect(policies[0]?.remaining).toBe((await limiter.peek(`key ${n}`)).remaining)
  }
  const never = await limiter.inspect('never seen')
  expect(never.exact || never.notes.length > 0).toBe(true)
})

test('the order of an LRU store stays when it is looked at', async () => {
  const limiter = new RateLimiter({ policies: '3/1h', store: lruStore({ maxKeys: 2 }) })
  await limiter.consume('old')
  await limiter.consume('new')
  await limiter.inspect('old')
  for await (const _ of limiter.list());
  await limiter.consume('newest')
  expect((await limiter.inspect('old')).lastUsedAt).toBeUndefined()
})

describe('while the store fails', () => {
  const failing = (onStoreError: 'local' | 'closed' | 'open' | 'throw') => {
    const clock = new ManualClock(start)
    const store = faultyStore(memoryStore({ clock: clock.now }))
    const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError, instances: 2 })
    return { store, limiter }
  }

  test("the numbers are those of this process, by its part of the limit, with 'local'", async () => {
    const { store, limiter } = failing('local')
    await limiter.consume('ann', { cost: 4 })
    store.fail('error')
    await limiter.consume('ann', { cost: 2 })
    const inspection = await limiter.inspect('ann')
    expect(inspection).toMatchObject({ source: 'fallback', policies: [{ used: 2, limit: 5, carried: false }] })
    expect(inspection.notes).toEqual([
      'The store failed: This store fails because a test asked for it. Call heal() to end the fault.',
      'This process decides by itself. The numbers are what it has admitted since.',
    ])
    await expect(limiter.ban('eve', '1h')).rejects.toThrow()
    expect(await limiter.inspect('eve')).toMatchObject({
      source: 'fallback',
      refused: true,
      ban: { scope: 'default' },
    })
    store.heal()
    const [note] = (await limiter.inspect('ann')).notes
    expect(note ?? 'charged already').toMatch(/admitted 2 units while the store failed|charged already/)
  })

  test("nothing is counted with 'open', and the store's error is thrown with 'closed' and 'throw'", async () => {
    const open = failing('open')
    open.store.fail('error')
    expect(await open.limiter.inspect('ann')).toMatchObject({ source: 'open', refused: false })
    for (const [choice, code] of [
      ['closed', 'HEADGATE_STORE_UNAVAILABLE'],
      ['throw', 'HEADGATE_STORE'],
    ] as const) {
      const { store, limiter } = failing(choice)
      store.fail('error')
      await expect(limiter.inspect('ann')).rejects.toMatchObject({ code })
      await expect(limiter.list().next()).rejects.toMatchObject({ code: 'HEADGATE_STORE' })
    }
  })
})

describe('list', () => {
  const filled = async (store = memoryStore()) => {
    const limiter = new RateLimiter({
      policies: [policy('2/1h', { name: 'a', scope: 'address' }), policy('9/1h', { name: 'u', scope: 'user' })],
      store,
    })
    for (let n = 0; n < 500; n++)
      await limiter.consume({ address: `a${n}`, user: `u${n % 250}` }, { cost: n % 5 === 0 ? 2 : 1 })
    return limiter
  }
  const keysOf = async (found: AsyncIterable<{ key: string | undefined }>) => {
    const keys: (string | undefined)[] = []
    for await (const { key } of found) keys.push(key)
    return keys
  }

  test.each([memoryStore, lruStore])('every live key of every scope once, in pages (%#)', async (store) => {
    const limiter = await filled(store() as ReturnType<typeof memoryStore>)
    const all = await keysOf(limiter.list())
    expect([all.length, new Set(all).size]).toEqual([750, 750])
    expect(new Set(await keysOf(limiter.list({ scope: 'user' })))).toEqual(
      new Set(Array.from({ length: 250 }, (_, n) => `u${n}`)),
    )
    const refused = await keysOf(limiter.list({ refused: true, scope: 'address' }))
    expect(new Set(refused)).toEqual(new Set(Array.from({ length: 100 }, (_, n) => `a${5 * n}`)))
    expect(await keysOf(limiter.list({ limit: 3 }))).toHaveLength(3)
  })

  test('keys that vanish meanwhile do no harm, and a loop may stop in the middle', async () => {
    const limiter = await filled()
    let seen = 0
    for await (const { key } of limiter.list({ scope: 'user' })) {
      seen++
      for (let n = 0; n < 250; n += 2) await limiter.reset({ address: `a${n}`, user: `u${n}` })
      if (key === 'u249') break
    }
    expect(seen).toBeGreaterThan(100)
    const iterator = limiter.list()
    await iterator.next()
    expect(await iterator.return()).toEqual({ done: true, value: undefined })
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
  })

  test('a long key is shown as its hash', async () => {
    for (const store of [memoryStore(), lruStore()]) {
      const limiter = new RateLimiter({ policies: '2/1h', store })
      const odd = 'é:{ }*\n'
      for (const key of ['', odd, '#x', 'k'.repeat(500)]) await limiter.consume(key)
      const found: [string | undefined, string | undefined][] = []
      for await (const { key, hash } of limiter.list()) found.push([key, hash?.slice(0, 1)])
      expect(new Set(found.map(([key]) => key))).toEqual(new Set(['', odd, '#x', undefined]))
      expect(found.filter(([, hash]) => hash !== undefined)).toEqual([[undefined, '#']])
    }
  })

  test('a wrong option is an error at once', async () => {
    const { limiter } = limiterOf('1/1s')
    const wrong: [object, string][] = [
      [{ limits: 5 }, 'list has no option "limits"'],
      [{ limit: 0 }, 'list: limit'],
      [{ refused: 1 }, 'list: refused'],
      [{ scope: 'user' }, 'scope must be a scope of the limiter ("default"), got "user"'],
      [5 as never, 'list takes an object'],
    ]
    for (const [options, text] of wrong) expect(() => limiter.list(options)).toThrow(text)
  })

  test('a store that cannot list or inspect says so', async () => {
    const texts = new Map<string, string>()
    const store = compareAndSetStore<string>({
      read: (key) =>
        texts.has(key) ? { text: texts.get(key) as string, version: texts.get(key) as string } : undefined,
      swap: (key, text) => Boolean(texts.set(key, text)),
    })
    const limiter = new RateLimiter({ name: 'cas', policies: '2/1h', store })
    await limiter.consume('ann')
    expect((await limiter.inspect('ann')).policies[0]?.used).toBe(1)
    await expect(limiter.list().next()).rejects.toThrow('This store cannot list its keys')
    const custom = new RateLimiter({
      policies: '2/1h',
      store: {
        synchronous: true,
        open: (terms) => {
          const ledger = memoryStore().open(terms)
          return {
            run(command) {
              if (command.verb === 'inspect') throw unsupported('inspect')
              return ledger.run(command)
            },
          }
        },
      },
    })
    await expect(custom.inspect('ann')).rejects.toMatchObject({ code: 'HEADGATE_UNSUPPORTED' })
  })
})
