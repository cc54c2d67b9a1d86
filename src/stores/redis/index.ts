/*
 * `headgate/redis`: a store in Redis, where a script decides. A call passes through `redis-ledger.ts`, `local` (decides without
 * Redis if possible), `wire`, `client`, and in the server `script`. This folder imports `failure` and the contract of stores.
 */

export type { IoredisLike, NodeRedisLike, RedisClient } from './client/index.ts'
export { type InspectRedisOptions, inspectRedis, type RedisInspector } from './inspect/index.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
