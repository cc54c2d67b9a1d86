import { describeRedisDifferential } from '../../support/redis-differential.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

describeRedisDifferential(client, 200)
