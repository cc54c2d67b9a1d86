import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Decision, RateLimiter } from '../../src/index.ts'
import { type RedisStore, redisStore } from '../../src/stores/redis/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { oracles, scripts } from '../support/golden.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'

let server: RedisServer
let client: Redis
let store: RedisStore
const clock = new ManualClock(0)

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
  store = redisStore({ client, clock: clock.now, ttlMargin: '1d', timeout: '10s' })
})

afterAll(async () => {
  client.disconnect()
  await server.stop()
})

/** The exact oracles, bit for bit, as on memory (test/golden.test.ts). */
describe.each(oracles)('oracle %s on Redis', (oracle) => {
  test.each(scripts(oracle))('$id', async ({ id, policy, operations }) => {
    const limiter = new RateLimiter({ name: id, policies: policy, store })
    for (const { t, key, cost, allowed, remaining, retryAfterMs, resetAfterMs, nextMs } of operations) {
      clock.set(t)
      // Asked in one turn, so these three travel in one call and are answered in their order.
      const [before, decision, after] = await Promise.all([
        limiter.peek(key, { cost }),
        limiter.consume(key, { cost }),
        limiter.peek(key, { cost }),
      ])
      const answer = { allowed, remaining, retryAfter: retryAfterMs ?? Infinity, resetAfter: resetAfterMs }
      expect({ t, key, before: before.allowed, next: after.retryAfter, ...pick(decision) }).toEqual({
        t,
        key,
        before: allowed,
        next: nextMs ?? Infinity,
        ...answer,
      })
    }
  })
})

function pick({ allowed, remaining, retryAfter, resetAfter }: Decision) {
  return { allowed, remaining, retryAfter, resetAfter }
}
