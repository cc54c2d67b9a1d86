import { expect, test } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { fixedWindow, memoryStore, RateLimiter, tokenBucket } from '../../src/index.ts'
import { asyncStore, remoteStore } from '../support/async-store.ts'
import { contract, statuses, stillStore } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { queryOf } from '../support/shapes.ts'

const policies = fixedWindow({ limit: 10, window: '1h' })
const tokens = fixedWindow({ name: 'tokens', limit: 1000, window: '1h' })

/** A budget of its own with this limit by day, and a pool with 2 units an hour. */
const ownAndPool = (limit: number) => [
  fixedWindow({ name: 'own', limit, window: '1d' }),
  fixedWindow({ name: 'pool', limit: 2, window: '1h', align: 'first-request' }),
]

contract((app) => {
  test('cost is a number, or a function of the request, sync or async', async () => {
    const units = (request: unknown) => Number(queryOf(request, 'units') ?? 3)
    const costs = [3, units, async (request: unknown) => units(request)]
    for (const cost of costs) {
      const { url } = await app({ policies, cost })
      expect(await statuses(url, [{}, {}, {}, {}])).toEqual([200, 200, 200, 429])
      expect((await get(url)).headers['x-ratelimit-remaining']).toBe('1')
    }
    const { url } = await app({ policies, cost: costs[1] })
    const never = await get(`${url}/?units=11`)
    expect([never.status, never.headers['retry-after']]).toEqual([429, undefined])
  })

  test('cost is a record by the names of the policies, or a function that returns one', async () => {
    const both = [fixedWindow({ name: 'requests', limit: 10, window: '1h' }), tokens]
    const record = { requests: 1, tokens: 400 }
    for (const cost of [record, () => record, async () => record]) {
      const limiter = new RateLimiter({ policies: both, store: stillStore().store })
      const { url } = await app({ limiter, cost, keys: () => 'k' })
      expect(await statuses(url, [{}, {}, {}])).toEqual([200, 200, 429])
      const { policies } = await limiter.peek('k')
      expect(policies.map(({ used }) => used)).toEqual([2, 800])
    }
  })

  test('cost is a list of records, or a function that returns one: the first that is admitted is taken', async () => {
    const list = [
      { own: 1, pool: 0 },
      { own: 0, pool: 1 },
    ]
    for (const cost of [list, () => list, async () => list]) {
      const limiter = new RateLimiter({ policies: ownAndPool(1), store: stillStore().store })
      const { url } = await app({ limiter, cost, keys: () => 'k' })
      expect(await statuses(url, [{}, {}, {}, {}])).toEqual([200, 200, 200, 429])
      const refused = await get(url)
      expect([refused.headers['retry-after'], refused.headers['x-ratelimit-remaining']]).toEqual(['3600', '0'])
      expect((await limiter.usage('k')).policies.map(({ used }) => used)).toEqual([1, 2])
    }
  })

  test('a list works beside count: a response that does not count gives back to the budget that has paid', async () => {
    const limiter = new RateLimiter({ policies: ownAndPool(1), store: stillStore().store })
    const cost = [
      { own: 1, pool: 0 },
      { own: 0, pool: 1 },
    ]
    const { url } = await app({ limiter, cost, keys: () => 'k', count: () => false })
    expect(await limiter.consume('k', { cost: { own: 1, pool: 0 } })).toMatchObject({ allowed: true })
    expect(await statuses(url, [{}, {}, {}, {}])).toEqual([200, 200, 200, 200])
    await expect.poll(async () => (await limiter.usage('k')).policies.map(({ used }) => used)).toEqual([1, 0])
  })

  test('a record works beside delay, and each cost has its own queue', async () => {
    const bucket = tokenBucket({ name: 'tokens', limit: 200, window: '2s', burst: 10 })
    const { url } = await app({
      policies: bucket,
      cost: (request: unknown) => ({ tokens: Number(queryOf(request, 'units')) }),
      keys: () => 'k',
      delay: { max: '2s' },
    })
    const seen = await Promise.all([10, 10, 5, 10, 5].map((units) => get(`${url}/?units=${units}`)))
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  })

  test('a record is read when the middleware is made', async () => {
    const cost = { tokens: 400 }
    const limiter = new RateLimiter({ policies: tokens, store: stillStore().store })
    const { url } = await app({ limiter, cost, keys: () => 'k' })
    cost.tokens = 1
    await get(url)
    expect((await limiter.peek('k')).remaining).toBe(600)
  })

  test.each([
    { tokens: 1, words: 2 },
    { requests: 1 },
    { tokens: 1.5, requests: 1 },
    { tokens: '1', requests: 1 },
    {},
    [],
  ])('a cost function that returns %j is an error for the error handler, and takes nothing', async (bad) => {
    const both = [fixedWindow({ name: 'requests', limit: 10, window: '1h' }), tokens]
    for (const cost of [() => bad, async () => bad]) {
      for (const settle of [false, true]) {
        const limiter = new RateLimiter({ policies: both })
        const { url, handled } = await app({ limiter, cost, settle, keys: () => 'k' })
        expect((await get(url)).status).toBe(500)
        expect(handled()).toBe(0)
        expect((await limiter.peek('k')).policies.map(({ used }) => used)).toEqual([0, 0])
      }
    }
  })

  test('settle corrects the policies that it names, once, in any order', async () => {
    const both = [fixedWindow({ name: 'requests', limit: 10, window: '1h' }), tokens]
    const limiter = new RateLimiter({ policies: both, store: stillStore().store })
    const { url } = await app(
      { limiter, cost: { requests: 1, tokens: 400 }, settle: true, keys: () => 'k' },
      {
        handle: async (decision) => {
          await expect(decision?.settle?.({ words: 1 })).rejects.toMatchObject({ code: 'HEADGATE_COST' })
          await expect(decision?.settle?.(7)).rejects.toMatchObject({ code: 'HEADGATE_COST' })
          await decision?.settle?.({ tokens: 42 })
          await decision?.settle?.({ tokens: 900 })
          return 200
        },
      },
    )
    await Promise.all([get(url), get(url)])
    expect((await limiter.peek('k')).policies.map(({ used }) => used)).toEqual([2, 84])
  })

  test.each([0, -1, 1.5, Number.NaN, Infinity, '2', undefined, null, 2n])(
    'a cost function that returns %s is an error for the error handler, and takes nothing',
    async (bad) => {
      for (const cost of [() => bad, async () => bad]) {
        const limiter = new RateLimiter({ policies })
        const { url, handled } = await app({ limiter, cost, keys: () => 'k' })
        const { status, body } = await get(url)
        expect([status, body]).toEqual([500, expect.stringMatching(/^What cost returns must be a whole number/)])
        expect(handled()).toBe(0)
        expect((await limiter.peek('k')).remaining).toBe(10)
      }
    },
  )

  test('an error of the cost function goes to the error handler', async () => {
    const { url } = await app({
      policies,
      cost: () => {
        throw new Error('no price today')
      },
    })
    expect(await get(url)).toMatchObject({ status: 500, body: 'no price today' })
  })

  test.each([false, true])('settle corrects the cost once; asynchronous store: %s', async (later) => {
    const { store } = stillStore()
    const used = [2, 0, 9, 7]
    const { url } = await app(
      { policies, cost: 5, settle: true, store: later ? asyncStore(store) : store },
      {
        handle: async (decision) => {
          await decision?.settle?.(used.shift() as number)
          await decision?.settle?.(0)
          return 200
        },
      },
    )
    const left = async () => (await get(url)).headers['x-ratelimit-remaining']
    // 10 - 5, corrected to 8; 8 - 5, corrected to 8; 8 - 5, corrected to -1: in debt, so nothing more is admitted.
    expect([await left(), await left(), await left()]).toEqual(['5', '3', '3'])
    expect((await get(url)).status).toBe(429)
  })

  test('settle rejects invalid values and uses the first valid one', async () => {
    const { url } = await app(
      { policies, cost: 5, settle: true },
      {
        handle: async (decision) => {
          const codes = []
          const wrong = [-1, 0.5, Number.NaN, undefined, null, '3'] as number[]
          for (const bad of wrong) codes.push(await decision?.settle?.(bad).catch(({ code }) => code))
          expect(codes).toEqual(wrong.map(() => 'HEADGATE_COST'))
          await decision?.settle?.(1)
          return 200
        },
      },
    )
    expect((await get(url)).status).toBe(200)
    expect((await get(url)).headers['x-ratelimit-remaining']).toBe('4')
  })

  test('a store that fails to settle breaks no request', async () => {
    const { store } = stillStore()
    const failing = remoteStore((terms) => {
      const ledger = store.open(terms)
      return {
        async run(command) {
          if (command.verb !== 'reserve') throw new Error('store is down')
          return await ledger.run(command)
        },
      }
    })
    const handle = (decision?: { settle?: (actual: number) => unknown }) => {
      void decision?.settle?.(1)
      return 200
    }
    const { url } = await app({ policies, cost: 5, settle: true, store: failing }, { handle })
    expect(await statuses(url, [{}, {}, {}])).toEqual([200, 200, 429])
  })
})

