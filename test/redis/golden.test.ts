import { Redis } from 'ioredis'
import { afterAll, beforeAll } from 'vitest'
import { type RedisStore, redisStore } from '../../src/stores/redis/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { describeGolden } from '../support/golden-on-store.ts'
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

describeGolden('Redis', clock, () => store)
