/*
 * What this process remembers about keys so that it sends fewer requests to Redis: refusals, units leased from Redis (taken in advance),
 * and resets. This folder imports `shares`, `wire`, `script` and `client`.
 */

export { type LeasesOption, leaseSizeOf } from './lease-size.ts'
export { Leases } from './leases.ts'
export { RefusalCache } from './refusal-cache.ts'
export { type Publisher, ResetMessages } from './reset-messages.ts'
