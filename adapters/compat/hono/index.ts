/* Options and stores for `headgate/compat/hono-rate-limiter`, which replaces hono-rate-limiter. */

export { type AnyContext, countHit, type Hit, optionsOf, tooMany } from './hits.ts'
export { webSocketLimiter } from './web-socket-limiter.ts'
