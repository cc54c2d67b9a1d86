/* Options, routes and stores for `headgate/compat/fastify-rate-limit`, which replaces @fastify/rate-limit. */

export { countingOf } from './counting.ts'
export { apply, hookOf, type Limit } from './hook.ts'
export { merged, normalizeIP, settingsOf } from './settings.ts'
