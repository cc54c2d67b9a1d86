import { createClient } from 'redis'
import { afterAll } from 'vitest'
import { describeShortDifferential } from '../../support/short-differential.ts'
import { useRedis } from '../../support/use-server.ts'

const { client, server } = await useRedis()
const nodeRedis = await createClient({ socket: { port: server.port } }).connect()
afterAll(() => nodeRedis.destroy())

/** short-differential.long.test.ts plays 200 scripts for each kind of policies. */
describeShortDifferential(client, 3, nodeRedis)
