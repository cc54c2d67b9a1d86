import { test } from 'vitest'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { testStore } from '../../../src/testing/index.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

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
