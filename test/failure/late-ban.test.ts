/* A quota that a late call spends. */
import { expect, test, vi } from 'vitest'
import { memoryStore, RateLimiter } from '../../src/index.ts'
import { faultyStore } from '../../src/testing/index.ts'

test('a late call that spends the quota bans in the store, and unban ends the ban', async () => {
  const store = faultyStore(memoryStore())
  const penalty = { on: 'spent', ban: '1h' } as const
  const limiter = new RateLimiter({
    policies: '2/1h sliding-log',
    penalty,
    store,
    onStoreError: 'closed',
    storeTimeout: '20ms',
  })
  await limiter.consume('ann')
  store.fail('partition')
  await expect(limiter.consume('ann')).rejects.toMatchObject({ code: 'HEADGATE_STORE_UNAVAILABLE' })
  store.heal()
  await vi.waitFor(async () => expect(await limiter.peek('ann')).toMatchObject({ allowed: false, policy: 'penalty' }))
  await limiter.unban('ann')
  expect(await limiter.peek('ann')).toMatchObject({ allowed: true, remaining: 2 })
})
