/*
 * The parts of the replacement for @fastify/rate-limit: its options, routes and stores.
 */

export { countingOf } from './counting.ts'
export { apply, hookOf, type Limit } from './hook.ts'
export { merged, normalizeIP, settingsOf } from './settings.ts'
