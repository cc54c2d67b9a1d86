import { describe, expect, test } from 'vitest'
import { type Decision, RateLimiter, type Store } from '../../src/index.ts'
import type { ManualClock } from '../../src/testing/index.ts'
import { oracles, scripts } from './golden.ts'

/**
 * The traces of the exact oracles, bit for bit, as on memory (test/algorithms/golden.test.ts).
 * @param most how many traces of each oracle
 */
export function describeGolden(name: string, clock: ManualClock, store: () => Store, most: number = Infinity): void {
  describe.each(oracles)(`oracle %s on ${name}`, (oracle) => {
    test.each(scripts(oracle).slice(0, most))('$id', async ({ id, policy, operations }) => {
      const limiter = new RateLimiter({ name: id, policies: policy, store: store() })
      for (const { t, key, cost, allowed, remaining, retryAfterMs, resetAfterMs, nextMs } of operations) {
        clock.set(t)
        // Calls of one tick: these three travel together and are decided in their order.
        const [before, decision, after] = await Promise.all([
          limiter.peek(key, { cost }),
          limiter.consume(key, { cost }),
          limiter.peek(key, { cost }),
        ])
        const expected = { allowed, remaining, retryAfter: retryAfterMs ?? Infinity, resetAfter: resetAfterMs }
        expect({ t, key, before: before.allowed, next: after.retryAfter, ...pick(decision) }).toEqual({
          t,
          key,
          before: allowed,
          next: nextMs ?? Infinity,
          ...expected,
        })
      }
    })
  })
}

function pick({ allowed, remaining, retryAfter, resetAfter }: Decision) {
  return { allowed, remaining, retryAfter, resetAfter }
}
