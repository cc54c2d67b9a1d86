import { redisStore } from '../../../src/stores/redis/index.ts'
import { testStore } from '../../../src/testing/index.ts'
import { describeTwoClocks } from '../../support/two-clocks.ts'
import { useRedis } from '../../support/use-server.ts'
import { quickTest } from '../../support/whole-store.ts'

const { client } = await useRedis()

let stores = 0

testStore({
  name: 'Redis',
  test: quickTest,
  create: (clock) => redisStore({ client, clock, ttlMargin: '1d', timeout: '10s', prefix: `store-${stores++}` }),
})

describeTwoClocks('Redis with the time of the client', (clock, prefix) =>
  redisStore({ client, clock, time: 'client', refusalCache: false, prefix, ttlMargin: '1d', timeout: '10s' }),
)
