import { describe, expect, test } from 'vitest'
import { type Decision, memoryStore, RateLimiter } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { oracles, scripts } from '../support/golden.ts'

/** The exact oracles, bit for bit: decision, remaining, retryAfter and resetAfter of every call. */
describe.each(oracles)('oracle %s', (oracle) => {
  test.each(scripts(oracle))('$id', ({ policy, operations }) => {
    const clock = new ManualClock(0)
    const limiter = new RateLimiter({ policies: policy, store: memoryStore({ clock: clock.now }) })
    for (const { t, key, cost, allowed, remaining, retryAfterMs, resetAfterMs } of operations) {
      clock.set(t)
      const decision = limiter.consumeSync(key, { cost })
      const expected = { t, key, allowed, remaining, retryAfter: retryAfterMs ?? Infinity, resetAfter: resetAfterMs }
      expect({ t, key, ...pick(decision) }).toEqual(expected)
    }
  })

  test.each(scripts(oracle))(
    '$id: peek agrees before the call, and with nextMs after it',
    async ({ policy, operations }) => {
      const clock = new ManualClock(0)
      const limiter = new RateLimiter({ policies: policy, store: memoryStore({ clock: clock.now }) })
      for (const { t, key, cost, allowed, nextMs } of operations) {
        clock.set(t)
        expect((await limiter.peek(key, { cost })).allowed).toBe(allowed)
        limiter.consumeSync(key, { cost })
        expect((await limiter.peek(key, { cost })).retryAfter).toBe(nextMs ?? Infinity)
      }
    },
  )
})

function pick({ allowed, remaining, retryAfter, resetAfter }: Decision) {
  return { allowed, remaining, retryAfter, resetAfter }
}
