import { expect, test } from 'vitest'
import { memoryStore, RateLimiter, tokenBucket } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'

/* More bookings than a state keeps apart. Each fills the bucket, which needs 10 s to drain. */
test('cancelling the newest booking leaves the others at their times', async () => {
  const clock = new ManualClock()
  const policies = tokenBucket({ limit: 10, window: '10s', burst: 10 })
  const limiter = new RateLimiter({ policies, store: memoryStore({ clock: clock.now }) })
  await limiter.consume('k', { cost: 10 })
  const booked = []
  for (let n = 1; n <= 150; n++) {
    booked.push(await limiter.reserve('k', { cost: 10, maxWait: '1h' }))
    if (n === 8) await booked[1]?.cancel() // so the bucket is empty from 20 s to 30 s
  }
  for (let newest = booked.pop(); newest !== undefined && booked.length > 2; newest = booked.pop()) {
    await newest.cancel()
    const { resetAfter } = await limiter.peek('k')
    expect(resetAfter).toBeGreaterThanOrEqual((booked.at(-1)?.wait ?? 0) + 10_000)
  }
})
