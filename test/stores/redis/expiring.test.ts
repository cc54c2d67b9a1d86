/* Reservations that give their units back when they expire, on a real Redis. */
import { redisStore } from '../../../src/stores/redis/index.ts'
import { describeExpiring } from '../../support/expiring.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

describeExpiring('Redis', (clock) => redisStore({ client, timeout: '10s', clock: clock.now }))
