/*
 * hono-rate-limiter: its options and stores on this package.
 */

export { type AnyContext, countHit, type Hit, optionsOf, tooMany } from './hits.ts'
export { webSocketLimiter } from './web-socket-limiter.ts'
