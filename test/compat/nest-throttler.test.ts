/* The storage alone. Beside the package, in an application of NestJS, it is tested in doors/nest. */
import { expect, test } from 'vitest'
import { HeadgateThrottlerStorage } from '../../adapters/compat/nest-throttler.ts'

test('limits that differ by request share the hits of a key', async () => {
  const storage = new HeadgateThrottlerStorage()
  const blocked: boolean[] = []
  const totals: number[] = []
  for (const limit of [2, 2, 4, 2, 4, 4]) {
    const { isBlocked, totalHits } = await storage.increment('ann', 60_000, limit, 0, 'default')
    blocked.push(isBlocked)
    totals.push(totalHits)
  }
  expect(blocked).toEqual([false, false, false, true, false, true])
  expect(totals).toEqual([1, 2, 3, 3, 4, 5])
})

test('throttlers, windows and blocks count apart', async () => {
  const storage = new HeadgateThrottlerStorage()
  const hit = async (ttl: number, block: number, name: string) =>
    (await storage.increment('ann', ttl, 1, block, name)).isBlocked
  const first = [
    await hit(60_000, 0, 'a'),
    await hit(60_000, 0, 'b'),
    await hit(1000, 0, 'a'),
    await hit(60_000, 9, 'a'),
  ]
  expect(first).toEqual([false, false, false, false])
  expect(await hit(60_000, 0, 'a')).toBe(true)
})
