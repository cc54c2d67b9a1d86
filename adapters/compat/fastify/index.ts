/*
 * @fastify/rate-limit: its options, routes and stores on this package.
 */

export { countingOf } from './counting.ts'
export { apply, hookOf, type Limit } from './hook.ts'
export { merged, normalizeIP, settingsOf } from './settings.ts'
