/*
 * A penalty that ends with the window, beside a model of it: a limiter without a penalty, and a count and a ban that the test
 * keeps by itself. Windows and limits are such that each wait is whole milliseconds.
 */
import { expect, test } from 'vitest'
import {
  fixedWindow,
  gcra,
  memoryStore,
  type Policy,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import fc from '../support/fast-check.ts'

interface Numbers {
  readonly name: string
  readonly limit: number
  /** In milliseconds. */
  readonly window: number
  readonly shadow: boolean
}

const kinds: readonly ((numbers: Numbers) => Policy)[] = [
  ({ window, ...rest }) => fixedWindow({ ...rest, window: `${window}ms` }),
  ({ window, ...rest }) => fixedWindow({ ...rest, window: `${window}ms`, align: 'first-request' }),
  ({ window, ...rest }) => slidingLog({ ...rest, window: `${window}ms` }),
  ({ window, ...rest }) => segmentedWindow({ ...rest, window: `${4 * window}ms`, segments: 4 }),
  ({ window, ...rest }) => tokenBucket({ ...rest, window: `${window}ms`, refill: 'interval' }),
  ({ window, ...rest }) => gcra({ ...rest, window: `${window * rest.limit}ms`, burst: 1 + (rest.limit % 3) }),
]

const policyOf = (name: string) =>
  fc
    .record({
      kind: fc.constantFrom(...kinds),
      limit: fc.integer({ min: 1, max: 6 }),
      window: fc.constantFrom(10, 20, 50, 100, 1000),
      shadow: fc.nat(4).map((n) => n === 0),
    })
    .map(({ kind, ...numbers }) => kind({ name, ...numbers }))

const steps = fc.array(
  fc.record({
    /** Milliseconds. */
    later: fc.oneof(fc.constantFrom(0, 0, 1, 10, 20, 50), fc.nat(150)),
    cost: fc.integer({ min: 1, max: 7 }),
    verb: fc.constantFrom('consume', 'consume', 'consume', 'reserve', 'peek', 'refund', 'charge', 'unban', 'reset'),
  }),
  { minLength: 10, maxLength: 40 },
)

type Verb = 'consume' | 'reserve' | 'peek'

async function decided(limiter: RateLimiter, verb: Verb, cost: number) {
  return verb === 'reserve' ? (await limiter.reserve('k', { cost })).decision : limiter[verb]('k', { cost })
}

test('a ban lasts until the refused call would be admitted, refuses everything, and counts and takes nothing', async () => {
  let banned = 0
  const property = fc.asyncProperty(
    fc.tuple(policyOf('a'), policyOf('b')).filter((policies) => policies.some(({ shadow }) => !shadow)),
    fc.record({ after: fc.integer({ min: 1, max: 3 }), within: fc.constantFrom(10, 100, 1000) }),
    steps,
    async (policies, { after, within }, script) => {
      const clock = new ManualClock(1_000_000_000)
      const limiterOf = (options: object) =>
        new RateLimiter({ policies, store: memoryStore({ clock: clock.now }), ...options })
      const without = limiterOf({})
      const limiter = limiterOf({ penalty: { after, within: `${within}ms`, until: 'window' } })
      let count = 0
      let began = 0
      let end = 0
      for (const { later, cost, verb } of script) {
        clock.advance(later)
        const now = clock.milliseconds
        if (verb === 'refund' || verb === 'charge') {
          for (const each of [limiter, without]) await each[verb]('k', { cost })
        } else if (verb === 'reset' || verb === 'unban') {
          await limiter[verb]('k')
          if (verb === 'reset') await without.reset('k')
          ;[count, end] = [0, 0]
        } else {
          const lasts = Math.max(0, end - now)
          const expected = await decided(without, lasts > 0 ? 'peek' : verb, cost)
          const { allowed, retryAfter, policies: verdicts } = await decided(limiter, verb, cost)
          expect([allowed, retryAfter]).toEqual([expected.allowed && lasts === 0, Math.max(lasts, expected.retryAfter)])
          if (lasts > 0) banned++
          else if (!expected.allowed && verb !== 'peek') {
            if (count === 0 || now - began >= within) [count, began] = [0, now]
            if (++count >= after && expected.retryAfter !== Infinity) [count, end] = [0, now + expected.retryAfter]
          }
          expect(verdicts.at(-1)?.retryAfter).toBe(Math.max(0, end - now))
        }
      }
    },
  )
  await fc.assert(property, { numRuns: 200 })
  expect(banned).toBeGreaterThan(20)
})
