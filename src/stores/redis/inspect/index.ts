/*
 * What Redis keeps, for an operator: the records of keys, decoded. It imports `wire`, `script` and `client`.
 */

export { clearKeys } from './clear-keys.ts'
export { KeptKeys } from './inspect-keys.ts'
export { type InspectRedisOptions, inspectRedis, type RedisInspector } from './inspect-redis.ts'
