export type { IoredisLike, NodeRedisEvalOptions, NodeRedisLike, RedisClient } from './client.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
