/*
 * Which keys call most, in bounded memory. It imports `common`.
 */

export { countHeavy, type HeavyKey, HeavyKeys, mostCounters, type TopOptions } from './heaviest-keys.ts'
export type { SpaceSaving } from './space-saving.ts'
