/*
 * The clients of Redis (ioredis, node-redis, iovalkey) behind one small interface, which hides their faults. It imports
 * `common`.
 */

export { keyScanOf, nextKeys } from './key-scan.ts'
export {
  type Connection,
  connectionOf,
  type IoredisLike,
  type NodeRedisLike,
  type RedisClient,
} from './redis-client.ts'
export { causeOf, isReadOnly, isTryAgain, redisError } from './redis-error.ts'
export type { ScriptCall } from './script-call.ts'
