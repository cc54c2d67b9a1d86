/* A penalty with `on: 'spent'`: the ban begins with the call that takes the last unit. */
import { describe, expect, test } from 'vitest'
import { fixedWindow, memoryStore, type PenaltyOptions, type PolicyLike, RateLimiter } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

const hour = 3_600_000
const minute = 60_000

function setUp(policies: PolicyLike | readonly PolicyLike[] = '5/15m sliding-log', more: Partial<PenaltyOptions> = {}) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const penalty: PenaltyOptions = { on: 'spent', ban: '1h', ...more }
  const limiter = new RateLimiter({ policies, penalty, store: memoryStore({ clock: clock.now }) })
  return { clock, limiter }
}

test('the fifth unit begins the ban, and each call is refused until the ban ends', async () => {
  const { clock, limiter } = setUp()
  for (let left = 4; left >= 1; left--)
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, remaining: left })
  const fifth = await limiter.consume('k')
  expect(fifth).toMatchObject({ allowed: true, remaining: 0, retryAfter: 0, banned: hour, resetAfter: 2 * hour })
  expect(fifth.policies.map(({ name, allowed, remaining }) => [name, allowed, remaining])).toEqual([
    ['15m', true, 0],
    ['penalty', true, 0],
  ])
  expect(await limiter.consume('k')).toMatchObject({ allowed: false, policy: 'penalty', retryAfter: hour })
  clock.advance(hour - 1)
  expect(await limiter.consume('k')).toMatchObject({ allowed: false, policy: 'penalty', retryAfter: 1 })
  clock.advance(1)
  expect(await limiter.consume('k')).toMatchObject({ allowed: true, remaining: 4 })
})
