/* Bursts against a healthy Redis within the default timeout, which needs a machine that is not busy otherwise. */
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, expect, test } from 'vitest'
import { RateLimiter } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { startRedis } from '../support/redis-server.ts'
import { useServer } from '../support/use-server.ts'

const { port } = await useServer(startRedis())
const ioredis = new Redis(port)
const nodeRedis = await createClient({ socket: { port } }).connect()
afterAll(() => {
  ioredis.disconnect()
  nodeRedis.destroy()
})
let names = 0

test.each([
  ['ioredis, one key', ioredis, () => 'hot'],
  ['ioredis, a key each', ioredis, (n: number) => `k-${n}`],
  ['node-redis, one key', nodeRedis, () => 'hot'],
  ['node-redis, a key each', nodeRedis, (n: number) => `k-${n}`],
])('10,000 calls at once are all decided by Redis: %s', { retry: 5 }, async (_, client, keyOf) => {
  const store = redisStore({ client })
  const limiter = new RateLimiter({ name: `burst-${names++}`, policies: '1000000/1h', store, onStoreError: 'deny' })
  await limiter.consume('warm')
  const decisions = await Promise.all(Array.from({ length: 10_000 }, (_, n) => limiter.consume(keyOf(n))))
  expect(decisions.filter(({ source, allowed }) => source === 'store' && allowed)).toHaveLength(10_000)
  expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
})
