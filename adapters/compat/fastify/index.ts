/*
 * The parts of `headgate/compat/fastify-rate-limit` (which replaces @fastify/rate-limit): how it reads options, adds hooks to
 * routes, and counts requests in a store.
 */

export { countingOf } from './counting.ts'
export { apply, hookOf, type Limit } from './hook.ts'
export { merged, normalizeIP, settingsOf } from './settings.ts'
