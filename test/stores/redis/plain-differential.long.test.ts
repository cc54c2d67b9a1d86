import { describePlainDifferential } from '../../support/plain-differential.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

describePlainDifferential(client, 200)
