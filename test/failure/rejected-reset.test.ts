/* A reset that is rejected while the store fails: refunds that wait for the store still come. */
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
