export type { IoredisLike, NodeRedisEvalOptions, NodeRedisLike, RedisClient } from './client.ts'
export { type RedisStore, type RedisStoreOptions, redisStore } from './redis-store.ts'
