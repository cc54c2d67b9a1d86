/* A refund that the store has maybe executed. */
import { expect, test, vi } from 'vitest'
import { memoryStore, RateLimiter } from '../../src/index.ts'
import { faultyStore } from '../../src/testing/index.ts'

test.each([
  ['lost-reply', 3],
  ['partition', 3],
  ['hang', 6],
  ['error', 3],
] as const)('a refund during the fault %s is never given back twice', async (kind, used) => {
  const store = faultyStore(memoryStore())
  const limiter = new RateLimiter({ policies: '10/30d sliding-log', store, storeTimeout: '20ms' })
  const usedNow = async () => {
    const { source, policies } = await limiter.usage('ann')
    return source === 'store' ? policies[0]?.used : undefined
  }
  await limiter.consume('ann', { cost: 3 })
  store.fail('error')
  expect((await limiter.consume('ann', { cost: 3 })).source).toBe('fallback')
  store.heal()
  await vi.waitFor(async () => expect(await usedNow()).toBe(6))
  store.fail(kind)
  await limiter.refund('ann', { cost: 3 })
  store.heal()
  await limiter.consume('bob')
  await vi.waitFor(async () => expect(await usedNow()).toBe(used))
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(await usedNow()).toBe(used)
})

test('the refund of a late reservation comes later, if the store refuses it first', async () => {
  const store = faultyStore(memoryStore())
  const limiter = new RateLimiter({ policies: ['10/30d sliding-log', '4 at once'], store, storeTimeout: '20ms' })
  store.fail('partition')
  const reservation = await limiter.reserve('ann')
  expect(reservation.decision.source).toBe('fallback')
  await reservation.cancel()
  store.heal()
  store.fail('error') // the late reply has come, and its refund meets this error
  await new Promise((resolve) => setTimeout(resolve, 10))
  store.heal()
  const used = async () => {
    const { source, policies } = await limiter.usage('ann')
    return source === 'store' ? policies.map((policy) => policy.used) : undefined
  }
  await vi.waitFor(async () => expect(await used()).toEqual([0, 0]), { timeout: 3000 })
})
