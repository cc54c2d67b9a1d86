/*
 * One small interface to the clients of Redis (ioredis, node-redis, iovalkey), which hides their differences and faults. This
 * folder imports `common`.
 */

export { keyScanOf, nextKeys } from './key-scan.ts'
export {
  type Connection,
  connectionOf,
  type IoredisLike,
  type NodeRedisLike,
  type RedisClient,
} from './redis-client.ts'
export { causeOf, isGivenUp, isReadOnly, isTryAgain, redisError } from './redis-error.ts'
export type { ScriptCall } from './script-call.ts'
