/* A refund that the store has maybe executed. */
import { describe, expect, test, vi } from 'vitest'
import { type Decision, memoryStore, policy, RateLimiter } from '../../src/index.ts'
import { faultyStore, ManualClock } from '../../src/testing/index.ts'

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

describe.each([
  ['the limiter', { storeTimeout: '20ms' }, {}],
  ['the store', {}, { timeout: 20 }],
] as const)('after a timeout of %s', (_, options, traits) => {
  test.each(['reserve', 'consume'])(
    'the refund of a late %s comes later, if the store refuses it first',
    async (verb) => {
      const store = faultyStore(Object.assign(memoryStore(), { traits }))
      const limiter = new RateLimiter({
        policies: ['10/30d sliding-log', '4 at once'].slice(0, verb === 'reserve' ? 2 : 1),
        store,
        ...options,
      })
      store.fail('partition')
      const reservation = verb === 'reserve' ? await limiter.reserve('ann') : undefined
      const decision = reservation?.decision ?? (await limiter.consume('ann'))
      expect(decision.source).toBe('fallback')
      if (reservation !== undefined) await reservation.cancel()
      else await limiter.refund('ann')
      store.heal()
      store.fail('error') // the late reply has come, and its refund meets this error
      await new Promise((resolve) => setTimeout(resolve, 10))
      store.heal()
      const usedNow = async () => {
        const { source, policies } = await limiter.usage('ann')
        return source === 'store' ? policies.filter(({ used }) => used > 0) : undefined
      }
      await vi.waitFor(async () => expect(await usedNow()).toEqual([]), { timeout: 3000 })
    },
  )
})

test('the refund of a late call does not come after the window of the call', async () => {
  const clock = new ManualClock()
  const store = faultyStore(memoryStore({ clock: clock.now }), { clock })
  const terms = {
    onStoreError: 'open',
    instances: 1,
    storeTimeout: 20,
    clock: clock.now,
    sleeper: clock.sleeper,
  } as const
  const policies = [policy('10/1s fixed-window')]
  const ledger = store.open({ name: 'late', policies, scopes: ['default'], failure: terms })
  const consume = (costs: number) => ledger.run({ verb: 'consume', keys: ['k'], costs }) as Promise<Decision>
  store.fail('partition')
  const late = consume(3)
  await clock.pass(20)
  expect((await late).source).toBe('open')
  store.heal()
  store.fail('error')
  await clock.pass(1000)
  store.heal()
  for (const remaining of [5, 4]) {
    expect((await consume(remaining === 5 ? 5 : 1)).remaining).toBe(remaining)
    await clock.pass(0)
  }
})
