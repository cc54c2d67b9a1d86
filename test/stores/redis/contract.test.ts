import { test } from 'vitest'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { testStore } from '../../../src/testing/index.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

let stores = 0

testStore({
  name: 'Redis',
  test: test.concurrent,
  create: (clock) => redisStore({ client, clock, ttlMargin: '1d', timeout: '10s', prefix: `store-${stores++}` }),
})
