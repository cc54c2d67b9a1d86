import { expect, test } from 'vitest'
import { RateLimiter } from '../../../src/index.ts'
import { MemoryStore } from '../../../src/stores/memory/memory-store.ts'
import { ManualClock } from '../../../src/testing/index.ts'

const penalty = { after: 5, within: '10m', ban: '1h' }

/** How many of so many keys that were never seen before are refused. */
function refusedOf(keys: number, onFull: 'remember' | 'forget'): number {
  const store = new MemoryStore({ clock: new ManualClock().now, maxKeys: 1000, onFull }, [7, 9])
  const limiter = new RateLimiter({ policies: '1/1h', store, penalty })
  let refused = 0
  for (let n = 0; n < keys; n++) if (!limiter.consumeSync(`key-${n}`).allowed) refused++
  return refused
}

test('rotated keys cost no newcomer its first request up to nine times maxKeys', () => {
  expect(refusedOf(9000, 'remember')).toBe(0)
})

test("beyond that newcomers are refused, and with onFull: 'forget' none is", () => {
  expect(refusedOf(20_000, 'remember')).toBeGreaterThan(0)
  expect(refusedOf(20_000, 'forget')).toBe(0)
})
