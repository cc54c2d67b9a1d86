/*
 * Shows the people who run a service what the values of keys in Redis contain. This folder imports `wire`, `script` and `client`.
 */

export { clearKeys } from './clear-keys.ts'
export { KeptKeys } from './inspect-keys.ts'
export { type InspectRedisOptions, inspectRedis, type RedisInspector } from './inspect-redis.ts'
