import { describePlainDifferential } from '../../support/plain-differential.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

/** plain-differential.long.test.ts plays twelve times as many scripts. */
describePlainDifferential(client, 16)
