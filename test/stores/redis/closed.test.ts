import { redisStore } from '../../../src/stores/redis/index.ts'
import { describeClosed } from '../../support/closed.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

let stores = 0

describeClosed('Redis', (clock) =>
  redisStore({ client, clock, ttlMargin: '1d', timeout: '10s', prefix: `c${stores++}` }),
)
