import { expect, test } from 'vitest'
import { memoryStore, RateLimiter, slidingLog, tokenBucket } from '../../../src/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'

function rig(maxKeys = 1000) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  return { clock, store: memoryStore({ clock: clock.now, maxKeys }) }
}

test('a new plan finds the states that were there before, also of long and refused keys', async () => {
  const { store } = rig()
  const limiter = new RateLimiter({ policies: '5/1h', store })
  const long = 'k'.repeat(500)
  for (const key of ['a', long]) await limiter.consume(key, { cost: 4 })
  const more = limiter.withPlan('9/1h')
  expect([more.consumeSync('a').remaining, more.consumeSync(long).remaining]).toEqual([4, 4])
  expect(limiter.consumeSync('a').allowed).toBe(false)
  expect(store.stats().keys).toBe(2)
})

test('the same policies give the same limiter', () => {
  const { store } = rig()
  const limiter = new RateLimiter({ policies: '5/1h', store })
  expect(limiter.withPlan('9/1h')).toBe(limiter.withPlan('9/1h'))
  expect(limiter.withPlan([{ limit: 9, window: '1h' }])).toBe(limiter.withPlan([{ limit: 9, window: '1h' }]))
  expect(limiter.withPlan('9/1h').withPlan('7/1h')).toBe(limiter.withPlan('7/1h'))
  expect(limiter.withPlan(tokenBucket({ limit: 5, window: '1h' }))).not.toBe(
    limiter.withPlan(slidingLog({ limit: 5, window: '1h' })),
  )
  expect(limiter.withPlan('9/1h').name).toBe('default')
})

test('an invalid policy throws every time', () => {
  const limiter = new RateLimiter({ policies: '5/1h' })
  for (const wrong of ['9 per hour', [], undefined, { limit: 5n }, { limit: -1, window: '1h' }]) {
    expect(() => limiter.withPlan(wrong as never)).toThrow(expect.objectContaining({ name: 'HeadgateError' }))
  }
})

test('a peek and a refusal under another plan leave the state as it was', async () => {
  const { store, clock } = rig()
  const limiter = new RateLimiter({ policies: tokenBucket({ limit: 7, window: '1h' }), store })
  const other = limiter.withPlan(tokenBucket({ limit: 3, window: '1h' }))
  limiter.consumeSync('a', { cost: 5 })
  clock.advance('11m')
  const before = await limiter.peek('a')
  await other.peek('a')
  expect(other.consumeSync('a', { cost: 3 }).allowed).toBe(false)
  expect(await limiter.peek('a')).toEqual(before)
})

test('the table stays bounded, and keys at full quota go first', () => {
  const { store, clock } = rig(100)
  const limiter = new RateLimiter({ policies: '5/1m', store })
  const other = limiter.withPlan('9/1m')
  for (let n = 0; n < 100; n++) other.consumeSync(`old ${n}`)
  clock.advance('5m')
  for (let n = 0; n < 100; n++) limiter.consumeSync(`new ${n}`)
  expect(store.stats()).toMatchObject({ keys: 100, evictions: 0 })
  for (let n = 0; n < 1000; n++) other.consumeSync(`flood ${n}`)
  expect(store.stats()).toMatchObject({ keys: 100, evictions: 1000 })
})

test('a reset counts for every plan', async () => {
  const { store } = rig()
  const limiter = new RateLimiter({ policies: '5/1h', store })
  const other = limiter.withPlan(['9/1h', '20/1d'])
  other.consumeSync('a', { cost: 5 })
  await limiter.reset('a')
  expect(other.consumeSync('a').policies.map(({ remaining }) => remaining)).toEqual([8, 19])
})
