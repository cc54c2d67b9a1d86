import { describeShortDifferential } from '../../support/short-differential.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

describeShortDifferential(client, 200)
