import { describeRedisDifferential } from '../../support/redis-differential.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

/** differential.long.test.ts plays twenty times as many scripts. */
describeRedisDifferential(client, 10)
