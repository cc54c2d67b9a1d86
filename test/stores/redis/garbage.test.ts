import { setImmediate } from 'node:timers/promises'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createClient } from 'redis'
import { afterAll, describe, expect, test } from 'vitest'
import { RateLimiter, tokenBucket } from '../../../src/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { useRedis } from '../../support/use-server.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void

const { server, client } = await useRedis()
const nodeRedis = await createClient({ socket: { port: server.port } }).connect()
afterAll(() => nodeRedis.destroy())

/** Megabytes of the old generation, which only a full collection looks through. */
function old(): number {
  const { space_used_size: bytes = NaN } =
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space') ?? {}
  return bytes / 2 ** 20
}

/*
 * What was in flight at a full collection is in the old generation, where only the next full one finds that it is over.
 * Until then it must not hold on to the calls that came later: a list whose links are not cleared would, and so does a Set
 * or a Map that is used up, whose old table points to its new one.
 */
describe('calls that are over are garbage at the next small collection', () => {
  test.each<[string, RedisClient]>([
    ['ioredis', client],
    ['node-redis', nodeRedis],
  ])(
    'also after a full one with calls in flight: %s',
    async (name, redis) => {
      const store = redisStore({ client: redis, timeout: '30s' })
      const limiter = new RateLimiter({ name, policies: tokenBucket({ limit: 1_000_000, window: '1h' }), store })
      let asked = 0
      const run = (calls: number) => {
        const end = asked + calls
        const caller = async () => {
          while (asked < end) await limiter.consume(`user-${asked++ % 100}`)
        }
        return Promise.all(Array.from({ length: 64 }, caller))
      }
      await run(20_000)
      const running = run(20_000)
      while (asked < 30_000) await setImmediate()
      collect()
      const before = old()
      await running
      for (let n = 0; n < 10; n++) {
        await run(2_000)
        collect({ type: 'minor' })
      }
      expect(old() - before).toBeLessThan(8)
    },
    60_000,
  )
})
