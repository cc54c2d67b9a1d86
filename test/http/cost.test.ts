import { expect, test } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { fixedWindow, memoryStore, RateLimiter, type Store } from '../../src/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { contract, statuses, stillStore } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { queryOf } from '../support/shapes.ts'

const policies = fixedWindow({ limit: 10, window: '1h' })

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
          for (const bad of [-1, 0.5, Number.NaN]) codes.push(await decision?.settle?.(bad).catch(({ code }) => code))
          expect(codes).toEqual(['HEADGATE_COST', 'HEADGATE_COST', 'HEADGATE_COST'])
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
    const failing: Store = {
      synchronous: false,
      open(terms) {
        const ledger = store.open(terms)
        return {
          decide: async () => Promise.reject(new Error('store is down')),
          reserve: async (...call) => ledger.reserve(...call),
          reset: async (...call) => ledger.reset(...call),
        }
      },
    }
    const handle = (decision?: { settle?: (actual: number) => unknown }) => {
      void decision?.settle?.(1)
      return 200
    }
    const { url } = await app({ policies, cost: 5, settle: true, store: failing }, { handle })
    expect(await statuses(url, [{}, {}, {}])).toEqual([200, 200, 429])
  })

  test('without the option, the decision has no settle', async () => {
    const { url, decision } = await app({ policies })
    await get(url)
    expect(decision()).not.toHaveProperty('settle')
  })
})

test.each([0, -1, 1.5, Number.NaN, '2', null, {}])('cost: %j throws at construction', (cost) => {
  expect(() => rateLimit({ policies, cost } as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_COST' }))
})

test('settle throws at construction if it is not a boolean', () => {
  expect(() => rateLimit({ policies, settle: 1, store: memoryStore() } as never)).toThrow(
    expect.objectContaining({ code: 'HEADGATE_OPTION' }),
  )
})
