import { test } from 'vitest'
import { startRedis } from '../support/redis-server.ts'
import { useServer } from '../support/use-server.ts'
import { expectOnePace } from './fleet.ts'

const server = await useServer(startRedis())

test('8 processes on Redis make 400 calls, never more than 50 in any second', async () => {
  await expectOnePace(server.port, 50)
}, 60_000)
