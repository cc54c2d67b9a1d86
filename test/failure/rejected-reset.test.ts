/* A reset that is rejected while the store fails: what waits for the store still comes, and the local quota stays used. */
import { expect, test, vi } from 'vitest'
import { fixedWindow, memoryStore, type OnStoreError, RateLimiter } from '../../src/index.ts'
import { faultyStore } from '../../src/testing/index.ts'

test.each<[OnStoreError, 'reset' | 'forget', number]>([
  ['closed', 'reset', 15],
  ['throw', 'reset', 15],
  ['closed', 'forget', 15],
  ['local', 'forget', 15],
  ['open', 'forget', 15],
  ['open', 'reset', 0],
  ['local', 'reset', 0],
])('onStoreError %j, %s: the units used at the end are %d', async (onStoreError, method, used) => {
  const store = faultyStore(memoryStore())
  const limiter = new RateLimiter({ policies: fixedWindow({ limit: 100, window: '1d' }), store, onStoreError })
  await limiter.consume('ann', { cost: 10 })
  const reservation = await limiter.reserve('ann', { cost: 50 })
  store.fail('error')
  await reservation.settle(5).catch(() => undefined)
  const call = method === 'reset' ? limiter.reset('ann') : limiter.forget(['ann'])
  if (used > 0) await expect(call).rejects.toThrow()
  else await call
  store.heal()
  const usedNow = async () => (await limiter.usage('ann').catch(() => undefined))?.policies[0]?.used
  await vi.waitFor(async () => expect(await usedNow()).toBe(used), { timeout: 5000 })
})

test('a reset that a function of onStoreError refuses leaves the local quota used, and the store charged later', async () => {
  const store = faultyStore(memoryStore())
  let closed = false
  const limiter = new RateLimiter({
    policies: fixedWindow({ limit: 10, window: '1d' }),
    store,
    onStoreError: () => (closed ? 'closed' : 'local'),
  })
  const taken = async () => {
    const all = await Promise.all(Array.from({ length: 15 }, () => limiter.consume('ann')))
    return all.filter(({ allowed }) => allowed).length
  }
  store.fail('error')
  expect(await taken()).toBe(10)
  closed = true
  await expect(limiter.reset('ann')).rejects.toMatchObject({ code: 'HEADGATE_STORE_UNAVAILABLE' })
  closed = false
  expect(await taken()).toBe(0)
  store.heal()
  const usedNow = async () => (await limiter.usage('ann').catch(() => undefined))?.policies[0]?.used
  await vi.waitFor(async () => expect(await usedNow()).toBe(10), { timeout: 5000 })
})
