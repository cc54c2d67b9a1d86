/*
 * Paces `fetch`: reads the rate limits that a server reports in its responses, and delays later requests accordingly.
 * This folder imports the files of `pacer`.
 */

export { pacedFetch } from './paced-fetch.ts'
export type { PacedFetchOptions } from './paced-fetch-options.ts'
export { parseRateLimit } from './parse-headers.ts'
export type { ParsedRateLimit, Quota } from './quota.ts'
export type { RequestCost } from './server-quotas.ts'
