/*
 * The parts of the replacement for hono-rate-limiter: its options and stores.
 */

export { type AnyContext, countHit, type Hit, optionsOf, tooMany } from './hits.ts'
export { webSocketLimiter } from './web-socket-limiter.ts'
