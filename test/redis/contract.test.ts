import { Redis } from 'ioredis'
import { afterAll, beforeAll, test } from 'vitest'
import { redisStore } from '../../src/stores/redis/index.ts'
import { testStore } from '../../src/testing/index.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'

let server: RedisServer
let client: Redis

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
})

afterAll(async () => {
  client.disconnect()
  await server.stop()
})

let stores = 0

for (const [name, options] of Object.entries({
  Redis: {},
  'Redis without batches and local denial': { batch: false, denyCache: false },
})) {
  testStore({
    name,
    test,
    create: (clock) =>
      redisStore({ client, clock, ttlMargin: '1d', timeout: '10s', prefix: `store-${stores++}`, ...options }),
  })
}
