export type { StoredKey, StoredKeyFilter, StoreInspector } from '../store-inspector.ts'
export type { IoredisLike, NodeRedisEvalOptions, NodeRedisLike, RedisClient } from './client/redis-client.ts'
export { type InspectRedisOptions, inspectRedis, type RedisInspector } from './inspect/inspect-redis.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
