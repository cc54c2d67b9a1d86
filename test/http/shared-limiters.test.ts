import { expect, test } from 'vitest'
import { memoryStore, RateLimiter } from '../../src/index.ts'
import { contract, statuses, stillStore } from '../support/contract.ts'

contract((app) => {
  test('one limiter on several routes, and in several middlewares, is one quota', async () => {
    const limiter = new RateLimiter({ policies: '3/1h', name: 'group' })
    const one = await app(limiter)
    const other = await app({ limiter, headers: 'draft-11' })
    expect(await statuses(one.url, [{}])).toEqual([200])
    expect(await statuses(`${one.url}/users/1`, [{}])).toEqual([200])
    expect(await statuses(other.url, [{}, {}])).toEqual([200, 429])
  })

  test('two limiters on one store share nothing, named or not', async () => {
    const { store } = stillStore()
    for (const name of [undefined, undefined, 'a', 'b']) {
      const { url } = await app({ policies: '1/1h', store, ...(name && { name }) })
      expect(await statuses(url, [{}, {}])).toEqual([200, 429])
    }
  })
})

test('two limiters on one store cannot have the same name', () => {
  const store = memoryStore()
  const named = (on: object) => () => new RateLimiter({ policies: '1/1h', name: 'api', ...on })
  const first = named({ store })()
  expect(named({ store })).toThrow(
    expect.objectContaining({ code: 'HEADGATE_DUPLICATE_LIMITER', message: expect.stringContaining('"api"') }),
  )
  expect(first.consumeSync('k').allowed).toBe(true)
  expect(named({ store: memoryStore() })().consumeSync('k').allowed).toBe(true)
  expect(named({})().consumeSync('k').allowed).toBe(true)
})
