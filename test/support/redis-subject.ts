import type { Redis } from 'ioredis'
import { encodeId, keyStart } from '../../src/stores/redis/keys.ts'
import { RedisStore, type Scripts } from '../../src/stores/redis/redis-store.ts'
import type { Subject } from './differential.ts'
import { unpackStates } from './states.ts'

/** @param scripts changed scripts, to see that the comparison notices it */
export function redisSubject(client: Redis, scripts?: Scripts): Subject {
  const prefix = 'diff'
  return {
    store: (clock) => new RedisStore({ client, clock, ttlMargin: '1d', timeout: '20s', prefix }, scripts),
    async states(limiter, scope, id, own) {
      return unpackStates(await client.getBuffer(`${keyStart(prefix, limiter, scope)}${encodeId(id)}}`), own)
    },
  }
}
