import { redisStore } from '../../../src/stores/redis/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { describeGolden } from '../../support/golden-on-store.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()
const clock = new ManualClock(0)
const store = redisStore({ client, clock: clock.now, ttlMargin: '1d', timeout: '10s' })

describeGolden('Redis', clock, () => store)