test.each([0, -1, 1.5, Number.NaN, '2', null, {}])('cost: %j throws at construction', (cost) => {
  expect(() => rateLimit({ policies, cost } as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_COST' }))
})

test.each([
  [{ tokens: 1 }, /"minute" is missing/],
  [{ tokens: 1, minute: 1, trial: 9, words: 1 }, /"words", which is no policy/],
  [{ tokens: -1, minute: 1 }, /under "tokens" must be a whole number/],
  [{ tokens: 1001, minute: 1 }, /the policy "tokens" admits at most 1000 at once/],
  [{ tokens: 1, minute: 1, 'at-once': 5 }, /the policy "at-once" admits at most 4 at once/],
])('cost: %j throws at construction, with the name', (cost, message) => {
  const minute = fixedWindow({ name: 'minute', limit: 2, window: '1m' })
  const trial = fixedWindow({ name: 'trial', limit: 2, window: '1m', shadow: true })
  const named = { 'at-once': 1, ...cost }
  expect(() => rateLimit({ policies: [tokens, minute, trial, '4 at once'], cost: named } as never)).toThrow(
    expect.objectContaining({ code: 'HEADGATE_COST', message: expect.stringMatching(message) }),
  )
})

test.each([
  [[], /a list of such records/],
  [[3], /a list of such records/],
  [[{ own: 1, pool: 0 }, { own: 1 }], /"pool" is missing/],
  [
    [
      { own: 1, pool: 0 },
      { own: 0, pool: 3 },
    ],
    /the policy "pool" admits at most 2 at once/,
  ],
])('a list of costs: %j throws at construction', (cost, message) => {
  expect(() => rateLimit({ policies: ownAndPool(1), cost } as never)).toThrow(
    expect.objectContaining({ code: 'HEADGATE_COST', message: expect.stringMatching(message) }),
  )
})

test('a list of costs throws at construction if the store takes no lists', () => {
  const cost = [{ own: 1, pool: 0 }]
  const { synchronous, open } = memoryStore()
  const store = { synchronous, open: open.bind(memoryStore()) }
  expect(() => rateLimit({ policies: ownAndPool(1), cost, store } as never)).toThrow(
    expect.objectContaining({ code: 'HEADGATE_UNSUPPORTED' }),
  )
})

test('cost: a number above the units that may be in flight throws at construction', () => {
  expect(() => rateLimit({ policies: '4 at once', cost: 5 })).toThrow(/"at-once" admits at most 4 at once/)
})

test('settle throws at construction if it is not a boolean', () => {
  expect(() => rateLimit({ policies, settle: 1, store: memoryStore() } as never)).toThrow(
    expect.objectContaining({ code: 'HEADGATE_OPTION' }),
  )
})
