import { expect, test } from 'vitest'
import { concurrency, memoryStore, RateLimiter } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

const used = async (limiter: RateLimiter) => (await limiter.peek('k')).policies[0]?.used

test('a unit is free when it is released, also after a plan with another lease was admitted', async () => {
  const clock = new ManualClock()
  const short = new RateLimiter({
    policies: concurrency({ limit: 4, lease: '10s' }),
    store: memoryStore({ clock: clock.now }),
  })
  const long = short.withPlan(concurrency({ limit: 4, lease: '1h' }))
  const first = await short.reserve('k')
  const second = await long.reserve('k')
  await first.release()
  expect(await used(long)).toBe(1) // is 2, for an hour
  await second.release()
  expect(await used(long)).toBe(0) // is 1
})

test('a unit leaves when its own lease ends, also after a plan with another lease was admitted', async () => {
  const clock = new ManualClock()
  const short = new RateLimiter({
    policies: concurrency({ limit: 4, lease: '10s' }),
    store: memoryStore({ clock: clock.now }),
  })
  const long = short.withPlan(concurrency({ limit: 4, lease: '1h' }))
  await short.reserve('k') // its process crashes
  await (await long.reserve('k')).release()
  clock.advance('10s')
  expect(await used(long)).toBe(0) // is 1
})

test('units in flight are what is in flight, also by the rule scale', async () => {
  const small = new RateLimiter({ policies: concurrency({ limit: 10, lease: '1h' }), onChange: 'scale' })
  const large = small.withPlan(concurrency({ limit: 100, lease: '1h' }))
  const first = await small.reserve('k', { cost: 4 })
  const second = await large.reserve('k', { cost: 7 })
  expect(await used(large)).toBe(11) // and not 47
  await first.release()
  await second.release()
  expect(await used(large)).toBe(0) // and not 40, which nobody holds
})
