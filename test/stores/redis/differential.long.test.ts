import { rounds } from '../../support/depth.ts'
import { describeRedisDifferential } from '../../support/redis-differential.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

describeRedisDifferential(client, rounds(100, 200))
