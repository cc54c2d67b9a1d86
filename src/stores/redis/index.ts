/*
 * A store on Redis: a script decides. As a call goes: `redis-ledger.ts`, `local` (is the answer known here?), `wire`,
 * `client`, and in the server `script`. `headgate/redis`. It imports `failure` and the contract of stores.
 */

export type { IoredisLike, NodeRedisLike, RedisClient } from './client/index.ts'
export { type InspectRedisOptions, inspectRedis, type RedisInspector } from './inspect/index.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
